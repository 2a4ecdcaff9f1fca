-- How often somebody changed a feed: a poll that began before such a change does not write over it. And what a feed said
-- of itself when it was last read, which a 304 does not say again.
ALTER TABLE feed_state
    ADD COLUMN edits integer NOT NULL DEFAULT 0,
    ADD COLUMN wished_gap interval,
    ADD COLUMN skip_hours smallint[],
    ADD COLUMN skip_days smallint[];

-- Which feeds of a host failed alike: of two that take turns, neither says anything of the host.
ALTER TABLE poll_hosts
    DROP COLUMN alike,
    DROP COLUMN last_source,
    ADD COLUMN alike_sources uuid[];
