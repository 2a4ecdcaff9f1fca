-- The search index has only articles that everyone may see: those that are not known from private feeds of users only.

-- A user's feed that has lost the key in its URL: what it listed before stays private.
ALTER TABLE sources ADD COLUMN was_private boolean NOT NULL DEFAULT false;

-- Sources that became public or private: their documents are queued in batches, up to `filled_to`. Without a foreign key:
-- the articles of a deleted source are queued when they lose it.
CREATE TABLE reindexed_sources (
    source_id uuid PRIMARY KEY,
    filled_to uuid
);

-- A trigger, since sources become public or private in several ways: by an operator, a moderator, a redirect, a merge.
CREATE FUNCTION queue_source_documents() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO reindexed_sources (source_id) SELECT NEW.id WHERE EXISTS (SELECT FROM search_index)
    ON CONFLICT (source_id) DO UPDATE SET filled_to = NULL;
    RETURN NULL;
END
$$;

CREATE TRIGGER sources_queue_documents
    AFTER UPDATE OF is_system, moderation_status, feed_url ON sources
    FOR EACH ROW
    WHEN (
        (OLD.is_system OR coalesce(OLD.moderation_status, '') = 'approved')
            IS DISTINCT FROM (NEW.is_system OR coalesce(NEW.moderation_status, '') = 'approved')
        OR (
            OLD.feed_url IS DISTINCT FROM NEW.feed_url
            AND NOT (NEW.is_system OR coalesce(NEW.moderation_status, '') = 'approved')
        )
    )
    EXECUTE FUNCTION queue_source_documents();

-- An index that exists has what it must not: pages of private feeds, and those of feeds that were deleted.
INSERT INTO reindexed_sources (source_id)
SELECT id FROM sources
WHERE NOT is_system AND moderation_status IS DISTINCT FROM 'approved' AND EXISTS (SELECT FROM search_index);

INSERT INTO deliveries (channel_id, article_id, queued_at, url_key, version, queued_version, action, ready_at)
SELECT channel_id, article_id, now(), url_key, version, extract(epoch FROM clock_timestamp()) * 1000000, 'index', now()
FROM search_index, (
    SELECT article_id, url_key, version FROM content
    WHERE EXISTS (SELECT FROM marks WHERE marks.article_id = content.article_id AND starred_at IS NOT NULL)
        AND NOT EXISTS (SELECT FROM article_sources WHERE article_sources.article_id = content.article_id)
    ORDER BY url_key
) AS unlisted
ON CONFLICT (channel_id, url_key) WHERE url_key IS NOT NULL DO NOTHING;
