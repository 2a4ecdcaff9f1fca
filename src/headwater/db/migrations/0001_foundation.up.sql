-- What everything else stands on: the role of a person's request, the sources, their polling state, the articles.

-- Roles belong to the whole server, and several databases of one server may be Headwater's.
DO $$
BEGIN
    -- `headwater migrate up` makes it first (db/rights.py), with the other roles, or says what an administrator is to run.
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'headwater_person') THEN
        CREATE ROLE headwater_person NOLOGIN NOBYPASSRLS;
    END IF;
END
$$;

GRANT USAGE ON SCHEMA public TO headwater_person;

-- Who the transaction speaks for: set by Database.as_user, read by the policies of every table that belongs to a person.
CREATE FUNCTION current_person() RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('headwater.user_id', true), '')::uuid;

CREATE FUNCTION touch_updated_at() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    NEW.updated_at = now();
    RETURN NEW;
END
$$;

-- What we follow: one row per feed, however many people read it.
CREATE TABLE sources (
    id uuid PRIMARY KEY,
    name text NOT NULL CONSTRAINT sources_name_length CHECK (length(name) BETWEEN 1 AND 255),
    url text,
    feed_url text NOT NULL,
    feed_url_key bytea NOT NULL CONSTRAINT sources_feed_url_key UNIQUE,
    enabled boolean NOT NULL DEFAULT true,
    feed_disabled_at timestamptz,
    feed_disable_reason varchar(20),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TRIGGER sources_touch_updated_at
    BEFORE UPDATE ON sources
    FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- How polling a source's feed goes. A schedule is never NULL; a lease says that somebody is polling it now.
CREATE TABLE feed_state (
    source_id uuid PRIMARY KEY REFERENCES sources ON DELETE CASCADE,
    feed_url text NOT NULL,
    next_poll_at timestamptz NOT NULL,
    leased_until timestamptz,
    lease uuid,
    last_polled_at timestamptz,
    last_succeeded_at timestamptz,
    last_etag text,
    last_modified text,
    last_item_count integer NOT NULL DEFAULT 0,
    article_count integer NOT NULL DEFAULT 0,
    consecutive_errors integer NOT NULL DEFAULT 0,
    last_error text,
    last_error_type varchar(20),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);  -- every poll rewrites the row: leave room for it on its page

CREATE INDEX feed_state_due ON feed_state (next_poll_at);

CREATE TRIGGER feed_state_touch_updated_at
    BEFORE UPDATE ON feed_state
    FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- The one record of a URL, whichever feeds list it.
CREATE TABLE articles (
    id uuid PRIMARY KEY,
    url text NOT NULL,
    url_key bytea NOT NULL CONSTRAINT articles_url_key UNIQUE,
    title text NOT NULL,
    author text,
    summary text,
    content text,
    published_at timestamptz,
    seen_at timestamptz NOT NULL,
    -- What a list is ordered by. An entry dated in the future counts from when it was seen, so it cannot stick on top.
    listed_at timestamptz NOT NULL GENERATED ALWAYS AS (least(published_at, seen_at)) STORED,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX articles_listed ON articles (listed_at DESC, id DESC);

CREATE TRIGGER articles_touch_updated_at
    BEFORE UPDATE ON articles
    FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- Which sources list an article, and under which id.
CREATE TABLE article_sources (
    article_id uuid NOT NULL REFERENCES articles ON DELETE CASCADE,
    source_id uuid NOT NULL REFERENCES sources ON DELETE CASCADE,
    entry_id text NOT NULL,
    seen_at timestamptz NOT NULL,
    PRIMARY KEY (article_id, source_id)
);

CREATE INDEX article_sources_by_source ON article_sources (source_id, article_id);
