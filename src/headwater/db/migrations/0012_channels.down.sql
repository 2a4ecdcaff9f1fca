DROP TABLE deliveries, channels, publishing_state;
DROP INDEX article_state_revision;
ALTER TABLE article_state DROP COLUMN revision, DROP COLUMN revised_at, DROP COLUMN revision_digest;
