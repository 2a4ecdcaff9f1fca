REVOKE SELECT ON sources, feed_state, articles, article_sources, content FROM headwater_person;
DROP TRIGGER article_sources_keep_late_unread ON article_sources;
DROP FUNCTION marks_keep_late_unread, search_queries;
DROP TABLE summaries, marks, subscriptions;
DROP INDEX article_sources_newest, article_sources_latest, articles_titles;
ALTER TABLE article_sources DROP COLUMN listed_at;
ALTER TABLE sources DROP COLUMN is_system, DROP COLUMN submitted_by;
