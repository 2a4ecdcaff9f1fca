DROP INDEX events_by_time;
DROP TABLE retention_state;

ALTER TABLE articles SET SCHEMA months;
ALTER TABLE article_sources SET SCHEMA months;
ALTER TABLE content SET SCHEMA months;
ALTER TABLE marks SET SCHEMA months;

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
    listed_at timestamptz NOT NULL GENERATED ALWAYS AS (least(published_at, seen_at)) STORED,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE article_sources (
    article_id uuid NOT NULL REFERENCES articles ON DELETE CASCADE,
    source_id uuid NOT NULL REFERENCES sources ON DELETE CASCADE,
    entry_id text NOT NULL,
    seen_at timestamptz NOT NULL,
    listed_at timestamptz NOT NULL,
    PRIMARY KEY (article_id, source_id)
);

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
    duplicate_of uuid REFERENCES content ON DELETE SET NULL,
    near_duplicate_of uuid REFERENCES content ON DELETE SET NULL,
    richness integer NOT NULL,
    version integer NOT NULL DEFAULT 1,
    extracted_at timestamptz NOT NULL,
    search tsvector GENERATED ALWAYS AS (
        CASE WHEN duplicate_of IS NULL THEN
            setweight(to_tsvector(content_config(language), coalesce(title, '')), 'A')
            || setweight(to_tsvector(content_config(language), coalesce(description, '')), 'B')
            || to_tsvector(content_config(language), left(coalesce(text, ''), 100000))
        END
    ) STORED,
    CONSTRAINT content_own_text_or_anothers CHECK (duplicate_of IS NULL OR text IS NULL)
);

CREATE TABLE marks (
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    article_id uuid NOT NULL REFERENCES articles ON DELETE CASCADE,
    is_read boolean,
    read_at timestamptz,
    starred_at timestamptz,
    PRIMARY KEY (user_id, article_id)
);

INSERT INTO articles (
    id, url, url_key, title, author, summary, content, published_at, seen_at, created_at, updated_at
)
SELECT id, url, url_key, title, author, summary, content, published_at, seen_at, created_at, updated_at
FROM months.articles;
INSERT INTO article_sources (article_id, source_id, entry_id, seen_at, listed_at)
SELECT article_id, source_id, entry_id, seen_at, listed_at
FROM months.article_sources;
INSERT INTO content (
    article_id, url, url_key, title, text, html, description, keywords, authors, published_at, canonical_url, section,
    language, image_url, open_graph, linked_data, origins, word_count, content_hash, simhash, duplicate_of,
    near_duplicate_of, richness, version, extracted_at
)
SELECT article_id, url, url_key, title, text, html, description, keywords, authors, published_at, canonical_url, section,
    language, image_url, open_graph, linked_data, origins, word_count, content_hash, simhash, duplicate_of,
    near_duplicate_of, richness, version, extracted_at
FROM months.content;
INSERT INTO marks (user_id, article_id, is_read, read_at, starred_at)
SELECT user_id, article_id, is_read, read_at, starred_at
FROM months.marks;

DROP FUNCTION begin_article_months, make_article_months, let_article_month_go, hand_on_texts, article_months, columns_of, article_tables_gone,
    take_gone_content, drop_gone_table, analyze_articles;
DROP TABLE months.marks, months.content, months.article_sources, months.articles;
DROP SCHEMA months CASCADE;
DROP TABLE article_urls;
DROP FUNCTION first_id_of, first_id_at, articles_forget_with, content_hand_on_deleted;

CREATE INDEX articles_listed ON articles (listed_at DESC, id DESC);
CREATE INDEX articles_titles ON articles USING gin (to_tsvector('simple', title));
CREATE INDEX article_sources_by_entry ON article_sources (source_id, entry_id);
CREATE INDEX article_sources_newest ON article_sources (source_id, listed_at DESC, article_id DESC);
CREATE INDEX article_sources_latest ON article_sources (listed_at DESC, article_id DESC, source_id);
CREATE INDEX content_search ON content USING gin (search);
CREATE INDEX content_originals ON content (content_hash) WHERE duplicate_of IS NULL;
CREATE INDEX content_duplicates ON content (duplicate_of) WHERE duplicate_of IS NOT NULL;
CREATE INDEX content_near_duplicates ON content (near_duplicate_of) WHERE near_duplicate_of IS NOT NULL;
CREATE INDEX content_simhash_1 ON content (((simhash >> 48) & 65535)) WHERE duplicate_of IS NULL;
CREATE INDEX content_simhash_2 ON content (((simhash >> 32) & 65535)) WHERE duplicate_of IS NULL;
CREATE INDEX content_simhash_3 ON content (((simhash >> 16) & 65535)) WHERE duplicate_of IS NULL;
CREATE INDEX content_simhash_4 ON content ((simhash & 65535)) WHERE duplicate_of IS NULL;
CREATE INDEX marks_by_article ON marks (article_id, user_id);
CREATE INDEX marks_read ON marks (user_id, article_id) WHERE is_read;
CREATE INDEX marks_unread ON marks (user_id) WHERE NOT is_read;
CREATE INDEX marks_starred ON marks (user_id, starred_at DESC, article_id DESC) WHERE starred_at IS NOT NULL;

ALTER TABLE marks ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON marks TO headwater_person USING (user_id = current_person());
GRANT SELECT, INSERT, UPDATE, DELETE ON marks TO headwater_person;
GRANT SELECT ON articles, article_sources, content TO headwater_person;

CREATE OR REPLACE FUNCTION content_hand_on() RETURNS trigger
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

CREATE TRIGGER articles_touch_updated_at
    BEFORE UPDATE ON articles
    FOR EACH ROW EXECUTE FUNCTION touch_updated_at();
CREATE OR REPLACE FUNCTION marks_keep_late_unread() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO marks (user_id, article_id, is_read)
    SELECT DISTINCT user_id, article_id, false
    FROM linked
    JOIN subscriptions USING (source_id)
    WHERE listed_at <= read_until
        AND seen_at > read_until
        AND NOT EXISTS (  -- unless another of their feeds has brought it before
            SELECT
            FROM article_sources AS known
            JOIN subscriptions AS theirs USING (source_id)
            WHERE known.article_id = linked.article_id
                AND known.seen_at < linked.seen_at
                AND theirs.user_id = subscriptions.user_id
        )
    ON CONFLICT (user_id, article_id) DO NOTHING;
    RETURN NULL;
END
$$;

CREATE TRIGGER article_sources_keep_late_unread
    AFTER INSERT ON article_sources
    REFERENCING NEW TABLE AS linked
    FOR EACH STATEMENT EXECUTE FUNCTION marks_keep_late_unread();
CREATE TRIGGER content_queue_forgotten
    AFTER DELETE ON content
    REFERENCING OLD TABLE AS forgotten
    FOR EACH STATEMENT EXECUTE FUNCTION queue_forgotten_content();
CREATE TRIGGER content_hand_on_deleted
    BEFORE DELETE ON content
    FOR EACH ROW WHEN (OLD.duplicate_of IS NULL AND OLD.content_hash IS NOT NULL)
    EXECUTE FUNCTION content_hand_on();
CREATE TRIGGER content_hand_on_replaced
    BEFORE UPDATE OF content_hash ON content
    FOR EACH ROW WHEN (OLD.duplicate_of IS NULL AND OLD.content_hash IS DISTINCT FROM NEW.content_hash)
    EXECUTE FUNCTION content_hand_on();
