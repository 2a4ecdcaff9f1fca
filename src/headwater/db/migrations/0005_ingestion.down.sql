DROP TABLE spider_state;
DROP TABLE sitemap_state;
DROP TABLE sitemaps;
DROP INDEX sources_url_key;

-- Before this migration a source without a feed could not be said.
DELETE FROM sources WHERE feed_url_key IS NULL;
ALTER TABLE sources
    DROP CONSTRAINT sources_url_with_key,
    DROP CONSTRAINT sources_feed_with_key,
    DROP CONSTRAINT sources_something_to_follow,
    DROP COLUMN priority,
    DROP COLUMN min_delay_ms,
    DROP COLUMN page_budget,
    DROP COLUMN max_depth,
    DROP COLUMN external_links,
    DROP COLUMN article_url_patterns,
    DROP COLUMN selectors,
    DROP COLUMN ingestion_mode,
    DROP COLUMN sitemap_url,
    DROP COLUMN url_key,
    ALTER COLUMN feed_url_key SET NOT NULL,
    ALTER COLUMN feed_url SET NOT NULL;
