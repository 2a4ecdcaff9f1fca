ALTER TABLE poll_hosts
    DROP COLUMN alike_sources,
    ADD COLUMN alike integer NOT NULL DEFAULT 0,
    ADD COLUMN last_source uuid;
ALTER TABLE feed_state
    DROP COLUMN edits,
    DROP COLUMN wished_gap,
    DROP COLUMN skip_hours,
    DROP COLUMN skip_days;
