-- Versions of documents in the search index that never go back, also when a clock that was ahead is corrected: the
-- index ignores a change, or a deletion, whose version is lower than that of the document it has.

-- The version that was given last: the database's clock, in microseconds, or one more than before if that is higher.
CREATE SEQUENCE document_versions;

-- For a delivery without `queued_version`.
CREATE FUNCTION version_document() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    at bigint := extract(epoch FROM clock_timestamp()) * 1000000;
    given bigint := nextval('document_versions');
BEGIN
    IF given < at THEN
        given := setval('document_versions', at);
    END IF;
    NEW.queued_version := given;
    RETURN NEW;
END
$$;

CREATE TRIGGER deliveries_version_document
    BEFORE INSERT OR UPDATE OF queued_version ON deliveries
    FOR EACH ROW WHEN (NEW.url_key IS NOT NULL AND NEW.queued_version IS NULL) EXECUTE FUNCTION version_document();

CREATE OR REPLACE FUNCTION queue_forgotten_content() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO deliveries (channel_id, article_id, queued_at, url_key, version, action, ready_at)
    SELECT channel_id, article_id, now(), url_key, version, 'delete', '-infinity'
    FROM search_index, (SELECT url_key, article_id, version FROM forgotten ORDER BY url_key) AS forgotten
    ON CONFLICT (channel_id, url_key) WHERE url_key IS NOT NULL DO UPDATE
    SET revision = excluded.revision, article_id = excluded.article_id, version = excluded.version,
        action = excluded.action, queued_version = greatest(deliveries.queued_version + 1, excluded.queued_version),
        ready_at = excluded.ready_at, lease = NULL, attempts = 0, reason = NULL;
    RETURN NULL;
END
$$;
