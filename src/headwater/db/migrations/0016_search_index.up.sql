-- The search index becomes the destination of a channel: changes that wait for it are deliveries.

-- The index compares the versions of documents, so that its deliveries need no order: workers share them, each delivery
-- under a lease of its own. There is one for each URL, since the index has one document for each: a later change
-- replaces an earlier one, under a new revision. It is deleted when the index has it. No foreign key: the deletion of
-- an article is sent when the article no longer exists.
ALTER TABLE deliveries
    ADD COLUMN url_key bytea,  -- of the document; NULL for other destinations, as the next five are
    ADD COLUMN version bigint,  -- of the content
    ADD COLUMN queued_version bigint,  -- the document's version in the index: when this was queued, in microseconds
    ADD COLUMN action varchar(10) CONSTRAINT deliveries_action CHECK (action IN ('index', 'delete')),
    ADD COLUMN ready_at timestamptz,
    ADD COLUMN lease uuid;

CREATE UNIQUE INDEX deliveries_documents ON deliveries (channel_id, url_key) WHERE url_key IS NOT NULL;
CREATE INDEX deliveries_documents_ready ON deliveries (ready_at) WHERE url_key IS NOT NULL AND reason IS NULL;
CREATE INDEX deliveries_documents_queued ON deliveries (queued_at) WHERE url_key IS NOT NULL AND reason IS NULL;
CREATE INDEX deliveries_documents_refused ON deliveries (queued_at) WHERE url_key IS NOT NULL AND reason IS NOT NULL;

CREATE SEQUENCE document_revisions;

CREATE FUNCTION number_document() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    NEW.revision := nextval('document_revisions');
    RETURN NEW;
END
$$;

CREATE TRIGGER deliveries_number_document
    BEFORE INSERT ON deliveries
    FOR EACH ROW WHEN (NEW.revision IS NULL) EXECUTE FUNCTION number_document();

-- No row: there is no index, and nothing is queued. `target` is the index's own id: an index that was created again has
-- another, and receives everything again. Content from before `since` is queued in batches, up to `filled_to`.
ALTER TABLE outbox_listening RENAME TO search_index;
ALTER TABLE search_index RENAME CONSTRAINT outbox_listening_one_row TO search_index_one_row;
ALTER TABLE search_index ADD COLUMN channel_id uuid;
UPDATE search_index SET channel_id = gen_random_uuid();
ALTER TABLE search_index ALTER COLUMN channel_id SET NOT NULL;

INSERT INTO channels (id, name, query, destination)
SELECT channel_id,
    'search-index' || CASE WHEN EXISTS (SELECT FROM channels WHERE name = 'search-index') THEN '-' || channel_id ELSE '' END,
    '*', 'search_index'
FROM search_index;

INSERT INTO deliveries (
    channel_id, article_id, queued_at, attempts, reason, url_key, version, queued_version, action, ready_at
)
SELECT channel_id, article_id, queued_at, least(attempts, 1000), reason, url_key, version,
    queued_version, action, CASE WHEN ready_at = 'infinity' THEN queued_at ELSE ready_at END
FROM outbox, search_index
ORDER BY queued_at;

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

DROP TABLE outbox;
