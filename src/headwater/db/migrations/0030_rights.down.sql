CREATE OR REPLACE FUNCTION take_gone_content(part text, most integer)
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

ALTER FUNCTION analyze_articles() SECURITY INVOKER RESET search_path;
ALTER FUNCTION drop_gone_table(text) SECURITY INVOKER RESET search_path;
ALTER FUNCTION let_article_month_go(date) SECURITY INVOKER RESET search_path;
ALTER FUNCTION make_article_months(date, date) SECURITY INVOKER RESET search_path;
ALTER FUNCTION articles_forget_with() SECURITY INVOKER RESET search_path;
ALTER FUNCTION marks_keep_read() SECURITY INVOKER RESET search_path;
ALTER FUNCTION marks_keep_late_unread() SECURITY INVOKER RESET search_path;
GRANT EXECUTE ON FUNCTION take_gone_content(text, integer), analyze_articles(), drop_gone_table(text),
    let_article_month_go(date), make_article_months(date, date) TO PUBLIC;
