CREATE TABLE outbox (
    url_key bytea PRIMARY KEY,
    article_id uuid NOT NULL,
    version bigint NOT NULL,
    queued_version bigint NOT NULL,
    action varchar(10) NOT NULL CONSTRAINT outbox_action CHECK (action IN ('index', 'delete')),
    queued_at timestamptz NOT NULL,
    ready_at timestamptz NOT NULL,
    lease uuid,
    attempts integer NOT NULL DEFAULT 0,
    reason text
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX outbox_ready ON outbox (ready_at);
CREATE INDEX outbox_waiting ON outbox (queued_at) WHERE reason IS NULL;
CREATE INDEX outbox_dead ON outbox (queued_at) WHERE reason IS NOT NULL;

INSERT INTO outbox (url_key, article_id, version, queued_version, action, queued_at, ready_at, attempts, reason)
SELECT url_key, article_id, version, queued_version, action, queued_at,
    CASE WHEN reason IS NULL THEN ready_at ELSE 'infinity' END, attempts, reason
FROM deliveries WHERE url_key IS NOT NULL;

CREATE OR REPLACE FUNCTION queue_forgotten_content() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO outbox (url_key, article_id, version, queued_version, action, queued_at, ready_at)
    SELECT url_key, article_id, version, extract(epoch FROM clock_timestamp()) * 1000000, 'delete', now(), '-infinity'
    FROM forgotten
    WHERE EXISTS (SELECT FROM outbox_listening)
    ORDER BY url_key
    ON CONFLICT (url_key) DO UPDATE
    SET article_id = excluded.article_id, version = excluded.version, action = excluded.action,
        queued_version = greatest(outbox.queued_version + 1, excluded.queued_version),
        ready_at = excluded.ready_at, lease = NULL, attempts = 0, reason = NULL;
    RETURN NULL;
END
$$;

DELETE FROM deliveries WHERE url_key IS NOT NULL;
DELETE FROM channels WHERE id IN (SELECT channel_id FROM search_index);
ALTER TABLE search_index DROP COLUMN channel_id;
ALTER TABLE search_index RENAME CONSTRAINT search_index_one_row TO outbox_listening_one_row;
ALTER TABLE search_index RENAME TO outbox_listening;

DROP TRIGGER deliveries_number_document ON deliveries;
DROP FUNCTION number_document;
DROP SEQUENCE document_revisions;
ALTER TABLE deliveries
    DROP COLUMN url_key, DROP COLUMN version, DROP COLUMN queued_version, DROP COLUMN action, DROP COLUMN ready_at,
    DROP COLUMN lease;
