-- Hosts and the frontier: which URL to request next, from which host, until when; pages, sitemaps and links.
--
-- Keys are digests that the application computes, so that submitting a URL needs no lookup: `host_id` is 64 bits of the
-- host's name, `url_id` 64 bits of the canonical URL without its scheme, `shard` 4 bits of `host_id`. The two ids
-- together are the UUID that the API shows. Every key starts with `shard`, so that Citus can distribute these tables.


-- Hosts

-- As in hosts/keys.py.
CREATE FUNCTION host_id_of(name text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ('x' || encode(substr(sha256(name::bytea), 1, 8), 'hex'))::bit(64)::bigint;

CREATE FUNCTION shard_of(host_id bigint) RETURNS smallint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN mod(mod(host_id, 16) + 16, 16)::smallint;

-- Polls, pages and every other request to a host take turns at its row. Columns are ordered by alignment.
CREATE TABLE hosts (
    host_id bigint NOT NULL,
    -- No request of any kind before it, except by the holder of the lease: the latest of `not_before`, `paused_until`
    -- and the end of a lease. A lost lease ends at that time.
    free_at timestamptz NOT NULL DEFAULT '-infinity',
    not_before timestamptz NOT NULL DEFAULT '-infinity',  -- the delay, and what the site asked for; a minimum for all
    feed_due_at timestamptz NOT NULL DEFAULT 'infinity',  -- of its feeds, the first
    page_due_at timestamptz NOT NULL DEFAULT 'infinity',  -- of its URLs, the first
    has_new_feed boolean NOT NULL DEFAULT false,  -- polled before all feeds that are due
    feeds_ready_at timestamptz NOT NULL
        GENERATED ALWAYS AS (CASE WHEN has_new_feed THEN free_at ELSE greatest(feed_due_at, free_at) END) STORED,
    -- Pages wait and feeds do not: robots.txt cannot be read, or pages are bot challenges.
    pages_paused_until timestamptz,
    pages_ready_at timestamptz NOT NULL
        GENERATED ALWAYS AS (greatest(page_due_at, free_at, pages_paused_until)) STORED,
    paused_until timestamptz,  -- by the breaker, for all kinds of requests
    answered_at timestamptz,  -- when it last responded to any request
    lease uuid,  -- kept when the lease has expired: then it was lost
    url_count integer NOT NULL DEFAULT 0,
    robots_delay_ms integer,
    pauses integer NOT NULL DEFAULT 0,
    shard smallint NOT NULL,
    band smallint NOT NULL DEFAULT 3,  -- the best of its due URLs
    claimed smallint NOT NULL DEFAULT 0,  -- URLs that the holder of the lease fetches; 0: another kind of request
    strikes smallint NOT NULL DEFAULT 0,
    slowed smallint NOT NULL DEFAULT 0,  -- how often its delay was doubled
    successes smallint NOT NULL DEFAULT 0,  -- since it was slowed
    -- For the breaker: feeds that failed in the same way, and how. Their ids, since two feeds that fail in turn must
    -- not count as more than two.
    failure_class varchar(20),
    name text NOT NULL,
    failing_sources uuid[],
    PRIMARY KEY (shard, host_id)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02);

-- A claim must repeat the predicate: PostgreSQL does not infer it from `… <= now`.
CREATE INDEX hosts_pages ON hosts (shard, band, pages_ready_at) WHERE page_due_at < 'infinity';
-- Hosts that never answered have an index of their own, so that they cannot take all slots of a poller.
CREATE INDEX hosts_feeds ON hosts (feeds_ready_at) WHERE feed_due_at < 'infinity' AND answered_at IS NOT NULL;
CREATE INDEX hosts_feeds_new ON hosts (feeds_ready_at) WHERE feed_due_at < 'infinity' AND answered_at IS NULL;
-- Hosts without feeds and URLs, borrowed for single requests: deleted when they are not used for a day.
CREATE INDEX hosts_unused ON hosts (free_at)
    WHERE feed_due_at = 'infinity' AND page_due_at = 'infinity' AND url_count = 0;
CREATE INDEX hosts_paused ON hosts (paused_until) WHERE paused_until IS NOT NULL;

-- robots.txt, by scheme, host and port. Only the holder of the host's lease requests it.
CREATE TABLE host_robots (
    shard smallint NOT NULL,
    host_id bigint NOT NULL,
    origin text NOT NULL,
    status smallint,  -- of HTTP; NULL: no response
    body text,  -- NULL: no rules, or none known
    fetched_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    unreachable_since timestamptz,
    crawl_delay_ms integer,
    sitemaps text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (shard, host_id, origin)
);


-- The frontier

-- Columns are ordered by alignment and codes are one character, to keep rows small.
CREATE TABLE frontier_url (
    host_id bigint NOT NULL,
    url_id bigint NOT NULL,
    next_fetch_at timestamptz NOT NULL,  -- 'infinity': never again
    discovered_at timestamptz NOT NULL,
    last_fetched_at timestamptz,  -- the last request, whatever its outcome
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
    PRIMARY KEY (shard, host_id, url_id)
) WITH (autovacuum_vacuum_scale_factor = 0.05);

-- The due URLs of a host by band. URLs that were submitted together have the same time and share an index entry.
CREATE INDEX frontier_url_due ON frontier_url (shard, band, host_id, next_fetch_at) WHERE next_fetch_at < 'infinity';
CREATE INDEX frontier_url_blocked ON frontier_url (shard, host_id) WHERE status = 'b';
CREATE INDEX frontier_url_by_time ON frontier_url (discovered_at);
CREATE INDEX frontier_url_by_source ON frontier_url (source_id, discovered_at);

-- URLs that redirect to another. A submission of one of them is a submission of its target.
CREATE TABLE frontier_alias (
    shard smallint NOT NULL,
    host_id bigint NOT NULL,
    url_id bigint NOT NULL,
    to_host_id bigint NOT NULL,
    to_url_id bigint NOT NULL,
    expires_at timestamptz NOT NULL,  -- 'infinity': the redirect was permanent
    url text NOT NULL,
    to_url text NOT NULL,
    PRIMARY KEY (shard, host_id, url_id)
);

CREATE INDEX frontier_alias_to ON frontier_alias (to_host_id, to_url_id);

-- The number of URLs of a source by status. Each batch inserts its changes, which are summed up from time to time, so
-- that no batch waits for the row of another.
CREATE TABLE frontier_tally (
    source_id uuid,
    pending integer NOT NULL,
    fetched integer NOT NULL,
    failed integer NOT NULL,
    dead integer NOT NULL
);


-- Pages, sitemaps and links

-- Bodies that were fetched and wait to be read.
CREATE TABLE bodies (
    id uuid PRIMARY KEY,
    url text NOT NULL,
    final_url text NOT NULL,
    kind varchar(10) NOT NULL CONSTRAINT bodies_kind CHECK (kind IN ('article', 'sitemap', 'list')),
    source_id uuid REFERENCES source_ids ON DELETE CASCADE,
    depth smallint NOT NULL,
    content_type text NOT NULL,
    body bytea NOT NULL,
    fetched_at timestamptz NOT NULL,
    ready_at timestamptz NOT NULL,  -- when it was stored, or the end of a lease
    lease uuid,
    attempts smallint NOT NULL DEFAULT 0,
    -- A fair queue: bodies of one owner follow each other at the time that reading them takes, by their size.
    owner bigint,  -- a hash of the user who added the source, or of the source of an operator
    turn_at timestamptz NOT NULL
);

CREATE INDEX bodies_ready ON bodies (kind, ready_at);
CREATE INDEX bodies_by_turn ON bodies (kind, turn_at);
CREATE INDEX bodies_by_owner ON bodies (owner, kind, turn_at);
CREATE INDEX bodies_by_source ON bodies (source_id) WHERE source_id IS NOT NULL;

-- The results of reading each sitemap: one that yields nothing new is read less and less often, then never.
CREATE TABLE sitemaps (
    url_key bytea PRIMARY KEY,
    source_id uuid REFERENCES source_ids ON DELETE CASCADE,
    url text NOT NULL,
    last_read_at timestamptz NOT NULL,
    url_count integer NOT NULL,
    new_count integer NOT NULL,
    newest_lastmod timestamptz,
    idle_since timestamptz NOT NULL,  -- when it last had a new URL, or was first read
    unproductive_reads integer NOT NULL DEFAULT 0,
    retired_at timestamptz
) WITH (fillfactor = 80);

CREATE INDEX sitemaps_by_source ON sitemaps (source_id);

-- When a source's sitemaps were last read and its links last followed, and how much of the day's budget that used.
CREATE TABLE daily_reads (
    source_id uuid REFERENCES sources ON DELETE CASCADE,
    kind varchar(10) CONSTRAINT daily_reads_kind CHECK (kind IN ('sitemap', 'list')),
    last_read_at timestamptz NOT NULL,
    day date NOT NULL,
    spent integer NOT NULL,
    PRIMARY KEY (source_id, kind)
) WITH (fillfactor = 70);
