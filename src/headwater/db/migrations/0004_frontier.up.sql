-- The frontier: which URL next, from which host, until when. The host is the queue (docs/fetching.md).
-- Keys are digests that the application makes, so that nothing is looked up to submit a URL: `host_id` is 64 bits of the
-- host's name, `url_id` 64 bits of the canonical URL without its scheme, `shard` 4 bits of `host_id`. Together the two
-- ids are the UUID that the API shows. Every key starts with `shard`, so that Citus can spread these tables on it.

-- One clock per host: `ready_at` is the latest of politeness, a block, the end of a lease, and the earliest due URL.
CREATE TABLE host (
    host_id bigint NOT NULL,
    ready_at timestamptz NOT NULL,
    not_before timestamptz NOT NULL DEFAULT '-infinity',  -- politeness, Retry-After and robots, without what is due
    lease uuid,  -- of whom it is in the hands; still there when the lease has run out: then it was lost
    url_count integer NOT NULL DEFAULT 0,
    robots_delay_ms integer,
    shard smallint NOT NULL,
    band smallint NOT NULL,  -- the best of its due URLs
    claimed smallint NOT NULL DEFAULT 0,
    strikes smallint NOT NULL DEFAULT 0,
    slowed smallint NOT NULL DEFAULT 0,
    successes smallint NOT NULL DEFAULT 0,  -- since it was slowed
    name text NOT NULL,
    CONSTRAINT host_pkey PRIMARY KEY (shard, host_id)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02);

-- Whoever claims must repeat the predicate: PostgreSQL does not conclude it from `ready_at <= now`.
CREATE INDEX host_ready ON host (shard, band, ready_at) WHERE ready_at < 'infinity';

-- Columns are ordered by their alignment, and letters stand for words: a row is as small as it can be.
CREATE TABLE frontier_url (
    host_id bigint NOT NULL,
    url_id bigint NOT NULL,
    next_fetch_at timestamptz NOT NULL,  -- 'infinity': never again
    discovered_at timestamptz NOT NULL,
    last_fetched_at timestamptz,  -- when it was last asked for, whatever came of it
    failing_since timestamptz,
    source_id uuid,
    fetch_count integer NOT NULL DEFAULT 0,
    interval_s integer,
    shard smallint NOT NULL,
    band smallint NOT NULL,  -- 0 to 3, from the priority
    priority smallint NOT NULL CONSTRAINT frontier_url_priority CHECK (priority BETWEEN 1 AND 10),
    depth smallint NOT NULL DEFAULT 0,
    retry_count smallint NOT NULL DEFAULT 0,
    status "char" NOT NULL DEFAULT 'p',  -- pending, fetched, retry (failed), dead, blocked (dead by robots.txt)
    origin "char" NOT NULL,  -- feed, sitemap (x), spider (s), manual
    kind "char" NOT NULL,  -- article, list, sitemap (x)
    url text NOT NULL,
    parent_url text,
    etag text,
    last_modified text,
    last_error text,
    content_hash bytea,
    CONSTRAINT frontier_url_pkey PRIMARY KEY (shard, host_id, url_id)
) WITH (autovacuum_vacuum_scale_factor = 0.05);

-- What is due of a host, band by band. URLs submitted together have one time, and share an entry of the index.
CREATE INDEX frontier_url_due ON frontier_url (shard, band, host_id, next_fetch_at) WHERE next_fetch_at < 'infinity';
CREATE INDEX frontier_url_blocked ON frontier_url (shard, host_id) WHERE status = 'b';
CREATE INDEX frontier_url_by_time ON frontier_url (discovered_at);
CREATE INDEX frontier_url_by_source ON frontier_url (source_id, discovered_at);

-- URLs that led elsewhere. What is submitted under one of them is submitted where it led.
CREATE TABLE frontier_alias (
    shard smallint NOT NULL,
    host_id bigint NOT NULL,
    url_id bigint NOT NULL,
    to_host_id bigint NOT NULL,
    to_url_id bigint NOT NULL,
    expires_at timestamptz NOT NULL,  -- 'infinity' when the redirect was permanent
    url text NOT NULL,
    to_url text NOT NULL,
    CONSTRAINT frontier_alias_pkey PRIMARY KEY (shard, host_id, url_id)
);

CREATE INDEX frontier_alias_to ON frontier_alias (to_host_id, to_url_id);

-- robots.txt, by scheme, host and port. Only who holds the host asks for it.
CREATE TABLE host_robots (
    shard smallint NOT NULL,
    host_id bigint NOT NULL,
    origin text NOT NULL,
    status smallint,  -- of HTTP; NULL when nobody answered
    body text,  -- NULL: nothing to obey, or nothing known
    fetched_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    unreachable_since timestamptz,
    crawl_delay_ms integer,
    sitemaps text[] NOT NULL DEFAULT '{}',
    CONSTRAINT host_robots_pkey PRIMARY KEY (shard, host_id, origin)
);

-- How many URLs of a source stand where: what each batch changed, summed up from time to time. Nobody waits for a row.
CREATE TABLE frontier_tally (
    source_id uuid,
    pending integer NOT NULL,
    fetched integer NOT NULL,
    failed integer NOT NULL,
    dead integer NOT NULL
);
