CREATE INDEX article_sources_by_source ON article_sources (source_id, article_id);
