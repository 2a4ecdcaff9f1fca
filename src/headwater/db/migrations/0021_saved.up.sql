-- Articles and pages that a reader saved for later: kept like starred ones, in a list of their own.

ALTER TABLE marks
    ADD COLUMN saved_at timestamptz,
    ADD COLUMN unsaved_at timestamptz;  -- when it was removed from the list, which can be undone for a day

CREATE INDEX marks_saved ON marks (user_id, saved_at DESC, article_id DESC) WHERE saved_at IS NOT NULL;
CREATE INDEX marks_unsaved ON marks (unsaved_at) WHERE unsaved_at IS NOT NULL;
DROP INDEX marks_keeping;
CREATE INDEX marks_keeping ON marks (article_id) WHERE starred_at IS NOT NULL OR saved_at IS NOT NULL;

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

-- What retention keeps, and what a reader reads about an article whose feed they no longer follow.
SELECT pg_temp.redefine(function, 'starred_at IS NOT NULL', '(starred_at IS NOT NULL OR saved_at IS NOT NULL)')
FROM unnest(ARRAY['hand_on_texts(uuid, integer)', 'let_article_month_go(date)']::regprocedure[]) AS function;
SELECT pg_temp.redefine(
    'article_for_user(uuid)', '(marks.starred_at IS NOT NULL)',
    '((marks.starred_at IS NOT NULL) OR (marks.saved_at IS NOT NULL))'
);
