DROP TABLE poll_events;
DROP INDEX feed_state_adopt;
DROP INDEX feed_state_new;
DROP INDEX feed_state_by_host;

ALTER TABLE feed_state
    DROP COLUMN host,
    DROP COLUMN streak,
    DROP COLUMN streak_class,
    DROP COLUMN permanent_errors,
    DROP COLUMN failing_since,
    DROP COLUMN off_at,
    DROP COLUMN off_reason,
    DROP COLUMN off_until,
    DROP COLUMN off_times,
    DROP COLUMN moved_url,
    DROP COLUMN moved_since,
    DROP COLUMN moved_times,
    DROP COLUMN adopt_url,
    DROP COLUMN mean_gap,
    DROP COLUMN last_new_at,
    DROP COLUMN last_full_at,
    ADD COLUMN leased_until timestamptz,
    ADD COLUMN lease uuid;
CREATE INDEX feed_state_due ON feed_state (next_poll_at);

ALTER TABLE sources
    DROP COLUMN feed_poll_interval_minutes,
    DROP COLUMN policy;

DROP TABLE poll_hosts;
