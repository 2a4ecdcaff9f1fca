-- The application's role owns no table: what needs the owner's rights is a function that runs with them. db/rights.py
-- adds the roles, grants and policies, and lets none but headwater_system call these functions.

-- Triggers on the way of polling and retention, which see no user's rows themselves.
ALTER FUNCTION marks_keep_late_unread() SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp;
ALTER FUNCTION articles_forget_with() SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp;
ALTER FUNCTION marks_keep_read() SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp;

-- The months of articles are made, detached and dropped as tables.
ALTER FUNCTION make_article_months(date, date) SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp;
ALTER FUNCTION let_article_month_go(date) SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp;
ALTER FUNCTION drop_gone_table(text) SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp;
ALTER FUNCTION analyze_articles() SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp;

-- As before, but only from a table that was put aside.
CREATE OR REPLACE FUNCTION take_gone_content(part text, most integer)
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
