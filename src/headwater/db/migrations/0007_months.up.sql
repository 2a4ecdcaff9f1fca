-- Months: the partitions of the article tables, and the functions that create, detach and drop them.
--
-- Expired articles are dropped a month at a time; starred ones stay (docs/operating.md). The application's role owns no
-- table, so functions that need the owner's rights are SECURITY DEFINER; db/rights.py lets only headwater_system call
-- them.

-- The schema of the partitions. No other role has rights on it.
CREATE SCHEMA months;

-- The existing months in order, without gaps. Older starred articles are in the partition `kept`; articles newer than
-- all months are in `default` until their month is created.
CREATE FUNCTION article_months() RETURNS SETOF date
    LANGUAGE sql STABLE
    BEGIN ATOMIC
        SELECT to_date(right(relname, 7), 'YYYY"m"MM') AS month
        FROM pg_inherits
        JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent = 'articles'::regclass AND relname ~ '_y[0-9]{4}m[0-9]{2}$'
        ORDER BY month;
    END;

-- The columns that are not generated.
CREATE FUNCTION columns_of(of_table regclass) RETURNS text
    LANGUAGE sql STABLE
    BEGIN ATOMIC
        SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum)
        FROM pg_attribute
        WHERE attrelid = of_table AND attnum > 0 AND NOT attisdropped AND attgenerated = '';
    END;


-- Creating months

-- Creates the partitions before the first month (`kept`) and after the last (`default`). Only without articles.
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

-- Creates the missing months up to `until`: from the newest there is, or from `since` if there is none. Rows that
-- arrived before their month existed are moved into it. A lock timeout: the caller tries again.
CREATE FUNCTION make_article_months(since date, until date) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET lock_timeout = '200ms' SET search_path = pg_catalog, public, pg_temp AS $$
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

-- What autovacuum does not do for a partitioned table.
CREATE FUNCTION analyze_articles() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    ANALYZE articles, article_sources, content, marks;
END
$$;


-- Dropping months

-- Texts of articles before `before` that are not starred, and that a remaining article shares, change their owner to
-- that article; the previous owner shares the text from then on. At most `most` at once; returns how many.
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

    -- A transaction that stores one of these texts now waits, and then finds its new owner.
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

-- Detaches the oldest month; its starred articles move to `kept`. Rows are copied before the tables are locked; then,
-- under the lock, rows that changed meanwhile are copied again. Returns the number of kept articles, NULL if this is
-- not the oldest month. A lock timeout: the caller tries again.
CREATE FUNCTION let_article_month_go(month date) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET lock_timeout = '100ms' SET search_path = pg_catalog, public, pg_temp AS $$
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
        -- The versions first: a row that changes between the two statements is then copied again, not missed.
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

-- Detached tables, which are dropped when the deletion of their rows is in the outbox.
CREATE FUNCTION article_tables_gone() RETURNS SETOF text
    LANGUAGE sql STABLE
    BEGIN ATOMIC
        SELECT relname::text
        FROM pg_class
        WHERE relnamespace = 'months'::regnamespace AND relkind = 'r'
            AND relname ~ '_gone(_before)?_y[0-9]{4}m[0-9]{2}$'
        ORDER BY relname;
    END;

-- Deletes rows from a detached table of content, and returns each once.
CREATE FUNCTION take_gone_content(part text, most integer)
    RETURNS TABLE (article_id uuid, url_key bytea, version integer, is_kept boolean)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF part NOT IN (SELECT article_tables_gone()) THEN
        RETURN;
    END IF;
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
    LANGUAGE plpgsql SECURITY DEFINER
    SET lock_timeout = '100ms' SET client_min_messages = warning SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF part NOT IN (SELECT article_tables_gone()) THEN
        RETURN;
    END IF;
    EXECUTE format('DROP TABLE IF EXISTS months.%I', part);
END
$$;

-- When retention is due, or the end of a lease: one worker at a time, on any number of machines.
CREATE TABLE retention_state (
    is_only boolean PRIMARY KEY DEFAULT true CONSTRAINT retention_state_one_row CHECK (is_only),
    due_at timestamptz NOT NULL,
    lease uuid,
    finished_at timestamptz
);

INSERT INTO retention_state (due_at) VALUES (now());

-- This month and the next.
DO $$
DECLARE
    this constant date := date_trunc('month', now() AT TIME ZONE 'UTC');
BEGIN
    PERFORM begin_article_months(this);
    PERFORM make_article_months(this, (this + interval '1 month')::date);
END
$$;
