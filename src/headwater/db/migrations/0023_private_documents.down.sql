DROP TRIGGER sources_queue_documents ON sources;
DROP FUNCTION queue_source_documents();
DROP TABLE reindexed_sources;
ALTER TABLE sources DROP COLUMN was_private;
