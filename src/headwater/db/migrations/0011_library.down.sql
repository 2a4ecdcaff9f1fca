REVOKE SELECT ON sources, feed_state, articles, article_sources FROM headwater_person;
DROP TABLE summaries, marks, subscriptions;
DROP INDEX article_sources_newest;
CREATE INDEX IF NOT EXISTS article_sources_by_source ON article_sources (source_id, article_id);
ALTER TABLE article_sources DROP COLUMN listed_at;
ALTER TABLE sources DROP COLUMN is_system, DROP COLUMN submitted_by;
