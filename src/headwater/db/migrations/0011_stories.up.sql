-- Stories: articles of several sources about one event. `article_state.story_id` says which story an article is in.
-- docs/understanding.md describes them.

-- What is counted of a story, for lists. Its articles may change at any time: those of `article_state` count.
CREATE TABLE stories (
    id uuid PRIMARY KEY,
    title text NOT NULL,  -- the shared title of the article nearest to its centre
    first_at timestamptz NOT NULL,  -- listed_at of its first and last article
    last_at timestamptz NOT NULL,
    article_count integer NOT NULL,
    source_count integer NOT NULL  -- of the articles' own sites if any of their feeds list them
);

CREATE INDEX stories_recent ON stories (last_at DESC, id);

-- The stage `stories`: one worker at a time has the stories of the last 72 hours in memory.
CREATE TABLE story_state (
    is_only boolean PRIMARY KEY DEFAULT true CONSTRAINT story_state_one_row CHECK (is_only),
    lease uuid,
    leased_until timestamptz,
    reviewed_at timestamptz,
    swept_at timestamptz  -- stories that end before it were swept; NULL: the sweep begins anew
);

INSERT INTO story_state DEFAULT VALUES;

-- What a reader chose for the lists.
CREATE TABLE reading_options (
    user_id uuid PRIMARY KEY REFERENCES user_ids ON DELETE CASCADE,
    groups_stories boolean NOT NULL DEFAULT true
);

ALTER TABLE reading_options ENABLE ROW LEVEL SECURITY;
