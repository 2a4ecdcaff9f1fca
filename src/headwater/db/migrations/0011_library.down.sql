REVOKE SELECT ON sources, feed_state, articles, article_sources, content FROM headwater_person;
DROP TABLE summaries, marks, subscriptions;
DROP INDEX article_sources_newest, articles_titles;
ALTER TABLE article_sources DROP COLUMN listed_at;
ALTER TABLE sources DROP COLUMN is_system, DROP COLUMN submitted_by;
