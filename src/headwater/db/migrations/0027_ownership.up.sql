-- What a feed says about an article is kept per source; `articles` holds what the article's own site or its page says.
-- NULL in a row of a source of the article's own site: what it says is the shared record.
ALTER TABLE article_sources
    ADD COLUMN title text,
    ADD COLUMN author text,
    ADD COLUMN summary text,
    ADD COLUMN content text,
    ADD COLUMN published_at timestamptz;

CREATE INDEX article_sources_titles ON article_sources USING gin (to_tsvector('simple', title)) WHERE title IS NOT NULL;

-- Whether a feed of the article's own site has listed it. What was stored before stays as it is.
ALTER TABLE articles ADD COLUMN is_told_by_site boolean NOT NULL DEFAULT true;

-- What a reader was told about an article when they starred it, if by a feed of another site: it stays with the star
-- when that feed is deleted.
ALTER TABLE marks
    ADD COLUMN title text,
    ADD COLUMN author text,
    ADD COLUMN summary text,
    ADD COLUMN content text,
    ADD COLUMN published_at timestamptz;

-- What a reader is told about an article: by its own site if they follow it, else by the feed of theirs that listed it
-- first, else by the feed they had it from when they starred it. All NULL: what the shared record says. Row-level
-- security leaves only the reader's subscriptions and marks.
CREATE FUNCTION told_to_reader(of_article uuid)
    RETURNS TABLE (title text, author text, summary text, content text, published_at timestamptz)
    LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
    BEGIN ATOMIC
        SELECT told.title, told.author, told.summary, told.content, told.published_at
        FROM (
            SELECT listed.title, listed.author, listed.summary, listed.content, listed.published_at, listed.seen_at,
                listed.source_id, listed.title IS NOT NULL AS is_foreign, false AS is_starred
            -- OFFSET 0: by the article, however many feeds the reader follows
            FROM (SELECT * FROM article_sources WHERE article_sources.article_id = of_article OFFSET 0) AS listed
            JOIN subscriptions USING (source_id)
            UNION ALL
            SELECT marks.title, marks.author, marks.summary, marks.content, marks.published_at, NULL, NULL, true, true
            FROM marks
            WHERE marks.article_id = of_article AND marks.starred_at IS NOT NULL
        ) AS told
        ORDER BY told.is_starred, told.is_foreign, told.seen_at, told.source_id
        LIMIT 1;
    END;

-- An article has a place of its own in each feed that lists it. One that a reader has read does not become unread when
-- another of their feeds lists it later.
CREATE FUNCTION marks_keep_read() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    -- Most rows are of articles that were made by the same statement: no other feed has listed those.
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

CREATE TRIGGER article_sources_keep_read
    AFTER INSERT ON article_sources
    REFERENCING NEW TABLE AS linked
    FOR EACH STATEMENT EXECUTE FUNCTION marks_keep_read();
