-- Polling: the state of each feed, the outcome of each poll, their counts, and the health of sources.

CREATE TABLE feed_state (
    source_id uuid PRIMARY KEY REFERENCES sources ON DELETE CASCADE,
    feed_url text NOT NULL,
    host text NOT NULL,
    host_id bigint NOT NULL GENERATED ALWAYS AS (host_id_of(host)) STORED,
    shard smallint NOT NULL GENERATED ALWAYS AS (shard_of(host_id_of(host))) STORED,
    next_poll_at timestamptz NOT NULL,
    -- How often a user or operator changed the feed: a poll that began before such a change does not overwrite it.
    edits integer NOT NULL DEFAULT 0,
    -- The last polls.
    last_polled_at timestamptz,
    last_succeeded_at timestamptz,
    last_full_at timestamptz,  -- the last success that was not a delta (RFC 3229)
    last_new_at timestamptz,  -- the last new entry
    last_etag text,
    last_modified text,
    last_item_count integer NOT NULL DEFAULT 0,
    article_count integer NOT NULL DEFAULT 0,
    -- How often the feed publishes, and what it asked for in its last body: a 304 does not repeat that.
    mean_gap interval,
    hinted_gap interval,
    skip_hours smallint[],
    skip_days smallint[],
    asked_until timestamptz,  -- the site's Retry-After; a user's retry respects it
    -- Failures.
    consecutive_errors integer NOT NULL DEFAULT 0,
    permanent_errors integer NOT NULL DEFAULT 0,
    streak integer NOT NULL DEFAULT 0,  -- failures in a row of the same class
    streak_class varchar(20),
    failing_since timestamptz,
    last_error text,
    last_error_type varchar(20),
    -- Disabled.
    disabled_at timestamptz,
    disable_reason varchar(200),  -- a class of failure, or an operator's text
    disabled_until timestamptz,
    times_disabled integer NOT NULL DEFAULT 0,  -- in a row
    disabled_by_operator boolean NOT NULL DEFAULT false,  -- a user's retry does not enable it
    -- A permanent redirect, and its target once it was seen often enough.
    moved_url text,
    moved_since timestamptz,
    moved_times integer NOT NULL DEFAULT 0,
    adopt_url text,
    needs_rediscovery boolean NOT NULL DEFAULT false,  -- its URL is no feed any more: look for another on the site
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);  -- every poll updates the row: leave space for it on its page

CREATE INDEX feed_state_by_host ON feed_state (host, next_poll_at);
CREATE INDEX feed_state_new ON feed_state (host) WHERE last_polled_at IS NULL;
CREATE INDEX feed_state_adopt ON feed_state (source_id) WHERE adopt_url IS NOT NULL;
CREATE INDEX feed_state_needs_rediscovery ON feed_state (source_id) WHERE needs_rediscovery;

-- The breaker's list of feeds must not contain a feed that is deleted.
CREATE FUNCTION feed_state_leave_host() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    UPDATE hosts
    SET failing_sources = array_remove(failing_sources, OLD.source_id)
    WHERE shard = OLD.shard AND host_id = OLD.host_id AND OLD.source_id = ANY (failing_sources);
    RETURN NULL;
END
$$;

CREATE TRIGGER feed_state_touch_updated_at
    BEFORE UPDATE ON feed_state
    FOR EACH ROW EXECUTE FUNCTION touch_updated_at();
CREATE TRIGGER feed_state_leave_host
    AFTER DELETE ON feed_state
    FOR EACH ROW EXECUTE FUNCTION feed_state_leave_host();

-- The outcome of each poll; kept for thirty days.
CREATE TABLE poll_events (
    source_id uuid NOT NULL REFERENCES source_ids ON DELETE CASCADE,
    at timestamptz NOT NULL,
    outcome varchar(20) NOT NULL,
    status smallint,
    bytes integer NOT NULL,
    took_ms integer NOT NULL,
    new_articles integer NOT NULL
);

CREATE INDEX poll_events_by_source ON poll_events (source_id, at DESC);
CREATE INDEX poll_events_by_time ON poll_events USING brin (at);


-- Counts of polls: by the hour for all sources, by the day for each. The stage `counting` writes them, outside the
-- polls' own transactions; a reader adds the polls since then.

CREATE TABLE poll_hours (
    hour timestamptz NOT NULL,
    outcome varchar(20) NOT NULL,
    polls integer NOT NULL,
    PRIMARY KEY (hour, outcome)
);

-- No foreign key: the days of a deleted source stay until they expire, and are not shown.
CREATE TABLE poll_days (
    day date NOT NULL,
    source_id uuid NOT NULL,
    polls integer NOT NULL,
    failures integer NOT NULL,
    new_articles integer NOT NULL,
    took_ms bigint NOT NULL,  -- the sum over those that succeeded
    PRIMARY KEY (day, source_id)
) WITH (fillfactor = 80);

-- The top sources by period and kind; computed every few minutes.
CREATE TABLE poll_leaders (
    period varchar(10) NOT NULL,
    kind varchar(10) NOT NULL,
    place smallint NOT NULL,
    source_id uuid NOT NULL,
    polls integer NOT NULL,
    failures integer NOT NULL,
    new_articles integer NOT NULL,
    median_ms integer,
    p95_ms integer,
    PRIMARY KEY (period, kind, place)
);

-- How far polls are counted. One row: the worker that locks it counts.
CREATE TABLE poll_counting (
    is_only boolean PRIMARY KEY DEFAULT true CONSTRAINT poll_counting_one_row CHECK (is_only),
    counted_until timestamptz,
    ranked_at timestamptz
);

INSERT INTO poll_counting DEFAULT VALUES;


-- The health of sources

-- When a feed is tried again: not before its host may be requested. NULL: only an operator can enable it.
CREATE FUNCTION next_try(next_poll_at timestamptz, of_host text) RETURNS timestamptz
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

-- The state of a source: one function for the API, the metrics, the command line and the pages. Its values are
-- those of `SourceState` in types.py, and the reasons those of `FailureClass`; tests compare them.
CREATE FUNCTION source_state(
    enabled boolean, moderation_status text, disabled_at timestamptz, disable_reason text, last_error text,
    last_read_at timestamptz
) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN NOT enabled AND moderation_status = 'pending' THEN 'in_review'
    WHEN NOT enabled AND moderation_status = 'rejected' THEN 'rejected'
    WHEN NOT enabled THEN 'disabled'
    WHEN disabled_at IS NOT NULL AND disable_reason = ANY (ARRAY[
        'rate_limited', 'unauthorized', 'forbidden', 'not_found', 'gone', 'bad_request', 'upstream_failure',
        'network', 'dns', 'parse_error', 'not_a_feed', 'too_large', 'redirect_loop', 'bot_challenge',
        'ssrf_blocked', 'unexpected'
    ]) THEN 'auto_disabled'
    WHEN disabled_at IS NOT NULL THEN 'disabled'
    WHEN last_error IS NOT NULL THEN 'failing'
    WHEN last_read_at IS NOT NULL THEN 'working'
    ELSE 'pending'
END;

-- When a source without a feed was last read, and why it fails: when none of the pages that reading it starts from can be
-- fetched. They are the first that were queued for it. CASE, so that sources with a feed cost no lookup.
CREATE FUNCTION site_state(site uuid, sitemap_url text, has_feed boolean)
RETURNS TABLE (last_read_at timestamptz, error text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE
        WHEN NOT has_feed THEN (SELECT max(daily_reads.last_read_at) FROM daily_reads WHERE source_id = site)
    END, CASE
        WHEN NOT has_feed THEN (
            SELECT CASE
                WHEN bool_and(status IN ('r', 'd', 'b')) THEN
                    (array_agg(last_error ORDER BY kind = 'l' DESC, url = sitemap_url))[1]
            END
            FROM (
                SELECT url, kind, status, parent_url, last_error
                FROM frontier_url
                WHERE source_id = site
                ORDER BY discovered_at
                LIMIT 20
            ) AS start_page
            WHERE parent_url IS NULL
        )
    END;
END;

-- The state of each source. `next_try_at` is NULL if only an operator can enable it.
CREATE VIEW source_health AS
SELECT sources.id, sources.name, lower(sources.name) AS sort_name, sources.category, sources.is_system,
    sources.ingestion_mode, sources.feed_url, sources.sitemap_url, sources.feed_disabled_at,
    sources.feed_disable_reason, sources.enabled, sources.moderation_status,
    feed_state.source_id IS NOT NULL AS has_feed,
    coalesce(sources.feed_url, sources.url, sources.sitemap_url, '') AS address,
    coalesce(feed_state.host, lower(substring(coalesce(sources.url, sources.sitemap_url) FROM '^[^:]+://([^/:?#]+)')))
        AS host,
    now_at.state,
    CASE now_at.state
        WHEN 'auto_disabled' THEN sources.feed_disable_reason
        WHEN 'failing' THEN coalesce(feed_state.last_error_type, split_part(site.error, ':', 1))
    END::varchar(200) AS reason,
    coalesce(feed_state.last_error, site.error) AS last_error,
    CASE WHEN sources.enabled THEN nullif(feed_state.next_poll_at, '9999-12-31 00:00+00') END AS next_try_at,
    coalesce(feed_state.consecutive_errors, 0) AS consecutive_errors,
    coalesce(feed_state.last_polled_at, site.last_read_at) AS last_polled_at,
    coalesce(feed_state.last_succeeded_at, site.last_read_at) AS last_succeeded_at
FROM sources
LEFT JOIN feed_state ON feed_state.source_id = sources.id
CROSS JOIN LATERAL site_state(sources.id, sources.sitemap_url, feed_state.source_id IS NOT NULL) AS site
CROSS JOIN LATERAL (
    SELECT source_state(
        sources.enabled, sources.moderation_status, sources.feed_disabled_at, sources.feed_disable_reason,
        coalesce(feed_state.last_error, site.error), coalesce(feed_state.last_polled_at, site.last_read_at)
    ) AS state
) AS now_at;
