-- One person's view of the stream: what they follow, what they have read and starred, their summaries.

-- Who asked for a source. What an operator curates is the system's; what only a reader wanted goes when nobody does.
ALTER TABLE sources
    ADD COLUMN is_system boolean NOT NULL DEFAULT true,
    ADD COLUMN submitted_by uuid REFERENCES users ON DELETE SET NULL;
CREATE INDEX sources_by_submitter ON sources (submitted_by) WHERE submitted_by IS NOT NULL;
CREATE INDEX sources_custom ON sources (id) WHERE NOT is_system;

-- A source's newest articles, without a look at the articles themselves.
ALTER TABLE article_sources ADD COLUMN listed_at timestamptz;
UPDATE article_sources SET listed_at = articles.listed_at FROM articles WHERE articles.id = article_id;
ALTER TABLE article_sources ALTER COLUMN listed_at SET NOT NULL;
CREATE INDEX article_sources_newest ON article_sources (source_id, listed_at DESC, article_id DESC);
CREATE INDEX article_sources_latest ON article_sources (listed_at DESC, article_id DESC, source_id);

-- Titles of feeds whose pages were never fetched are found too.
CREATE INDEX articles_titles ON articles USING gin (to_tsvector('simple', title));

-- What words become in each language that PostgreSQL knows; languages that make the same of them share a row.
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

CREATE TABLE subscriptions (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    source_id uuid NOT NULL REFERENCES sources ON DELETE CASCADE,
    name text NOT NULL CONSTRAINT subscriptions_name_length CHECK (length(name) BETWEEN 1 AND 255),
    category text CONSTRAINT subscriptions_category_length CHECK (length(category) BETWEEN 1 AND 100),
    -- All that was listed up to then is read, save what is marked otherwise: "mark all read" is one row.
    read_until timestamptz NOT NULL DEFAULT '-infinity',
    created_at timestamptz NOT NULL,
    CONSTRAINT subscriptions_one_per_source UNIQUE (user_id, source_id)
);

CREATE INDEX subscriptions_by_source ON subscriptions (source_id);

-- What a person did with an article. No row: nothing yet.
CREATE TABLE marks (
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    article_id uuid NOT NULL REFERENCES articles ON DELETE CASCADE,
    is_read boolean,  -- NULL: as `read_until` says
    read_at timestamptz,
    starred_at timestamptz,
    PRIMARY KEY (user_id, article_id)
);

CREATE INDEX marks_by_article ON marks (article_id, user_id);
CREATE INDEX marks_read ON marks (user_id, article_id) WHERE is_read;  -- lists skip what was read without a look at it
CREATE INDEX marks_unread ON marks (user_id) WHERE NOT is_read;
CREATE INDEX marks_starred ON marks (user_id, starred_at DESC, article_id DESC) WHERE starred_at IS NOT NULL;

-- An article that comes late, dated before what its readers have marked all read, is unread all the same.
CREATE FUNCTION marks_keep_late_unread() RETURNS trigger
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

CREATE TABLE summaries (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    status varchar(10) NOT NULL CONSTRAINT summaries_status CHECK (status IN ('making', 'ready', 'failed')),
    content text NOT NULL DEFAULT '',
    model text NOT NULL DEFAULT '',
    article_count integer NOT NULL DEFAULT 0,
    prompt_tokens integer,
    completion_tokens integer,
    cost numeric(14, 8),  -- in credits of the service, where it tells
    error text,
    created_at timestamptz NOT NULL,
    finished_at timestamptz
);

-- A second click does not buy a second one.
CREATE UNIQUE INDEX summaries_one_in_the_making ON summaries (user_id) WHERE status = 'making';
CREATE INDEX summaries_by_user ON summaries (user_id, created_at DESC);

ALTER TABLE subscriptions ENABLE ROW LEVEL SECURITY;
ALTER TABLE marks ENABLE ROW LEVEL SECURITY;
ALTER TABLE summaries ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON subscriptions TO headwater_person USING (user_id = current_person());
CREATE POLICY own ON marks TO headwater_person USING (user_id = current_person());
CREATE POLICY own ON summaries TO headwater_person USING (user_id = current_person());
GRANT SELECT, INSERT, UPDATE, DELETE ON subscriptions, marks, summaries TO headwater_person;

-- What everybody shares is read by all and written by nobody's request.
GRANT SELECT ON sources, feed_state, articles, article_sources, content TO headwater_person;
