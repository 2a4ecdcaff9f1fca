CREATE OR REPLACE FUNCTION pg_temp.redefine(function regprocedure, old text, new text) RETURNS void
    LANGUAGE plpgsql AS $$
BEGIN
    IF strpos(pg_get_functiondef(function), old) = 0 THEN
        RAISE EXCEPTION '% does not contain %', function, old;
    END IF;
    -- A column of article_for_user without a name would get that of its type.
    EXECUTE replace(
        regexp_replace(pg_get_functiondef(function), 'NULL::(timestamp with time zone|uuid)', 'NULL', 'g'), old, new
    );
END
$$;

SELECT pg_temp.redefine(function, '(starred_at IS NOT NULL OR saved_at IS NOT NULL)', 'starred_at IS NOT NULL')
FROM unnest(ARRAY['hand_on_texts(uuid, integer)', 'let_article_month_go(date)']::regprocedure[]) AS function;
SELECT pg_temp.redefine(
    'article_for_user(uuid)', '((marks.starred_at IS NOT NULL) OR (marks.saved_at IS NOT NULL))',
    '(marks.starred_at IS NOT NULL)'
);

DROP INDEX marks_keeping;
CREATE INDEX marks_keeping ON marks (article_id) WHERE starred_at IS NOT NULL;
ALTER TABLE marks DROP COLUMN saved_at, DROP COLUMN unsaved_at;
