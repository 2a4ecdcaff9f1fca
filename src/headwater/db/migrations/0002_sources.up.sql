-- Sources: what Headwater reads, one row however many users follow it; and users' suggestions of sources.

-- Ids of sources, as `user_ids`. Tables with many rows of a source refer to this table; the stage `removing` deletes
-- those rows before the id, so that the cascade finds none.
CREATE TABLE source_ids (
    id uuid PRIMARY KEY,
    removed_at timestamptz,  -- NULL: the source exists
    ready_at timestamptz NOT NULL DEFAULT '-infinity',  -- the end of a worker's lease
    lease uuid
);

CREATE INDEX source_ids_removed ON source_ids (ready_at) WHERE removed_at IS NOT NULL;

CREATE TABLE sources (
    -- The id of a source that exists cannot be deleted. Deferred: a trigger inserts the id after the source.
    id uuid PRIMARY KEY REFERENCES source_ids DEFERRABLE INITIALLY DEFERRED,
    name text NOT NULL CONSTRAINT sources_name_length CHECK (length(name) BETWEEN 1 AND 255),
    category varchar(100) CONSTRAINT sources_category_length CHECK (length(category) >= 1),
    -- A feed, or a site that is read through its sitemaps or by following its links, or both. The keys are digests of
    -- the canonical URLs. A feed that moved to another site keeps the key of the URL it was added with.
    ingestion_mode varchar(10) NOT NULL DEFAULT 'feed'
        CONSTRAINT sources_ingestion_mode CHECK (ingestion_mode IN ('feed', 'spider', 'both')),
    feed_url text,
    feed_url_key bytea CONSTRAINT sources_feed_url_key UNIQUE,
    url text,
    url_key bytea,
    sitemap_url text,
    -- Whether the source is read at all. `feed_disabled_at` disables only its feed.
    enabled boolean NOT NULL DEFAULT true,
    -- `enabled` is also false while an unapproved suggestion has no subscription; a new one ends that, but not this.
    disabled_by_operator boolean NOT NULL DEFAULT false,
    inactive_since timestamptz,  -- since when `enabled` is false: alerts count it like a disabled feed
    feed_disabled_at timestamptz,
    feed_disable_reason varchar(200),  -- a class of failure, or an operator's text
    is_critical boolean NOT NULL DEFAULT false,
    -- A system source is managed by an operator. A custom source is deleted when its last subscriber leaves.
    is_system boolean NOT NULL DEFAULT true,
    submitted_by uuid REFERENCES user_ids ON DELETE SET NULL,
    -- NULL: not suggested for all users.
    moderation_status varchar(10)
        CONSTRAINT sources_moderation_status CHECK (moderation_status IN ('pending', 'approved', 'rejected')),
    -- How the feed is polled.
    policy varchar(20),
    feed_poll_interval_minutes integer
        CONSTRAINT sources_interval_bounds CHECK (feed_poll_interval_minutes BETWEEN 15 AND 1440),
    -- How the site is read.
    selectors jsonb,
    article_url_patterns text[] NOT NULL DEFAULT '{}',
    external_links boolean NOT NULL DEFAULT false,
    max_depth smallint NOT NULL DEFAULT 2 CONSTRAINT sources_max_depth CHECK (max_depth BETWEEN 0 AND 10),
    page_budget integer CONSTRAINT sources_page_budget CHECK (page_budget BETWEEN 1 AND 1000000),
    min_delay_ms integer CONSTRAINT sources_min_delay CHECK (min_delay_ms BETWEEN 0 AND 3600000),
    priority smallint NOT NULL DEFAULT 5 CONSTRAINT sources_priority CHECK (priority BETWEEN 1 AND 10),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT sources_something_to_follow CHECK (feed_url_key IS NOT NULL OR url_key IS NOT NULL),
    CONSTRAINT sources_feed_with_key CHECK ((feed_url IS NULL) = (feed_url_key IS NULL)),
    CONSTRAINT sources_url_with_key CHECK (url_key IS NULL OR url IS NOT NULL)
);

-- A name without case, spaces and punctuation, to find two spellings of one name.
CREATE FUNCTION plain_name(name text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN lower(regexp_replace(name, '[^[:alnum:]]+', '', 'g'));

-- One source per site without a feed; any number of feeds of the same site.
CREATE UNIQUE INDEX sources_url_key ON sources (url_key) WHERE feed_url_key IS NULL;
-- Finds a feed that moved, whose key is that of its first URL. A hash index: a URL may be too long for a B-tree.
CREATE INDEX sources_feed_url ON sources USING hash (feed_url);
CREATE INDEX sources_by_name ON sources (lower(name), id);
CREATE INDEX sources_by_plain_name ON sources (plain_name(name));
CREATE INDEX sources_by_category ON sources (category, id) WHERE category IS NOT NULL;
CREATE INDEX sources_by_mode ON sources (ingestion_mode, id);
CREATE INDEX sources_by_submitter ON sources (submitted_by) WHERE submitted_by IS NOT NULL;
CREATE INDEX sources_custom ON sources (id) WHERE NOT is_system;
CREATE INDEX sources_suggested ON sources (moderation_status, id) WHERE moderation_status IS NOT NULL;
CREATE INDEX sources_feed_disabled ON sources (id) WHERE feed_disabled_at IS NOT NULL;
CREATE INDEX sources_disabled ON sources (id) WHERE NOT enabled;
CREATE INDEX sources_critical ON sources (id) WHERE is_critical;

CREATE FUNCTION sources_keep_ids() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO source_ids (id) SELECT id FROM added;
    RETURN NULL;
END
$$;

CREATE FUNCTION sources_mark_removed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE source_ids SET removed_at = now() FROM removed WHERE source_ids.id = removed.id;
    RETURN NULL;
END
$$;

CREATE FUNCTION note_inactive_since() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    BEGIN
        NEW.inactive_since := CASE WHEN NOT NEW.enabled THEN now() END;
        RETURN NEW;
    END
    $$;

CREATE TRIGGER sources_touch_updated_at
    BEFORE UPDATE ON sources
    FOR EACH ROW EXECUTE FUNCTION touch_updated_at();
CREATE TRIGGER sources_inactive_on_insert
    BEFORE INSERT ON sources
    FOR EACH ROW WHEN (NOT NEW.enabled) EXECUTE FUNCTION note_inactive_since();
CREATE TRIGGER sources_inactive_on_update
    BEFORE UPDATE OF enabled ON sources
    FOR EACH ROW WHEN (OLD.enabled IS DISTINCT FROM NEW.enabled) EXECUTE FUNCTION note_inactive_since();
CREATE TRIGGER sources_keep_ids
    AFTER INSERT ON sources
    REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION sources_keep_ids();
CREATE TRIGGER sources_mark_removed
    AFTER DELETE ON sources
    REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION sources_mark_removed();

-- Feeds that were found for a source whose own feed is gone, or for a page; a user confirms one.
CREATE TABLE source_suggestions (
    source_id uuid NOT NULL REFERENCES sources ON DELETE CASCADE,
    feed_url text NOT NULL,
    title text NOT NULL,
    entry_count integer NOT NULL,
    found_at timestamptz NOT NULL,
    PRIMARY KEY (source_id, feed_url)
);

-- Decisions of an operator or a site about a feed whose source was deleted with its last subscription. They apply again
-- when the feed is added again. Contains no id of a source or a user.
CREATE TABLE feed_holds (
    feed_url_key bytea PRIMARY KEY,
    is_disabled boolean NOT NULL,  -- the whole source
    disabled_at timestamptz,  -- an operator disabled the feed
    disable_reason text,
    disabled_until timestamptz,
    asked_until timestamptz  -- the site's Retry-After
);


-- Moderation

-- A user's suggestion. The source takes its name, category and interval when it is approved.
CREATE TABLE submissions (
    source_id uuid PRIMARY KEY REFERENCES sources ON DELETE CASCADE,
    user_id uuid NOT NULL REFERENCES user_ids ON DELETE CASCADE,
    name text NOT NULL CONSTRAINT submissions_name_length CHECK (length(name) BETWEEN 1 AND 255),
    category text CONSTRAINT submissions_category_length CHECK (length(category) BETWEEN 1 AND 100),
    interval_minutes integer CONSTRAINT submissions_interval_bounds CHECK (interval_minutes BETWEEN 15 AND 1440),
    host text NOT NULL,
    sample jsonb NOT NULL,  -- the feed's entries when it was suggested
    submitted_at timestamptz NOT NULL,
    -- NULL: no moderator has decided. A source of a trusted user is enabled before that.
    decided_at timestamptz,
    decided_by uuid REFERENCES user_ids ON DELETE SET NULL,
    decided_by_name text,
    reason text CONSTRAINT submissions_reason_length CHECK (length(reason) BETWEEN 1 AND 500)
);

CREATE INDEX submissions_by_user ON submissions (user_id, submitted_at DESC);
CREATE INDEX submissions_undecided ON submissions (submitted_at, source_id) WHERE decided_at IS NULL;
CREATE INDEX submissions_decided ON submissions (decided_at DESC, source_id DESC) WHERE decided_at IS NOT NULL;
CREATE INDEX submissions_decided_by ON submissions (decided_by) WHERE decided_by IS NOT NULL;

-- Each with its subdomains.
CREATE TABLE blocked_domains (
    domain text PRIMARY KEY CONSTRAINT blocked_domains_length CHECK (length(domain) BETWEEN 1 AND 253),
    reason text NOT NULL CONSTRAINT blocked_domains_reason_length CHECK (length(reason) BETWEEN 1 AND 500),
    blocked_by uuid REFERENCES user_ids ON DELETE SET NULL,
    blocked_by_name text NOT NULL,
    blocked_at timestamptz NOT NULL
);

CREATE INDEX blocked_domains_by_person ON blocked_domains (blocked_by) WHERE blocked_by IS NOT NULL;

ALTER TABLE blocked_domains ENABLE ROW LEVEL SECURITY;
