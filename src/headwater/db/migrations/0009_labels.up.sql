-- Labels: what each article is, who says so and how sure it is; the rules and models that label; the state of each article
-- in the stages after extraction.

-- The functions of 0007_months and the trigger of 0005_articles name the tables that are partitioned by the article's id.
-- They are defined again with two tables more; the reverse removes them.
CREATE FUNCTION pg_temp.redefine(function regprocedure, old text, new text) RETURNS void
    LANGUAGE plpgsql AS $$
BEGIN
    IF strpos(pg_get_functiondef(function), old) = 0 THEN
        RAISE EXCEPTION '% does not contain %', function, old;
    END IF;
    EXECUTE replace(pg_get_functiondef(function), old, new);
END
$$;

SELECT pg_temp.redefine(function, '''content'', ''marks''', '''content'', ''marks'', ''labels'', ''article_state''')
FROM unnest(ARRAY[
    'begin_article_months(date)', 'make_article_months(date, date)', 'let_article_month_go(date)'
]::regprocedure[]) AS function;
SELECT pg_temp.redefine('begin_article_months(date)', 'content, marks}', 'content, marks, labels, article_state}');
SELECT pg_temp.redefine('let_article_month_go(date)', 'ONLY marks IN', 'ONLY marks, ONLY labels, ONLY article_state IN');
SELECT pg_temp.redefine('analyze_articles()', 'content, marks;', 'content, marks, labels, article_state;');
SELECT pg_temp.redefine(
    'articles_forget_with()',
    '    DELETE FROM article_urls',
    -- The state first: a transaction that writes labels holds it, and this waits for that one's labels.
    '    DELETE FROM article_state USING forgotten WHERE article_state.article_id = forgotten.id;' || E'\n'
    '    DELETE FROM labels USING forgotten WHERE labels.article_id = forgotten.id;' || E'\n'
    '    DELETE FROM article_urls'
);

-- What a method says about an article. Of several methods, labels/decide.py chooses what is shown; a person's label wins.
CREATE TABLE labels (
    article_id uuid NOT NULL,
    scheme varchar(20) NOT NULL CONSTRAINT labels_scheme
        CHECK (scheme IN ('language', 'type', 'quality', 'topic', 'category', 'sentiment', 'keyword')),
    label varchar(100) NOT NULL CONSTRAINT labels_label CHECK (label <> ''),
    method varchar(10) NOT NULL CONSTRAINT labels_method CHECK (method IN ('rule', 'model', 'ai', 'person')),
    score real NOT NULL CONSTRAINT labels_score CHECK (score BETWEEN 0 AND 1),
    version varchar(100) NOT NULL,  -- of the rule, model or prompt
    detail jsonb,  -- the parts of a quality
    made_at timestamptz NOT NULL,
    is_shown boolean NOT NULL,
    is_disputed boolean NOT NULL,  -- another method says otherwise, and no person has decided
    PRIMARY KEY (article_id, scheme, method, label)
) PARTITION BY RANGE (article_id);

CREATE INDEX labels_shown ON labels (scheme, label, article_id DESC) WHERE is_shown;
CREATE INDEX labels_disputed ON labels (article_id DESC) WHERE is_disputed;
CREATE INDEX labels_by_person ON labels (scheme, article_id) WHERE method = 'person';

-- How far an article is in the stages after extraction. A row exists from when it is first due.
CREATE TABLE article_state (
    article_id uuid PRIMARY KEY,
    -- Classifying: when it is due, or the end of a lease; NULL: nothing is new.
    classify_at timestamptz,
    classify_lease uuid,
    lost_leases smallint NOT NULL DEFAULT 0,
    classified_at timestamptz,
    embedding bytea,  -- 256 numbers of 16 bits; NULL without text
    -- Tagging by a language model: when it is due, or the end of a lease; NULL: not yet, or never.
    ai_due_at timestamptz,
    ai_lease uuid,
    ai_tagged boolean NOT NULL DEFAULT false,
    ai_attempts smallint NOT NULL DEFAULT 0,
    ai_tagged_at timestamptz,
    ai_since timestamptz,  -- since when it waits; NULL: not yet admitted to the queue
    ai_readers integer NOT NULL DEFAULT 0,  -- subscriptions of its sources, when it was admitted
    -- Stories: whether the article waits to be joined to one, and the one it is in.
    story_due boolean NOT NULL DEFAULT false,
    story_id uuid
) PARTITION BY RANGE (article_id);

CREATE INDEX article_state_classify ON article_state (classify_at) WHERE classify_at IS NOT NULL;
-- Tagging: what is new to its queue, the queue in its order, and what has waited longest. `ai_due_at` is in the last two,
-- so that articles that are leased or tried again later are passed over without reading their rows.
CREATE INDEX article_state_ai_new ON article_state (article_id)
    WHERE ai_due_at IS NOT NULL AND NOT ai_tagged AND ai_since IS NULL;
CREATE INDEX article_state_ai ON article_state (ai_readers DESC, article_id DESC, ai_due_at)
    WHERE ai_due_at IS NOT NULL AND NOT ai_tagged AND ai_since IS NOT NULL;
CREATE INDEX article_state_ai_since ON article_state (ai_since, ai_due_at)
    WHERE ai_due_at IS NOT NULL AND NOT ai_tagged AND ai_since IS NOT NULL;
CREATE INDEX article_state_story_due ON article_state (article_id) WHERE story_due;
CREATE INDEX article_state_story ON article_state (story_id, article_id) WHERE story_id IS NOT NULL;

-- The partitions of the months that exist.
DO $$
DECLARE
    part record;
BEGIN
    FOR part IN
        SELECT relname, pg_get_expr(relpartbound, pg_class.oid) AS bounds
        FROM pg_inherits
        JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent = 'articles'::regclass
    LOOP
        EXECUTE format(
            'CREATE TABLE months.%I PARTITION OF labels %s', replace(part.relname, 'articles', 'labels'), part.bounds
        );
        EXECUTE format(
            'CREATE TABLE months.%I PARTITION OF article_state %s',
            replace(part.relname, 'articles', 'article_state'), part.bounds
        );
    END LOOP;
END
$$;

-- What is stored already is classified too, the newest first, a hundred a second between new articles.
INSERT INTO article_state (article_id, classify_at)
SELECT id, now() + row_number() OVER (ORDER BY id DESC) * interval '10 ms' FROM articles;

-- An operator's rule: an article that has the keywords, fits a pattern or is of a source gets the label.
CREATE TABLE classification_rules (
    id uuid PRIMARY KEY,
    name varchar(100) NOT NULL,
    scheme varchar(20) NOT NULL CONSTRAINT classification_rules_scheme
        CHECK (scheme IN ('language', 'type', 'topic', 'category', 'sentiment', 'keyword')),
    label varchar(100) NOT NULL CONSTRAINT classification_rules_label CHECK (label <> ''),
    keywords text[] NOT NULL DEFAULT '{}',
    patterns text[] NOT NULL DEFAULT '{}',  -- of URL or title, with * for any text
    source_ids uuid[] NOT NULL DEFAULT '{}',
    min_score real NOT NULL DEFAULT 0.5,
    is_enabled boolean NOT NULL DEFAULT false,
    version integer NOT NULL DEFAULT 1,
    tested_version integer,  -- the last version that an operator tested
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE UNIQUE INDEX classification_rules_by_name ON classification_rules (lower(name));
CREATE TRIGGER classification_rules_touch_updated_at
    BEFORE UPDATE ON classification_rules
    FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- Models trained here from people's labels; the active one of a scheme labels. Without one, the model that ships does.
CREATE TABLE classifier_models (
    id uuid PRIMARY KEY,
    scheme varchar(20) NOT NULL,
    version varchar(100) NOT NULL UNIQUE,
    examples integer NOT NULL,
    accuracy real NOT NULL,  -- cross-validated
    accuracy_before real NOT NULL,  -- of the model that it replaced, on the same examples
    data bytea NOT NULL,
    trained_at timestamptz NOT NULL,
    is_active boolean NOT NULL
);

CREATE UNIQUE INDEX classifier_models_active ON classifier_models (scheme) WHERE is_active;

-- The reputation of a source, from the quality and the spam share of its newest articles.
CREATE TABLE source_reputation (
    source_id uuid PRIMARY KEY REFERENCES source_ids ON DELETE CASCADE,
    articles integer NOT NULL DEFAULT 0,  -- with labels
    quality real NOT NULL DEFAULT 0,  -- the mean, 0 to 100
    spam_share real NOT NULL DEFAULT 0,
    reputation real NOT NULL DEFAULT 50,  -- 0 to 100
    computed_at timestamptz,
    due_at timestamptz  -- NULL: no article has new labels
);

CREATE INDEX source_reputation_due ON source_reputation (due_at) WHERE due_at IS NOT NULL;
