CREATE OR REPLACE FUNCTION queue_forgotten_content() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO deliveries (channel_id, article_id, queued_at, url_key, version, queued_version, action, ready_at)
    SELECT channel_id, article_id, now(), url_key, version, extract(epoch FROM clock_timestamp()) * 1000000, 'delete',
        '-infinity'
    FROM search_index, (SELECT url_key, article_id, version FROM forgotten ORDER BY url_key) AS forgotten
    ON CONFLICT (channel_id, url_key) WHERE url_key IS NOT NULL DO UPDATE
    SET revision = excluded.revision, article_id = excluded.article_id, version = excluded.version,
        action = excluded.action, queued_version = greatest(deliveries.queued_version + 1, excluded.queued_version),
        ready_at = excluded.ready_at, lease = NULL, attempts = 0, reason = NULL;
    RETURN NULL;
END
$$;

DROP TRIGGER deliveries_version_document ON deliveries;
DROP FUNCTION version_document();
DROP SEQUENCE document_versions;
