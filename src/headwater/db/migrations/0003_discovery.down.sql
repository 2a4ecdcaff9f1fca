DROP INDEX article_sources_by_entry;
DROP TABLE source_suggestions;
ALTER TABLE feed_state DROP COLUMN wants_discovery;
