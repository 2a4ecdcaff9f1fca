DROP TRIGGER content_queue_forgotten ON content;
DROP FUNCTION queue_forgotten_content;
DROP TABLE outbox_listening;
DROP TABLE outbox;
