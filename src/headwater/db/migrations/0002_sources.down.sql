DROP TABLE blocked_domains, submissions, feed_holds, source_suggestions, sources, source_ids;
DROP FUNCTION note_inactive_since, sources_mark_removed, sources_keep_ids, plain_name;
