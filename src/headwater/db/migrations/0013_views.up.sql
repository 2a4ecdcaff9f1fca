-- Views, tags and hidden articles of users, and nested categories.

ALTER TABLE marks
    ADD COLUMN tags text[] NOT NULL DEFAULT '{}',  -- in lower case
    ADD COLUMN hidden_at timestamptz;  -- a rule of the user hid it from lists
ALTER TABLE subscriptions ADD COLUMN tags text[] NOT NULL DEFAULT '{}';  -- in lower case

CREATE INDEX marks_tagged ON marks (user_id, article_id) INCLUDE (tags) WHERE tags <> '{}';
CREATE INDEX marks_hidden ON marks (user_id, article_id) WHERE hidden_at IS NOT NULL;
-- Unread lists skip read and hidden articles by the index alone.
CREATE INDEX marks_skipped ON marks (user_id, article_id) WHERE is_read OR hidden_at IS NOT NULL;
DROP INDEX marks_read;

-- Categories are nested by `/`: `World / News` becomes `World/News`.
UPDATE subscriptions
SET category = nullif(regexp_replace(regexp_replace(category, '\s*/[\s/]*', '/', 'g'), '^/|/$', '', 'g'), '')
WHERE category LIKE '%/%';

-- A saved query, in the side bar in the order of `place`.
CREATE TABLE views (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES user_ids ON DELETE CASCADE,
    name varchar(100) NOT NULL CONSTRAINT views_name CHECK (name <> ''),
    icon varchar(20) NOT NULL,
    query text NOT NULL CONSTRAINT views_query_length CHECK (length(query) BETWEEN 1 AND 2000),
    place integer NOT NULL,
    feed_key bytea CONSTRAINT views_feed_key UNIQUE,  -- digest of the secret in the address of its feed; NULL: no feed
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz  -- deleted, and can be restored for a day
);

CREATE UNIQUE INDEX views_by_name ON views (user_id, lower(name)) WHERE deleted_at IS NULL;
CREATE INDEX views_in_order ON views (user_id, place, id);
CREATE TRIGGER views_touch_updated_at
    BEFORE UPDATE ON views
    FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

ALTER TABLE views ENABLE ROW LEVEL SECURITY;
