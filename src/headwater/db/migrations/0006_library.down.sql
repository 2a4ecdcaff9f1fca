DROP TABLE feed_item_clicks, analytics_refusals, analytics_consents, import_lines, imports, summaries;
DROP FUNCTION article_for_user;
DROP TRIGGER article_sources_keep_read ON article_sources;
DROP TRIGGER article_sources_keep_late_unread ON article_sources;
DROP FUNCTION marks_keep_read, marks_keep_late_unread;
DROP TABLE marks, subscriptions;
