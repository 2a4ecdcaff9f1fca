DROP VIEW source_health;
DROP INDEX sources_by_name;
DROP TABLE poll_counting;
DROP TABLE poll_leaders;
DROP TABLE poll_days;
DROP TABLE poll_hours;
