-- Articles: the record of each URL, the sources that list it, its text, and the changes for the search index.
--
-- `articles`, `article_sources`, `content` and `marks` are partitioned by month through the article's id, which starts
-- with a time (0007_months). No foreign key refers to articles: dropping a month would check every other.

-- The first id of a time. An id starts with 48 bits of milliseconds.
CREATE FUNCTION first_id_at(at timestamptz) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;

CREATE FUNCTION first_id_of(month date) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN first_id_at(month::timestamp AT TIME ZONE 'UTC');


-- Articles

-- The article of each URL. A row outlives the article: an expired article does not return while feeds still list it.
CREATE TABLE article_urls (
    url_key bytea PRIMARY KEY,
    article_id uuid NOT NULL
);

-- What the article's own site or its page says about it.
CREATE TABLE articles (
    id uuid PRIMARY KEY,
    url text NOT NULL,
    url_key bytea NOT NULL,
    title text NOT NULL,
    author text,
    summary text,
    content text,
    published_at timestamptz,
    seen_at timestamptz NOT NULL,
    -- The order of lists. An entry dated in the future counts from when it was seen, so that it does not stay first.
    listed_at timestamptz NOT NULL GENERATED ALWAYS AS (least(published_at, seen_at)) STORED,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    is_from_own_site boolean NOT NULL DEFAULT true,  -- whether a feed of the article's own site has listed it
    number bigint NOT NULL
) PARTITION BY RANGE (id);

CREATE INDEX articles_listed ON articles (listed_at DESC, id DESC);
CREATE INDEX articles_number ON articles (number);
CREATE INDEX articles_titles ON articles USING gin (to_tsvector('simple', title));

-- `number` is a positive 64-bit number for client protocols that do not accept a UUID. The upper 42 bits are the
-- milliseconds of the id, so that a number leads to one month; the lower 21 are a sequence, so that no two are equal.
CREATE SEQUENCE article_numbers AS integer MINVALUE 1 MAXVALUE 2097151 CYCLE CACHE 100;

CREATE FUNCTION article_milliseconds(id uuid) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN ('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint & 4398046511103;

-- The first and last id of the millisecond of a number.
CREATE FUNCTION first_id_of_number(number bigint) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (lpad(to_hex(number >> 21), 12, '0') || repeat('0', 20))::uuid;

CREATE FUNCTION last_id_of_number(number bigint) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (lpad(to_hex(number >> 21), 12, '0') || repeat('f', 20))::uuid;

CREATE FUNCTION number_article() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    NEW.number := article_milliseconds(NEW.id) << 21 | nextval('article_numbers');
    RETURN NEW;
END
$$;

-- Deletes an article that is deleted by itself, not with its month, everywhere.
CREATE FUNCTION articles_forget_with() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    DELETE FROM content USING forgotten WHERE content.article_id = forgotten.id;
    DELETE FROM article_sources USING forgotten WHERE article_sources.article_id = forgotten.id;
    DELETE FROM marks USING forgotten WHERE marks.article_id = forgotten.id;
    DELETE FROM article_urls
    USING forgotten
    WHERE article_urls.url_key = forgotten.url_key AND article_urls.article_id = forgotten.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER articles_touch_updated_at
    BEFORE UPDATE ON articles
    FOR EACH ROW EXECUTE FUNCTION touch_updated_at();
CREATE TRIGGER articles_number
    BEFORE INSERT ON articles
    FOR EACH ROW WHEN (NEW.number IS NULL) EXECUTE FUNCTION number_article();
CREATE TRIGGER articles_forget_with
    AFTER DELETE ON articles
    REFERENCING OLD TABLE AS forgotten
    FOR EACH STATEMENT EXECUTE FUNCTION articles_forget_with();

-- The sources that list an article, and what each says about it. The texts are NULL for a source of the article's own
-- site: those are in `articles`.
CREATE TABLE article_sources (
    article_id uuid NOT NULL,
    source_id uuid NOT NULL REFERENCES source_ids ON DELETE CASCADE,
    entry_id text NOT NULL,
    seen_at timestamptz NOT NULL,
    listed_at timestamptz NOT NULL,  -- repeated here, so that a source's newest articles need no join
    title text,
    author text,
    summary text,
    content text,
    published_at timestamptz,
    PRIMARY KEY (article_id, source_id)
) PARTITION BY RANGE (article_id);

CREATE INDEX article_sources_by_entry ON article_sources (source_id, entry_id);
CREATE INDEX article_sources_newest ON article_sources (source_id, listed_at DESC, article_id DESC);
CREATE INDEX article_sources_latest ON article_sources (listed_at DESC, article_id DESC, source_id);
CREATE INDEX article_sources_titles ON article_sources USING gin (to_tsvector('simple', title)) WHERE title IS NOT NULL;


-- Content: the text of the article's page, for full-text search. Equal texts are stored once, with the first article.

-- The text search configuration of a language; 'simple' for one that PostgreSQL does not know.
CREATE FUNCTION content_config(language text) RETURNS regconfig
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE lower(split_part(language, '-', 1))
        WHEN 'ar' THEN 'pg_catalog.arabic'::regconfig
        WHEN 'da' THEN 'pg_catalog.danish'::regconfig
        WHEN 'de' THEN 'pg_catalog.german'::regconfig
        WHEN 'el' THEN 'pg_catalog.greek'::regconfig
        WHEN 'en' THEN 'pg_catalog.english'::regconfig
        WHEN 'es' THEN 'pg_catalog.spanish'::regconfig
        WHEN 'fi' THEN 'pg_catalog.finnish'::regconfig
        WHEN 'fr' THEN 'pg_catalog.french'::regconfig
        WHEN 'hu' THEN 'pg_catalog.hungarian'::regconfig
        WHEN 'id' THEN 'pg_catalog.indonesian'::regconfig
        WHEN 'it' THEN 'pg_catalog.italian'::regconfig
        WHEN 'nb' THEN 'pg_catalog.norwegian'::regconfig
        WHEN 'nl' THEN 'pg_catalog.dutch'::regconfig
        WHEN 'no' THEN 'pg_catalog.norwegian'::regconfig
        WHEN 'pt' THEN 'pg_catalog.portuguese'::regconfig
        WHEN 'ro' THEN 'pg_catalog.romanian'::regconfig
        WHEN 'ru' THEN 'pg_catalog.russian'::regconfig
        WHEN 'sv' THEN 'pg_catalog.swedish'::regconfig
        WHEN 'tr' THEN 'pg_catalog.turkish'::regconfig
        ELSE 'pg_catalog.simple'::regconfig
    END;

-- The query for these words in each language that PostgreSQL knows; languages with equal queries share a row.
CREATE FUNCTION search_queries(words text) RETURNS TABLE (query tsquery, configs regconfig[])
    LANGUAGE sql STABLE PARALLEL SAFE ROWS 5
    BEGIN ATOMIC
        SELECT websearch_to_tsquery(config, words), array_agg(config)
        FROM unnest(ARRAY[
            'arabic', 'danish', 'dutch', 'english', 'finnish', 'french', 'german', 'greek', 'hungarian', 'indonesian',
            'italian', 'norwegian', 'portuguese', 'romanian', 'russian', 'simple', 'spanish', 'swedish', 'turkish'
        ]::regconfig[]) AS config
        WHERE numnode(websearch_to_tsquery(config, words)) > 0
        GROUP BY 1;
    END;

CREATE TABLE content (
    article_id uuid PRIMARY KEY,
    url text NOT NULL,
    url_key bytea NOT NULL,
    title text,
    text text,
    html text,
    description text,
    keywords text[] NOT NULL,
    authors text[] NOT NULL,
    published_at timestamptz,
    canonical_url text,
    section text,
    language varchar(35),
    image_url text,
    open_graph jsonb NOT NULL,
    linked_data jsonb NOT NULL,
    origins jsonb NOT NULL,
    word_count integer NOT NULL,
    content_hash bytea,
    simhash bigint,
    -- The article with the same text: this row then has no text of its own.
    duplicate_of uuid,
    near_duplicate_of uuid,
    richness integer NOT NULL,
    version integer NOT NULL DEFAULT 1,
    extracted_at timestamptz NOT NULL,
    -- The beginning of a long text: a tsvector is limited to a megabyte.
    search tsvector GENERATED ALWAYS AS (
        CASE WHEN duplicate_of IS NULL THEN
            setweight(to_tsvector(content_config(language), coalesce(title, '')), 'A')
            || setweight(to_tsvector(content_config(language), coalesce(description, '')), 'B')
            || to_tsvector(content_config(language), left(coalesce(text, ''), 100000))
        END
    ) STORED,
    CONSTRAINT content_own_text_or_anothers CHECK (duplicate_of IS NULL OR text IS NULL)
) PARTITION BY RANGE (article_id);

CREATE INDEX content_search ON content USING gin (search);
CREATE INDEX content_originals ON content (content_hash) WHERE duplicate_of IS NULL;
CREATE INDEX content_duplicates ON content (duplicate_of) WHERE duplicate_of IS NOT NULL;
CREATE INDEX content_near_duplicates ON content (near_duplicate_of) WHERE near_duplicate_of IS NOT NULL;
-- Simhashes that differ in at most three bits are equal in one of four quarters.
CREATE INDEX content_simhash_1 ON content (((simhash >> 48) & 65535)) WHERE duplicate_of IS NULL;
CREATE INDEX content_simhash_2 ON content (((simhash >> 32) & 65535)) WHERE duplicate_of IS NULL;
CREATE INDEX content_simhash_3 ON content (((simhash >> 16) & 65535)) WHERE duplicate_of IS NULL;
CREATE INDEX content_simhash_4 ON content ((simhash & 65535)) WHERE duplicate_of IS NULL;

-- When an article with a shared text is deleted, the first article that shares the text becomes its owner.
CREATE FUNCTION content_hand_on_deleted() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    WITH heirs AS MATERIALIZED (
        SELECT DISTINCT ON (forgotten.article_id) forgotten.article_id AS original, content.article_id AS heir,
            forgotten.text, forgotten.html
        FROM forgotten
        JOIN content ON content.duplicate_of = forgotten.article_id
        ORDER BY forgotten.article_id, content.article_id
    ), owned AS (
        UPDATE content
        SET duplicate_of = NULL, text = heirs.text, html = heirs.html
        FROM heirs
        WHERE content.article_id = heirs.heir
    )
    UPDATE content
    SET duplicate_of = heirs.heir
    FROM heirs
    WHERE content.duplicate_of = heirs.original AND content.article_id <> heirs.heir;
    UPDATE content
    SET near_duplicate_of = NULL
    FROM forgotten
    WHERE content.near_duplicate_of = forgotten.article_id;
    RETURN NULL;
END
$$;

-- The same when its text is replaced by another.
CREATE FUNCTION content_hand_on() RETURNS trigger
    LANGUAGE plpgsql AS $$
DECLARE
    heir uuid;
BEGIN
    SELECT article_id INTO heir
    FROM content
    WHERE duplicate_of = OLD.article_id
    ORDER BY article_id
    LIMIT 1;
    IF heir IS NOT NULL THEN
        UPDATE content SET duplicate_of = NULL, text = OLD.text, html = OLD.html WHERE article_id = heir;
        UPDATE content SET duplicate_of = heir WHERE duplicate_of = OLD.article_id;
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER content_hand_on_deleted
    AFTER DELETE ON content
    REFERENCING OLD TABLE AS forgotten
    FOR EACH STATEMENT EXECUTE FUNCTION content_hand_on_deleted();
CREATE TRIGGER content_hand_on_replaced
    BEFORE UPDATE OF content_hash ON content
    FOR EACH ROW WHEN (OLD.duplicate_of IS NULL AND OLD.content_hash IS DISTINCT FROM NEW.content_hash)
    EXECUTE FUNCTION content_hand_on();


-- The outbox: changes that the search index has not received yet

-- One row per URL, since the index has one document per URL; a later change replaces an earlier one. No foreign key:
-- the deletion of an article is sent when the article no longer exists.
CREATE TABLE outbox (
    url_key bytea PRIMARY KEY,
    article_id uuid NOT NULL,
    version bigint NOT NULL,
    queued_version bigint NOT NULL,  -- the document's version in the index: when this was queued, in microseconds
    action varchar(10) NOT NULL CONSTRAINT outbox_action CHECK (action IN ('index', 'delete')),
    queued_at timestamptz NOT NULL,
    ready_at timestamptz NOT NULL,
    lease uuid,
    attempts integer NOT NULL DEFAULT 0,
    reason text  -- why the index refused it; such a row is never ready
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);  -- a claim reads dead rows first: vacuum them early

CREATE INDEX outbox_ready ON outbox (ready_at);
CREATE INDEX outbox_waiting ON outbox (queued_at) WHERE reason IS NULL;
CREATE INDEX outbox_dead ON outbox (queued_at) WHERE reason IS NOT NULL;

-- No row: there is no index, and nothing is queued. `target` is the index's own id: an index that was created again has
-- another, and receives everything again. Content from before `since` is queued in batches, up to `filled_to`.
CREATE TABLE outbox_listening (
    is_only boolean PRIMARY KEY DEFAULT true CONSTRAINT outbox_listening_one_row CHECK (is_only),
    target text NOT NULL,
    since xid8 NOT NULL,
    filled_to uuid,
    filled_at timestamptz
);

-- A trigger, since articles are deleted in several ways, mostly by a cascade.
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
