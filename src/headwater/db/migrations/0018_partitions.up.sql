-- Articles, and all that is kept of each, in monthly partitions by id: ids are made of the time, so a month is a range of
-- them. A month that is past its time is dropped as a whole (docs/operating.md).

-- Where the partitions live: nobody's request may look inside.
CREATE SCHEMA months;

CREATE FUNCTION first_id_at(at timestamptz) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;

CREATE FUNCTION first_id_of(month date) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN first_id_at(month::timestamp AT TIME ZONE 'UTC');

ALTER TABLE articles SET SCHEMA months;
ALTER TABLE article_sources SET SCHEMA months;
ALTER TABLE content SET SCHEMA months;
ALTER TABLE marks SET SCHEMA months;

-- Which article a URL is. It outlives the article: what was forgotten does not come back while feeds still list it.
CREATE TABLE article_urls (
    url_key bytea PRIMARY KEY,
    article_id uuid NOT NULL
);

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
    -- What a list is ordered by. An entry dated in the future counts from when it was seen, so it cannot stick on top.
    listed_at timestamptz NOT NULL GENERATED ALWAYS AS (least(published_at, seen_at)) STORED,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
) PARTITION BY RANGE (id);

CREATE INDEX articles_listed ON articles (listed_at DESC, id DESC);
CREATE INDEX articles_titles ON articles USING gin (to_tsvector('simple', title));

-- No foreign keys onto articles: a month could not be dropped without a look at every other.
CREATE TABLE article_sources (
    article_id uuid NOT NULL,
    source_id uuid NOT NULL REFERENCES sources ON DELETE CASCADE,
    entry_id text NOT NULL,
    seen_at timestamptz NOT NULL,
    listed_at timestamptz NOT NULL,
    PRIMARY KEY (article_id, source_id)
) PARTITION BY RANGE (article_id);

CREATE INDEX article_sources_by_entry ON article_sources (source_id, entry_id);
CREATE INDEX article_sources_newest ON article_sources (source_id, listed_at DESC, article_id DESC);
CREATE INDEX article_sources_latest ON article_sources (listed_at DESC, article_id DESC, source_id);

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
    -- Whose text this is: then it has none of its own.
    duplicate_of uuid,
    near_duplicate_of uuid,
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
) PARTITION BY RANGE (article_id);

CREATE INDEX content_search ON content USING gin (search);
CREATE INDEX content_originals ON content (content_hash) WHERE duplicate_of IS NULL;
CREATE INDEX content_duplicates ON content (duplicate_of) WHERE duplicate_of IS NOT NULL;
CREATE INDEX content_near_duplicates ON content (near_duplicate_of) WHERE near_duplicate_of IS NOT NULL;
-- Simhashes that differ in three bits at most are equal in one of four quarters.
CREATE INDEX content_simhash_1 ON content (((simhash >> 48) & 65535)) WHERE duplicate_of IS NULL;
CREATE INDEX content_simhash_2 ON content (((simhash >> 32) & 65535)) WHERE duplicate_of IS NULL;
CREATE INDEX content_simhash_3 ON content (((simhash >> 16) & 65535)) WHERE duplicate_of IS NULL;
CREATE INDEX content_simhash_4 ON content ((simhash & 65535)) WHERE duplicate_of IS NULL;

-- What a person did with an article. No row: nothing yet.
CREATE TABLE marks (
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    article_id uuid NOT NULL,
    is_read boolean,  -- NULL: as `read_until` says
    read_at timestamptz,
    starred_at timestamptz,
    PRIMARY KEY (user_id, article_id)
) PARTITION BY RANGE (article_id);

CREATE INDEX marks_by_article ON marks (article_id, user_id);
CREATE INDEX marks_read ON marks (user_id, article_id) WHERE is_read;  -- lists skip what was read without a look at it
CREATE INDEX marks_unread ON marks (user_id) WHERE NOT is_read;
CREATE INDEX marks_starred ON marks (user_id, starred_at DESC, article_id DESC) WHERE starred_at IS NOT NULL;
CREATE INDEX marks_keeping ON marks (article_id) WHERE starred_at IS NOT NULL;  -- retention leaves these

ALTER TABLE marks ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON marks TO headwater_person USING (user_id = current_person());
GRANT SELECT, INSERT, UPDATE, DELETE ON marks TO headwater_person;
GRANT SELECT ON articles, article_sources, content TO headwater_person;

-- The months there are, the oldest first: each the month after the one before it. What is older and still here, since
-- somebody starred it, is in the partition `kept`; what is newer than all of them waits in `default` for its month.
CREATE FUNCTION article_months() RETURNS SETOF date
    LANGUAGE sql STABLE
    BEGIN ATOMIC
        SELECT to_date(right(relname, 7), 'YYYY"m"MM') AS month
        FROM pg_inherits
        JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent = 'articles'::regclass AND relname ~ '_y[0-9]{4}m[0-9]{2}$'
        ORDER BY month;
    END;

-- The columns that can be written.
CREATE FUNCTION columns_of(of_table regclass) RETURNS text
    LANGUAGE sql STABLE
    BEGIN ATOMIC
        SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum)
        FROM pg_attribute
        WHERE attrelid = of_table AND attnum > 0 AND NOT attisdropped AND attgenerated = '';
    END;

-- Where no article is yet: what comes before the first month, and what comes after the last.
CREATE FUNCTION begin_article_months(first date) RETURNS void
    LANGUAGE plpgsql AS $$
DECLARE
    parent text;
    part regclass;
BEGIN
    IF EXISTS (SELECT FROM articles) THEN
        RAISE EXCEPTION 'there are articles: their months have begun';
    END IF;
    FOR part IN
        SELECT inhrelid
        FROM pg_inherits
        WHERE inhparent = ANY ('{articles, article_sources, content, marks}'::regclass[])
    LOOP
        EXECUTE format('DROP TABLE %s', part);
    END LOOP;
    FOREACH parent IN ARRAY ARRAY['articles', 'article_sources', 'content', 'marks'] LOOP
        EXECUTE format('CREATE TABLE months.%I PARTITION OF public.%I DEFAULT', parent || '_default', parent);
        EXECUTE format(
            'CREATE TABLE months.%I PARTITION OF public.%I FOR VALUES FROM (MINVALUE) TO (%L)',
            parent || '_kept', parent, first_id_of(first)
        );
    END LOOP;
END
$$;

-- Make the months that are missing: from the newest there is, or from `since` where there is none. Rows that came before
-- their month was made are moved into it. Waits for nobody long: whoever calls tries again.
CREATE FUNCTION make_article_months(since date, until date) RETURNS integer
    LANGUAGE plpgsql SET lock_timeout = '200ms' AS $$
DECLARE
    made integer := 0;
    month date;
    next date;
    parent text;
    key text;
    part text;
BEGIN
    IF until <= (SELECT max(one) FROM article_months() AS one) THEN
        RETURN 0;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('headwater.months', 0));
    month := coalesce((SELECT max(one) + interval '1 month' FROM article_months() AS one), since);
    WHILE month <= until LOOP
        next := month + interval '1 month';
        FOREACH parent IN ARRAY ARRAY['articles', 'article_sources', 'content', 'marks'] LOOP
            key := CASE parent WHEN 'articles' THEN 'id' ELSE 'article_id' END;
            part := parent || to_char(month, '"_y"YYYY"m"MM');
            EXECUTE format('CREATE TABLE months.%I (LIKE public.%I INCLUDING ALL EXCLUDING INDEXES)', part, parent);
            EXECUTE format('LOCK TABLE months.%I IN ACCESS EXCLUSIVE MODE', parent || '_default');
            EXECUTE format(
                'WITH moved AS (DELETE FROM months.%1$I WHERE %2$I >= $1 AND %2$I < $2 RETURNING %3$s)'
                ' INSERT INTO months.%4$I (%3$s) SELECT * FROM moved',
                parent || '_default', key, columns_of(parent::regclass), part
            ) USING first_id_of(month), first_id_of(next);
            EXECUTE format(
                'ALTER TABLE public.%I ATTACH PARTITION months.%I FOR VALUES FROM (%L) TO (%L)',
                parent, part, first_id_of(month), first_id_of(next)
            );
        END LOOP;
        month := next;
        made := made + 1;
    END LOOP;
    RETURN made;
END
$$;

-- Texts of articles before `before` that nobody starred, and that an article which stays shares, become its own; who had
-- them shares them from then on. At most so many at once; returns how many.
CREATE FUNCTION hand_on_texts(before uuid, most integer) RETURNS integer
    LANGUAGE plpgsql AS $$
DECLARE
    going uuid[];
    freed integer;
BEGIN
    WITH starred AS MATERIALIZED (
        SELECT DISTINCT article_id FROM marks WHERE article_id < before AND starred_at IS NOT NULL
    ), sharing AS (
        SELECT duplicate_of
        FROM content
        WHERE article_id >= before AND duplicate_of < before
        UNION ALL
        SELECT duplicate_of
        FROM starred
        JOIN content USING (article_id)
        WHERE duplicate_of < before
    ), shared AS (
        SELECT DISTINCT duplicate_of
        FROM sharing
        WHERE NOT EXISTS (SELECT FROM starred WHERE starred.article_id = duplicate_of)
        LIMIT most
    )
    SELECT coalesce(array_agg(duplicate_of), '{}') INTO going FROM shared;

    -- Whoever brings one of these texts at this moment waits, and then finds its new owner.
    PERFORM pg_advisory_xact_lock(key)
    FROM (
        SELECT DISTINCT ('x' || encode(substring(content_hash FROM 1 FOR 8), 'hex'))::bit(64)::bigint AS key
        FROM content
        WHERE article_id = ANY (going)
        ORDER BY key
    ) AS held;

    WITH heirs AS MATERIALIZED (
        SELECT DISTINCT ON (sharing.duplicate_of) sharing.duplicate_of AS original, sharing.article_id AS heir
        FROM content AS sharing
        WHERE sharing.duplicate_of = ANY (going)
            AND (
                sharing.article_id >= before
                OR EXISTS (SELECT FROM marks WHERE marks.article_id = sharing.article_id AND starred_at IS NOT NULL)
            )
        ORDER BY sharing.duplicate_of, sharing.article_id
    ), owned AS (
        UPDATE content
        SET duplicate_of = NULL, text = given.text, html = given.html
        FROM heirs
        JOIN content AS given ON given.article_id = heirs.original
        WHERE content.article_id = heirs.heir
    ), disowned AS (
        UPDATE content
        SET duplicate_of = heirs.heir, text = NULL, html = NULL
        FROM heirs
        WHERE content.article_id = heirs.original
    ), shared AS (
        UPDATE content
        SET duplicate_of = heirs.heir
        FROM heirs
        WHERE content.duplicate_of = heirs.original AND content.article_id <> heirs.heir
    )
    SELECT count(*) INTO freed FROM heirs;

    IF freed < most THEN
        WITH near AS MATERIALIZED (
            SELECT article_id
            FROM content
            WHERE near_duplicate_of < before
                AND (
                    article_id >= before
                    OR EXISTS (SELECT FROM marks WHERE marks.article_id = content.article_id AND starred_at IS NOT NULL)
                )
                AND NOT EXISTS (
                    SELECT FROM marks WHERE marks.article_id = content.near_duplicate_of AND starred_at IS NOT NULL
                )
            LIMIT most - freed
        )
        UPDATE content SET near_duplicate_of = NULL FROM near WHERE content.article_id = near.article_id;
        GET DIAGNOSTICS most = ROW_COUNT;
        freed := freed + most;
    END IF;
    RETURN freed;
END
$$;

-- The oldest month goes: its tables are put aside, and what somebody starred moves to `kept`. Copied before anybody has to
-- wait; then, with all others out for a moment, what changed meanwhile is copied again. Returns how many were kept, NULL
-- when this is not the oldest month. Waits for nobody long: whoever calls tries again.
CREATE FUNCTION let_article_month_go(month date) RETURNS integer
    LANGUAGE plpgsql SET lock_timeout = '100ms' AS $$
DECLARE
    parents constant text[] := ARRAY['articles', 'article_sources', 'content', 'marks'];
    before constant uuid := first_id_of((month + interval '1 month')::date);
    suffix constant text := to_char(month, '"_y"YYYY"m"MM');
    stays constant text := '%2$I < $1 AND %2$I IN'
        ' (SELECT article_id FROM public.marks WHERE article_id < $1 AND starred_at IS NOT NULL)';
    parent text;
    key text;
    changes integer;
    kept integer;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('headwater.months', 0));
    IF month IS DISTINCT FROM (SELECT min(one) FROM article_months() AS one) THEN
        RETURN NULL;
    END IF;

    CREATE TEMPORARY TABLE copied (parent text, id uuid, part oid, at tid, by xid) ON COMMIT DROP;
    FOREACH parent IN ARRAY parents LOOP
        key := CASE parent WHEN 'articles' THEN 'id' ELSE 'article_id' END;
        EXECUTE format('CREATE TABLE months.%I (LIKE public.%I INCLUDING ALL)', parent || '_next', parent);
        EXECUTE format(
            'ALTER TABLE months.%I ADD CONSTRAINT months_before CHECK (%I IS NOT NULL AND %2$I < %L)',
            parent || '_next', key, before
        );
        -- The versions first: what changes between the two statements is then copied once too often, not once too seldom.
        EXECUTE format(
            'INSERT INTO pg_temp.copied SELECT %3$L, %2$I, tableoid, ctid, xmin FROM public.%1$I WHERE ' || stays,
            parent, key, parent
        ) USING before;
        EXECUTE format(
            'INSERT INTO months.%3$I (%4$s) SELECT %4$s FROM public.%1$I WHERE ' || stays,
            parent, key, parent || '_next', columns_of(parent::regclass)
        ) USING before;
    END LOOP;
    ANALYZE pg_temp.copied;

    LOCK TABLE ONLY articles, ONLY article_sources, ONLY content, ONLY marks IN ACCESS EXCLUSIVE MODE;
    WHILE hand_on_texts(before, 1000) > 0 LOOP
    END LOOP;
    FOREACH parent IN ARRAY parents LOOP
        key := CASE parent WHEN 'articles' THEN 'id' ELSE 'article_id' END;
        EXECUTE format(
            'WITH now AS ('
            '    SELECT %2$I AS id, tableoid AS part, ctid AS at, xmin AS by FROM public.%1$I WHERE ' || stays ||
            '), changed AS MATERIALIZED ('
            '    SELECT coalesce(now.id, was.id) AS id'
            '    FROM now'
            '    FULL JOIN (SELECT * FROM pg_temp.copied WHERE parent = %3$L) AS was'
            '        ON was.part = now.part AND was.at = now.at AND was.by = now.by'
            '    WHERE now.id IS NULL OR was.id IS NULL'
            '), outdated AS ('
            '    DELETE FROM months.%4$I WHERE %2$I IN (SELECT id FROM changed)'
            ') SELECT count(*) FROM changed',
            parent, key, parent, parent || '_next'
        ) INTO changes USING before;
        CONTINUE WHEN changes = 0;
        EXECUTE format(
            'INSERT INTO months.%3$I (%4$s) SELECT %4$s FROM public.%1$I WHERE ' || stays ||
            ' AND NOT EXISTS (SELECT FROM months.%3$I AS there WHERE there.%2$I = %1$I.%2$I)',
            parent, key, parent || '_next', columns_of(parent::regclass)
        ) USING before;
    END LOOP;
    FOREACH parent IN ARRAY parents LOOP
        EXECUTE format('ALTER TABLE public.%I DETACH PARTITION months.%I', parent, parent || '_kept');
        EXECUTE format('ALTER TABLE public.%I DETACH PARTITION months.%I', parent, parent || suffix);
        EXECUTE format('ALTER TABLE months.%I RENAME TO %I', parent || '_kept', parent || '_gone_before' || suffix);
        EXECUTE format('ALTER TABLE months.%I RENAME TO %I', parent || suffix, parent || '_gone' || suffix);
        EXECUTE format('ALTER TABLE months.%I RENAME TO %I', parent || '_next', parent || '_kept');
        EXECUTE format(
            'ALTER TABLE public.%I ATTACH PARTITION months.%I FOR VALUES FROM (MINVALUE) TO (%L)',
            parent, parent || '_kept', before
        );
        EXECUTE format('ALTER TABLE months.%I DROP CONSTRAINT months_before', parent || '_kept');
    END LOOP;
    SELECT count(*) INTO kept FROM months.articles_kept;
    DROP TABLE pg_temp.copied;
    RETURN kept;
END
$$;

-- Tables that were put aside, and can be dropped when the search index has heard of what was in them.
CREATE FUNCTION article_tables_gone() RETURNS SETOF text
    LANGUAGE sql STABLE
    BEGIN ATOMIC
        SELECT relname::text
        FROM pg_class
        WHERE relnamespace = 'months'::regnamespace AND relkind = 'r' AND relname ~ '_gone(_before)?_y[0-9]{4}m[0-9]{2}$'
        ORDER BY relname;
    END;

-- Take texts out of a table that was put aside: those that are gone for good, each once.
CREATE FUNCTION take_gone_content(part text, most integer)
    RETURNS TABLE (article_id uuid, url_key bytea, version integer, is_kept boolean)
    LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'DELETE FROM months.%1$I AS gone'
        ' WHERE ctid = ANY (ARRAY(SELECT ctid FROM months.%1$I LIMIT $1 FOR UPDATE SKIP LOCKED))'
        ' RETURNING gone.article_id, gone.url_key, gone.version,'
        '     EXISTS (SELECT FROM content WHERE content.article_id = gone.article_id)',
        part
    ) USING most;
END
$$;

CREATE FUNCTION drop_gone_table(part text) RETURNS void
    LANGUAGE plpgsql SET lock_timeout = '100ms' SET client_min_messages = warning AS $$
BEGIN
    IF part NOT IN (SELECT article_tables_gone()) THEN
        RETURN;
    END IF;
    EXECUTE format('DROP TABLE IF EXISTS months.%I', part);
END
$$;

-- What PostgreSQL does for a table by itself, but not for one of several parts: learn what is in it.
CREATE FUNCTION analyze_articles() RETURNS void
    LANGUAGE plpgsql AS $$
BEGIN
    ANALYZE articles, article_sources, content, marks;
END
$$;

-- The first month is that of the oldest article. Ids that are no times lie before or after all months.
DO $$
DECLARE
    oldest constant timestamptz := (
        SELECT min(seen_at) FROM months.articles WHERE id >= first_id_at(seen_at - interval '1 day')
    );
    this constant date := date_trunc('month', now() AT TIME ZONE 'UTC');
    first constant date := coalesce(least(date_trunc('month', oldest AT TIME ZONE 'UTC')::date, this), this);
BEGIN
    PERFORM begin_article_months(first);
    PERFORM make_article_months(first, (this + interval '1 month')::date);
END
$$;

INSERT INTO article_urls (url_key, article_id)
SELECT url_key, id
FROM months.articles;
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

DROP TABLE months.marks, months.content, months.article_sources, months.articles;
ANALYZE articles, article_sources, content, marks, article_urls;

CREATE TRIGGER articles_touch_updated_at
    BEFORE UPDATE ON articles
    FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- As it was, but asked for each article in its month: a join would read all of them.
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
            OFFSET 0
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

-- An article that is deleted by itself, not with its month, was never here.
CREATE FUNCTION articles_forget_with() RETURNS trigger
    LANGUAGE plpgsql AS $$
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

CREATE TRIGGER articles_forget_with
    AFTER DELETE ON articles
    REFERENCING OLD TABLE AS forgotten
    FOR EACH STATEMENT EXECUTE FUNCTION articles_forget_with();

-- A text that goes is handed on to the first that shares it.
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

CREATE TRIGGER content_hand_on_deleted
    AFTER DELETE ON content
    REFERENCING OLD TABLE AS forgotten
    FOR EACH STATEMENT EXECUTE FUNCTION content_hand_on_deleted();

-- And one that gives way to another.
CREATE OR REPLACE FUNCTION content_hand_on() RETURNS trigger
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

CREATE TRIGGER content_hand_on_replaced
    BEFORE UPDATE OF content_hash ON content
    FOR EACH ROW WHEN (OLD.duplicate_of IS NULL AND OLD.content_hash IS DISTINCT FROM NEW.content_hash)
    EXECUTE FUNCTION content_hand_on();

-- When retention is due, or until when somebody is at it. One at a time, on however many machines.
CREATE TABLE retention_state (
    is_only boolean PRIMARY KEY DEFAULT true CONSTRAINT retention_state_one_row CHECK (is_only),
    due_at timestamptz NOT NULL,
    lease uuid,
    finished_at timestamptz
);

INSERT INTO retention_state (due_at) VALUES (now());

-- What is past its time is found without a look at the rest.
CREATE INDEX events_by_time ON events (created_at);
