DROP TABLE views;
CREATE INDEX marks_read ON marks (user_id, article_id) WHERE is_read;
ALTER TABLE subscriptions DROP COLUMN tags;
ALTER TABLE marks DROP COLUMN tags, DROP COLUMN hidden_at;
