DROP VIEW source_health;
DROP FUNCTION site_state, source_state, next_try;
DROP TABLE poll_counting, poll_leaders, poll_days, poll_hours, poll_events, feed_state;
DROP FUNCTION feed_state_leave_host;
