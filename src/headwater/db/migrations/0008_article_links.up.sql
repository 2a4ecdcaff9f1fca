-- What a source lists is found by article_sources_by_entry, which begins with the source too: one index less to write.
DROP INDEX article_sources_by_source;
