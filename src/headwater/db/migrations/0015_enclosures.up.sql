-- Enclosures: audio, video and other files that a feed lists with an article.

-- A list of objects with `url` and, where the feed says so, `type`, `length` in bytes, `duration` in seconds and `title`.
-- NULL without any: for most articles.
ALTER TABLE article_sources
    ADD COLUMN enclosures jsonb CONSTRAINT article_sources_enclosures CHECK (
        enclosures IS NULL
        OR CASE jsonb_typeof(enclosures) WHEN 'array' THEN jsonb_array_length(enclosures) BETWEEN 1 AND 16 ELSE false END
    );

CREATE INDEX article_sources_enclosed ON article_sources (article_id) WHERE enclosures IS NOT NULL;
