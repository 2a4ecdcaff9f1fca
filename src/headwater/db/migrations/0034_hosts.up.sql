-- One host, one clock: polls, pages, and everything else that asks a site take their turns at one row. It takes the place
-- of `poll_hosts` and `host`, which did not know of each other.

-- As in hosts/keys.py: the key of a host is made of its name, so that nothing is looked up.
CREATE FUNCTION host_id_of(name text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('x' || encode(substr(sha256(name::bytea), 1, 8), 'hex'))::bit(64)::bigint;
CREATE FUNCTION shard_of(host_id bigint) RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN mod(mod(host_id, 16) + 16, 16)::smallint;

CREATE TABLE hosts (
    host_id bigint NOT NULL,
    -- No request of any kind before it, except by who holds the lease: the latest of `not_before`, `paused_until` and
    -- the end of a lease. An abandoned lease frees itself.
    free_at timestamptz NOT NULL DEFAULT '-infinity',
    not_before timestamptz NOT NULL DEFAULT '-infinity',  -- politeness, and what the site asked for; nobody goes below it
    feed_due_at timestamptz NOT NULL DEFAULT 'infinity',  -- of its feeds, the first
    page_due_at timestamptz NOT NULL DEFAULT 'infinity',  -- of its URLs, the first
    has_new_feed boolean NOT NULL DEFAULT false,  -- which comes before all that has been waiting
    feeds_ready_at timestamptz NOT NULL
        GENERATED ALWAYS AS (CASE WHEN has_new_feed THEN free_at ELSE greatest(feed_due_at, free_at) END) STORED,
    pages_paused_until timestamptz,  -- pages wait and feeds do not: robots.txt cannot be read, pages test for a browser
    pages_ready_at timestamptz NOT NULL
        GENERATED ALWAYS AS (greatest(page_due_at, free_at, pages_paused_until)) STORED,
    paused_until timestamptz,  -- the breaker's own guess, for all kinds of requests
    answered_at timestamptz,  -- when it last answered anything
    lease uuid,  -- of whom it is in the hands; still there when the lease has run out: then it was lost
    url_count integer NOT NULL DEFAULT 0,
    robots_delay_ms integer,
    pauses integer NOT NULL DEFAULT 0,
    shard smallint NOT NULL,
    band smallint NOT NULL DEFAULT 3,  -- the best of its due URLs
    claimed smallint NOT NULL DEFAULT 0,  -- URLs in a fetcher's hands; 0 while another kind of request holds the lease
    strikes smallint NOT NULL DEFAULT 0,
    slowed smallint NOT NULL DEFAULT 0,  -- how often its delay was doubled
    successes smallint NOT NULL DEFAULT 0,  -- since it was slowed
    alike_class varchar(20),
    name text NOT NULL,
    alike_sources uuid[],
    CONSTRAINT hosts_pkey PRIMARY KEY (shard, host_id)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02);

INSERT INTO hosts (
    shard, host_id, name, free_at, not_before, feed_due_at, page_due_at, paused_until, answered_at, url_count,
    robots_delay_ms, pauses, band, strikes, slowed, successes, alike_class, alike_sources
)
SELECT shard_of(host_id_of(named.name)), host_id_of(named.name), named.name,
    greatest(
        poll_hosts.not_before, host.not_before, paused_until,
        CASE WHEN poll_hosts.lease IS NOT NULL THEN poll_hosts.ready_at END,
        CASE WHEN host.lease IS NOT NULL THEN host.ready_at END
    ),
    greatest(poll_hosts.not_before, host.not_before),
    coalesce((SELECT min(next_poll_at) FROM feed_state WHERE feed_state.host = named.name), 'infinity'),
    coalesce(host.ready_at, 'infinity'), paused_until,
    greatest(
        answered_at,
        (
            SELECT max(fetched_at)
            FROM host_robots
            WHERE host_robots.shard = host.shard AND host_robots.host_id = host.host_id AND status IS NOT NULL
        )
    ),
    coalesce(url_count, 0), robots_delay_ms, coalesce(pauses, 0), coalesce(band, 3), coalesce(strikes, 0),
    coalesce(slowed, 0), coalesce(successes, 0), alike_class, alike_sources
FROM (SELECT poll_hosts.host AS name FROM poll_hosts UNION SELECT host.name FROM host) AS named
LEFT JOIN poll_hosts ON poll_hosts.host = named.name
LEFT JOIN host ON host.shard = shard_of(host_id_of(named.name)) AND host.host_id = host_id_of(named.name);

-- Whoever claims must repeat the predicate: PostgreSQL does not conclude it from `… <= now`.
CREATE INDEX hosts_pages ON hosts (shard, band, pages_ready_at) WHERE page_due_at < 'infinity';
CREATE INDEX hosts_feeds ON hosts (feeds_ready_at) WHERE feed_due_at < 'infinity' AND answered_at IS NOT NULL;
CREATE INDEX hosts_feeds_new ON hosts (feeds_ready_at) WHERE feed_due_at < 'infinity' AND answered_at IS NULL;
CREATE INDEX hosts_paused ON hosts (paused_until) WHERE paused_until IS NOT NULL;

ALTER TABLE feed_state
    ADD COLUMN host_id bigint NOT NULL GENERATED ALWAYS AS (host_id_of(host)) STORED,
    ADD COLUMN shard smallint NOT NULL GENERATED ALWAYS AS (shard_of(host_id_of(host))) STORED;

-- When a feed is tried again: not before its host may be asked. Null while only a person can enable it.
CREATE OR REPLACE FUNCTION next_try(next_poll_at timestamptz, of_host text) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
    WHEN next_poll_at < '9999-12-31 00:00+00' THEN
        greatest(
            next_poll_at,
            (
                SELECT greatest(not_before, paused_until)
                FROM hosts
                WHERE hosts.shard = shard_of(host_id_of(of_host)) AND hosts.host_id = host_id_of(of_host)
            )
        )
END;

CREATE OR REPLACE FUNCTION feed_state_leave_host() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    UPDATE hosts
    SET alike_sources = array_remove(alike_sources, OLD.source_id)
    WHERE shard = OLD.shard AND host_id = OLD.host_id AND OLD.source_id = ANY (alike_sources);
    RETURN NULL;
END
$$;

DROP TABLE poll_hosts;
DROP TABLE host;
