DROP TABLE source_reputation, classifier_models, classification_rules, article_state, labels;

CREATE OR REPLACE FUNCTION pg_temp.redefine(function regprocedure, old text, new text) RETURNS void
    LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE replace(pg_get_functiondef(function), old, new);
END
$$;

SELECT pg_temp.redefine(function, '''content'', ''marks'', ''labels'', ''article_state''', '''content'', ''marks''')
FROM unnest(ARRAY[
    'begin_article_months(date)', 'make_article_months(date, date)', 'let_article_month_go(date)'
]::regprocedure[]) AS function;
SELECT pg_temp.redefine('begin_article_months(date)', 'content, marks, labels, article_state}', 'content, marks}');
SELECT pg_temp.redefine('let_article_month_go(date)', 'ONLY marks, ONLY labels, ONLY article_state IN', 'ONLY marks IN');
SELECT pg_temp.redefine('analyze_articles()', 'content, marks, labels, article_state;', 'content, marks;');
SELECT pg_temp.redefine(
    'articles_forget_with()',
    '    DELETE FROM article_state USING forgotten WHERE article_state.article_id = forgotten.id;' || E'\n'
    '    DELETE FROM labels USING forgotten WHERE labels.article_id = forgotten.id;' || E'\n',
    ''
);
