-- The text of articles, full-text searchable. The text lives once: under the first URL that brought it.

-- How a language's words are reduced for the search; 'simple' for those PostgreSQL does not know.
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

CREATE TABLE content (
    article_id uuid PRIMARY KEY REFERENCES articles ON DELETE CASCADE,
    url text NOT NULL,
    url_key bytea NOT NULL CONSTRAINT content_url_key UNIQUE,
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
    -- Whose text this is: then it has none of its own.
    duplicate_of uuid REFERENCES content ON DELETE SET NULL,
    near_duplicate_of uuid REFERENCES content ON DELETE SET NULL,
    richness integer NOT NULL,
    version integer NOT NULL DEFAULT 1,
    extracted_at timestamptz NOT NULL,
    -- Of a long text its beginning: a tsvector holds no more than a megabyte.
    search tsvector GENERATED ALWAYS AS (
        CASE WHEN duplicate_of IS NULL THEN
            setweight(to_tsvector(content_config(language), coalesce(title, '')), 'A')
            || setweight(to_tsvector(content_config(language), coalesce(description, '')), 'B')
            || to_tsvector(content_config(language), left(coalesce(text, ''), 100000))
        END
    ) STORED,
    CONSTRAINT content_own_text_or_anothers CHECK (duplicate_of IS NULL OR text IS NULL)
);

CREATE INDEX content_search ON content USING gin (search);
CREATE INDEX content_originals ON content (content_hash) WHERE duplicate_of IS NULL;
CREATE INDEX content_duplicates ON content (duplicate_of) WHERE duplicate_of IS NOT NULL;
CREATE INDEX content_near_duplicates ON content (near_duplicate_of) WHERE near_duplicate_of IS NOT NULL;
-- Simhashes that differ in three bits at most are equal in one of four quarters.
CREATE INDEX content_simhash_1 ON content (((simhash >> 48) & 65535)) WHERE duplicate_of IS NULL;
CREATE INDEX content_simhash_2 ON content (((simhash >> 32) & 65535)) WHERE duplicate_of IS NULL;
CREATE INDEX content_simhash_3 ON content (((simhash >> 16) & 65535)) WHERE duplicate_of IS NULL;
CREATE INDEX content_simhash_4 ON content ((simhash & 65535)) WHERE duplicate_of IS NULL;

-- A text that goes, or gives way to another, is handed on to the first that shares it.
CREATE FUNCTION content_hand_on() RETURNS trigger
    LANGUAGE plpgsql AS $$
DECLARE
    heir uuid;
BEGIN
    -- Not one whose article is gone: it goes with the same statement.
    SELECT article_id INTO heir
    FROM content
    WHERE duplicate_of = OLD.article_id AND EXISTS (SELECT FROM articles WHERE id = content.article_id)
    ORDER BY article_id
    LIMIT 1;
    IF heir IS NOT NULL THEN
        UPDATE content SET duplicate_of = NULL, text = OLD.text, html = OLD.html WHERE article_id = heir;
        UPDATE content SET duplicate_of = heir WHERE duplicate_of = OLD.article_id;
    END IF;
    RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END
$$;

CREATE TRIGGER content_hand_on_deleted
    BEFORE DELETE ON content
    FOR EACH ROW WHEN (OLD.duplicate_of IS NULL AND OLD.content_hash IS NOT NULL)
    EXECUTE FUNCTION content_hand_on();

CREATE TRIGGER content_hand_on_replaced
    BEFORE UPDATE OF content_hash ON content
    FOR EACH ROW WHEN (OLD.duplicate_of IS NULL AND OLD.content_hash IS DISTINCT FROM NEW.content_hash)
    EXECUTE FUNCTION content_hand_on();
