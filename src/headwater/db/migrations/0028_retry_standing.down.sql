ALTER TABLE feed_state DROP COLUMN off_by_operator, DROP COLUMN asked_until;
