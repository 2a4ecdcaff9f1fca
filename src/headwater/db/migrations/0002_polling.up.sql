-- Polling in full: the host as the queue, the state that policies decide on, and a row for every poll.

-- Feeds wait in the queue of their host. One clock, `ready_at`: the latest of politeness, pause, lease end, and the
-- earliest due feed. An abandoned lease ends by itself.
CREATE TABLE poll_hosts (
    host text PRIMARY KEY,
    ready_at timestamptz NOT NULL,
    not_before timestamptz NOT NULL DEFAULT '-infinity',
    lease uuid,
    alike integer NOT NULL DEFAULT 0,
    alike_class varchar(20),
    last_source uuid,
    paused_until timestamptz,
    pauses integer NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

CREATE INDEX poll_hosts_ready ON poll_hosts (ready_at);

ALTER TABLE sources
    ADD COLUMN policy varchar(20),
    ADD COLUMN feed_poll_interval_minutes integer
        CONSTRAINT sources_interval_bounds CHECK (feed_poll_interval_minutes BETWEEN 15 AND 1440);

DROP INDEX feed_state_due;
ALTER TABLE feed_state
    DROP COLUMN leased_until,
    DROP COLUMN lease,
    ADD COLUMN host text,
    ADD COLUMN streak integer NOT NULL DEFAULT 0,
    ADD COLUMN streak_class varchar(20),
    ADD COLUMN permanent_errors integer NOT NULL DEFAULT 0,
    ADD COLUMN failing_since timestamptz,
    ADD COLUMN off_at timestamptz,
    ADD COLUMN off_reason varchar(20),
    ADD COLUMN off_until timestamptz,
    ADD COLUMN off_times integer NOT NULL DEFAULT 0,
    ADD COLUMN moved_url text,
    ADD COLUMN moved_since timestamptz,
    ADD COLUMN moved_times integer NOT NULL DEFAULT 0,
    ADD COLUMN adopt_url text,
    ADD COLUMN mean_gap interval,
    ADD COLUMN last_new_at timestamptz,
    ADD COLUMN last_full_at timestamptz;

UPDATE feed_state SET host = lower(substring(feed_url FROM '^[^:]+://([^/:?#]+)'));
ALTER TABLE feed_state ALTER COLUMN host SET NOT NULL;
INSERT INTO poll_hosts (host, ready_at) SELECT host, min(next_poll_at) FROM feed_state GROUP BY host;

CREATE INDEX feed_state_by_host ON feed_state (host, next_poll_at);
CREATE INDEX feed_state_new ON feed_state (host) WHERE last_polled_at IS NULL;
CREATE INDEX feed_state_adopt ON feed_state (source_id) WHERE adopt_url IS NOT NULL;

-- What each poll came to; kept for thirty days.
CREATE TABLE poll_events (
    source_id uuid NOT NULL REFERENCES sources ON DELETE CASCADE,
    at timestamptz NOT NULL,
    outcome varchar(20) NOT NULL,
    status smallint,
    bytes integer NOT NULL,
    took_ms integer NOT NULL,
    new_articles integer NOT NULL
);

CREATE INDEX poll_events_by_source ON poll_events (source_id, at DESC);
CREATE INDEX poll_events_by_time ON poll_events USING brin (at);
