-- The last time that a user marked a list as read, to undo it.

CREATE TABLE read_undo (
    user_id uuid PRIMARY KEY REFERENCES user_ids ON DELETE CASCADE,
    id uuid NOT NULL,
    marked_at timestamptz NOT NULL,
    article_count integer NOT NULL,
    read_until jsonb NOT NULL,  -- of each subscription, as it was
    kept_unread uuid[] NOT NULL  -- articles that were marked unread
);

ALTER TABLE read_undo ENABLE ROW LEVEL SECURITY;
