-- Sources without a feed: sites that are read through their sitemaps, or by following their links.
ALTER TABLE sources
    ALTER COLUMN feed_url DROP NOT NULL,
    ALTER COLUMN feed_url_key DROP NOT NULL,
    ADD COLUMN url_key bytea,
    ADD COLUMN sitemap_url text,
    ADD COLUMN ingestion_mode varchar(10) NOT NULL DEFAULT 'feed'
        CONSTRAINT sources_ingestion_mode CHECK (ingestion_mode IN ('feed', 'spider', 'both')),
    ADD COLUMN selectors jsonb,
    ADD COLUMN article_url_patterns text[] NOT NULL DEFAULT '{}',
    ADD COLUMN external_links boolean NOT NULL DEFAULT false,
    ADD COLUMN max_depth smallint NOT NULL DEFAULT 2 CONSTRAINT sources_max_depth CHECK (max_depth BETWEEN 0 AND 10),
    ADD COLUMN page_budget integer CONSTRAINT sources_page_budget CHECK (page_budget BETWEEN 1 AND 1000000),
    ADD COLUMN min_delay_ms integer CONSTRAINT sources_min_delay CHECK (min_delay_ms BETWEEN 0 AND 3600000),
    ADD COLUMN priority smallint NOT NULL DEFAULT 5 CONSTRAINT sources_priority CHECK (priority BETWEEN 1 AND 10),
    ADD CONSTRAINT sources_something_to_follow CHECK (feed_url_key IS NOT NULL OR url_key IS NOT NULL),
    ADD CONSTRAINT sources_feed_with_key CHECK ((feed_url IS NULL) = (feed_url_key IS NULL)),
    ADD CONSTRAINT sources_url_with_key CHECK (url_key IS NULL OR url IS NOT NULL);

-- A site is followed once by itself; any number of its feeds may be followed beside it.
CREATE UNIQUE INDEX sources_url_key ON sources (url_key) WHERE feed_url_key IS NULL;

-- What reading a sitemap came to, so that those that bring nothing are read ever more seldom, and at last no more.
CREATE TABLE sitemaps (
    url_key bytea PRIMARY KEY,
    source_id uuid REFERENCES sources ON DELETE CASCADE,
    url text NOT NULL,
    last_read_at timestamptz NOT NULL,
    url_count integer NOT NULL,
    new_count integer NOT NULL,
    newest_lastmod timestamptz,
    idle_since timestamptz NOT NULL,  -- when it last brought something new, or was first read
    unproductive_reads integer NOT NULL DEFAULT 0,
    retired_at timestamptz
) WITH (fillfactor = 80);

CREATE INDEX sitemaps_by_source ON sitemaps (source_id);

-- How reading a source's sitemaps and following its links goes, and what they have spent of its day.
CREATE TABLE sitemap_state (
    source_id uuid PRIMARY KEY REFERENCES sources ON DELETE CASCADE,
    last_read_at timestamptz NOT NULL,
    day date NOT NULL,
    spent integer NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE spider_state (
    source_id uuid PRIMARY KEY REFERENCES sources ON DELETE CASCADE,
    last_read_at timestamptz NOT NULL,
    day date NOT NULL,
    spent integer NOT NULL
) WITH (fillfactor = 70);
