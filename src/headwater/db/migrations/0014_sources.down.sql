DROP INDEX sources_critical;
DROP INDEX sources_disabled;
DROP INDEX sources_off;
DROP INDEX sources_by_mode;
DROP INDEX sources_by_category;

-- A reason in a person's own words was not to be had before: what is left of it is its beginning.
ALTER TABLE feed_state ALTER COLUMN off_reason TYPE varchar(20) USING left(off_reason, 20);
ALTER TABLE sources
    ALTER COLUMN feed_disable_reason TYPE varchar(20) USING left(feed_disable_reason, 20),
    DROP COLUMN is_critical,
    DROP COLUMN category;
