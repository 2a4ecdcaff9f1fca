-- The library of each user: subscriptions, marks, summaries, imports, and consent to analytics.


-- Subscriptions and marks

CREATE TABLE subscriptions (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES user_ids ON DELETE CASCADE,
    source_id uuid NOT NULL REFERENCES sources ON DELETE CASCADE,
    name text NOT NULL CONSTRAINT subscriptions_name_length CHECK (length(name) BETWEEN 1 AND 255),
    category text CONSTRAINT subscriptions_category_length CHECK (length(category) BETWEEN 1 AND 100),
    -- Articles listed up to then are read, unless a mark says otherwise: "mark all read" updates one row.
    read_until timestamptz NOT NULL DEFAULT '-infinity',
    created_at timestamptz NOT NULL,
    CONSTRAINT subscriptions_one_per_source UNIQUE (user_id, source_id)
);

CREATE INDEX subscriptions_by_source ON subscriptions (source_id);

-- What a user did with an article. No row: nothing yet.
CREATE TABLE marks (
    user_id uuid NOT NULL REFERENCES user_ids ON DELETE CASCADE,
    article_id uuid NOT NULL,
    is_read boolean,  -- NULL: as `read_until` says
    read_at timestamptz,
    starred_at timestamptz,
    -- What a feed of another site said about the article when the user starred it: it stays when that feed is deleted.
    title text,
    author text,
    summary text,
    content text,
    published_at timestamptz,
    PRIMARY KEY (user_id, article_id)
) PARTITION BY RANGE (article_id);

CREATE INDEX marks_by_article ON marks (article_id, user_id);
CREATE INDEX marks_read ON marks (user_id, article_id) WHERE is_read;  -- lists skip read articles by the index alone
CREATE INDEX marks_unread ON marks (user_id) WHERE NOT is_read;
CREATE INDEX marks_starred ON marks (user_id, starred_at DESC, article_id DESC) WHERE starred_at IS NOT NULL;
CREATE INDEX marks_keeping ON marks (article_id) WHERE starred_at IS NOT NULL;  -- retention keeps these

-- An article that arrives late, dated before its readers' `read_until`, is unread for them. NOT EXISTS with OFFSET 0
-- looks up each article in its month: a join would read all of them.
CREATE FUNCTION marks_keep_late_unread() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    INSERT INTO marks (user_id, article_id, is_read)
    SELECT DISTINCT user_id, article_id, false
    FROM linked
    JOIN subscriptions USING (source_id)
    WHERE listed_at <= read_until
        AND seen_at > read_until
        AND NOT EXISTS (  -- unless another of their feeds listed it before
            SELECT
            FROM article_sources AS known
            JOIN subscriptions AS theirs USING (source_id)
            WHERE known.article_id = linked.article_id
                AND known.seen_at < linked.seen_at
                AND theirs.user_id = subscriptions.user_id
            OFFSET 0
        )
    ON CONFLICT (user_id, article_id) DO NOTHING;
    RETURN NULL;
END
$$;

-- An article that a user has read does not become unread when another of their feeds lists it later.
CREATE FUNCTION marks_keep_read() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    -- Most rows are of articles that the same statement inserted: no other feed has listed those.
    IF NOT EXISTS (SELECT FROM linked WHERE article_id < first_id_at(seen_at)) THEN
        RETURN NULL;
    END IF;
    INSERT INTO marks (user_id, article_id, is_read)
    SELECT DISTINCT subscriptions.user_id, linked.article_id, true
    FROM linked
    JOIN subscriptions USING (source_id)
    CROSS JOIN LATERAL (
        SELECT bool_and(known.listed_at <= theirs.read_until) AS is_read
        FROM article_sources AS known
        JOIN subscriptions AS theirs ON theirs.source_id = known.source_id
        WHERE known.article_id = linked.article_id
            AND known.source_id <> linked.source_id
            AND known.seen_at < linked.seen_at
            AND theirs.user_id = subscriptions.user_id
        OFFSET 0
    ) AS earlier
    WHERE linked.article_id < first_id_at(linked.seen_at)
        AND linked.listed_at > subscriptions.read_until
        AND earlier.is_read
    ORDER BY 1, 2
    ON CONFLICT (user_id, article_id) DO UPDATE SET is_read = true WHERE marks.is_read IS NULL;
    RETURN NULL;
END
$$;

CREATE TRIGGER article_sources_keep_late_unread
    AFTER INSERT ON article_sources
    REFERENCING NEW TABLE AS linked
    FOR EACH STATEMENT EXECUTE FUNCTION marks_keep_late_unread();
CREATE TRIGGER article_sources_keep_read
    AFTER INSERT ON article_sources
    REFERENCING NEW TABLE AS linked
    FOR EACH STATEMENT EXECUTE FUNCTION marks_keep_read();

-- What a user reads about an article: from its own site if they follow it, else from the feed of theirs that listed it
-- first, else from the feed they had when they starred it. All NULL: what `articles` says. Row-level security leaves
-- only the user's subscriptions and marks.
CREATE FUNCTION article_for_user(of_article uuid)
    RETURNS TABLE (title text, author text, summary text, content text, published_at timestamptz)
    LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
    BEGIN ATOMIC
        SELECT shown.title, shown.author, shown.summary, shown.content, shown.published_at
        FROM (
            SELECT listed.title, listed.author, listed.summary, listed.content, listed.published_at, listed.seen_at,
                listed.source_id, listed.title IS NOT NULL AS is_foreign, false AS is_starred
            -- OFFSET 0: look up by the article, however many feeds the user follows
            FROM (SELECT * FROM article_sources WHERE article_sources.article_id = of_article OFFSET 0) AS listed
            JOIN subscriptions USING (source_id)
            UNION ALL
            SELECT marks.title, marks.author, marks.summary, marks.content, marks.published_at, NULL, NULL, true, true
            FROM marks
            WHERE marks.article_id = of_article AND marks.starred_at IS NOT NULL
        ) AS shown
        ORDER BY shown.is_starred, shown.is_foreign, shown.seen_at, shown.source_id
        LIMIT 1;
    END;


-- Summaries

CREATE TABLE summaries (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES user_ids ON DELETE CASCADE,
    status varchar(10) NOT NULL CONSTRAINT summaries_status CHECK (status IN ('making', 'ready', 'failed')),
    content text NOT NULL DEFAULT '',
    model text NOT NULL DEFAULT '',
    article_count integer NOT NULL DEFAULT 0,
    prompt_tokens integer,
    completion_tokens integer,
    cost numeric(14, 8),  -- in credits of the service, if it reports them
    error text,
    created_at timestamptz NOT NULL,
    finished_at timestamptz
);

-- A second click does not pay for a second summary.
CREATE UNIQUE INDEX summaries_one_in_the_making ON summaries (user_id) WHERE status = 'making';
CREATE INDEX summaries_by_user ON summaries (user_id, created_at DESC);


-- Imports of OPML files. Each line is stored first and then processed, so that no line is lost when a process ends.

CREATE TABLE imports (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES user_ids ON DELETE CASCADE,
    file_name text NOT NULL,
    created_at timestamptz NOT NULL,
    finished_at timestamptz
);

CREATE UNIQUE INDEX imports_one_at_a_time ON imports (user_id) WHERE finished_at IS NULL;
CREATE INDEX imports_by_user ON imports (user_id, created_at DESC);

CREATE TABLE import_lines (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES user_ids ON DELETE CASCADE,
    import_id uuid NOT NULL REFERENCES imports ON DELETE CASCADE,
    number integer NOT NULL,
    name text NOT NULL,
    url text NOT NULL,
    category text NOT NULL,
    outcome varchar(10) CONSTRAINT import_lines_outcome CHECK (outcome IN ('added', 'followed', 'invalid')),
    reason text NOT NULL DEFAULT '',
    CONSTRAINT import_lines_one_per_number UNIQUE (import_id, number)
);

CREATE INDEX import_lines_by_user ON import_lines (user_id, id);
CREATE INDEX import_lines_waiting ON import_lines (import_id, number) WHERE outcome IS NULL;
CREATE INDEX import_lines_counted ON import_lines (import_id, outcome);


-- Analytics: what users open and click, counted per source, only for users who consented

-- The consent. Clicks refer to it, so that none is counted without it, and all are deleted when it is withdrawn.
CREATE TABLE analytics_consents (
    user_id uuid PRIMARY KEY REFERENCES user_ids ON DELETE CASCADE,
    given_at timestamptz NOT NULL
);

-- Users who refused or withdrew: they are not asked again.
CREATE TABLE analytics_refusals (
    user_id uuid PRIMARY KEY REFERENCES user_ids ON DELETE CASCADE,
    refused_at timestamptz NOT NULL
);

-- Once per user, article and kind. No foreign key to the article: the count of its source outlives it.
CREATE TABLE feed_item_clicks (
    id uuid NOT NULL,
    user_id uuid NOT NULL CONSTRAINT feed_item_clicks_need_consent REFERENCES analytics_consents ON DELETE CASCADE,
    article_id uuid NOT NULL,
    source_id uuid NOT NULL REFERENCES source_ids ON DELETE CASCADE,
    kind varchar(10) NOT NULL CONSTRAINT feed_item_clicks_kind CHECK (kind IN ('open', 'click', 'star')),
    clicked_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, id),
    CONSTRAINT feed_item_clicks_once UNIQUE (user_id, article_id, kind)
);

-- All columns that a count over some days needs: an index-only scan.
CREATE INDEX feed_item_clicks_by_time ON feed_item_clicks (clicked_at) INCLUDE (source_id, user_id, article_id, kind);
CREATE INDEX feed_item_clicks_by_source ON feed_item_clicks (source_id, clicked_at);
