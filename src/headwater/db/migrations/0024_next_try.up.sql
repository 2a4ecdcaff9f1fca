-- When a feed is tried again: not before the pause of its host is over. Null while only a person can enable it.
CREATE FUNCTION next_try(next_poll_at timestamptz, of_host text) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
    WHEN next_poll_at < '9999-12-31 00:00+00' THEN
        greatest(next_poll_at, (SELECT paused_until FROM poll_hosts WHERE poll_hosts.host = of_host))
END;
