-- What the search index has yet to be told, and since when there is one that listens.

-- One row per URL, as the index has one document per URL; a later change takes the place of an earlier one. No foreign
-- key: that an article is forgotten must be told when the article is gone.
CREATE TABLE outbox (
    url_key bytea PRIMARY KEY,
    article_id uuid NOT NULL,
    version bigint NOT NULL,
    queued_version bigint NOT NULL,  -- what the index compares: when this was queued, in microseconds
    action varchar(10) NOT NULL CONSTRAINT outbox_action CHECK (action IN ('index', 'delete')),
    queued_at timestamptz NOT NULL,
    ready_at timestamptz NOT NULL,
    lease uuid,
    attempts integer NOT NULL DEFAULT 0,
    reason text  -- why it was given up; such a row is never ready
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);  -- rows come and go, and a claim meets the gone first

CREATE INDEX outbox_ready ON outbox (ready_at);
CREATE INDEX outbox_waiting ON outbox (queued_at) WHERE reason IS NULL;
CREATE INDEX outbox_dead ON outbox (queued_at) WHERE reason IS NOT NULL;

-- No row: there is no index, and nothing is queued. `target` is the index's own id: an index that was made anew has
-- another, and is told everything again. What was written before `since` is queued in batches, as far as `filled_to`.
CREATE TABLE outbox_listening (
    is_only boolean PRIMARY KEY DEFAULT true CONSTRAINT outbox_listening_one_row CHECK (is_only),
    target text NOT NULL,
    since xid8 NOT NULL,
    filled_to uuid,
    filled_at timestamptz
);

-- Articles go in many ways, mostly by cascade: here none is overlooked.
CREATE FUNCTION queue_forgotten_content() RETURNS trigger
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

CREATE TRIGGER content_queue_forgotten
    AFTER DELETE ON content
    REFERENCING OLD TABLE AS forgotten
    FOR EACH STATEMENT EXECUTE FUNCTION queue_forgotten_content();
