-- Channels: queries whose articles are sent to a destination. Revisions: the order in which articles changed.

-- The last revision. Whoever makes a new one holds this row until the end of its transaction, so that revisions become
-- visible in their order: a reader that has seen one has seen all before it.
CREATE TABLE publishing_state (
    is_only boolean PRIMARY KEY DEFAULT true CONSTRAINT publishing_state_one_row CHECK (is_only),
    last_revision bigint NOT NULL DEFAULT 0,
    channels_version bigint NOT NULL DEFAULT 0  -- higher after each change of a channel: processes read them again
);

-- An article gets a new revision when what a message says of it changes: its text, labels or sources.
ALTER TABLE article_state
    ADD COLUMN revision bigint,
    ADD COLUMN revised_at timestamptz,
    ADD COLUMN revision_digest bytea;  -- of what the last revision said

CREATE INDEX article_state_revision ON article_state (revision) WHERE revision IS NOT NULL;

UPDATE article_state
SET revision = placed.place, revised_at = coalesce(classified_at, now())
FROM (
    SELECT article_id, row_number() OVER (ORDER BY article_id) AS place
    FROM article_state WHERE classified_at IS NOT NULL
) AS placed
WHERE article_state.article_id = placed.article_id;

INSERT INTO publishing_state (last_revision) SELECT coalesce(max(revision), 0) FROM article_state;

CREATE TABLE channels (
    id uuid PRIMARY KEY,
    name varchar(100) NOT NULL CONSTRAINT channels_name CHECK (name ~ '^[a-z0-9][a-z0-9._:-]*$'),
    query text NOT NULL CONSTRAINT channels_query_length CHECK (length(query) BETWEEN 1 AND 2000),
    -- Any channel can be read as a stream or feed. 'none': in no other way.
    destination varchar(20) NOT NULL CONSTRAINT channels_destination
        CHECK (destination IN ('none', 'webhook', 'redis', 'nats', 'file', 'search_index')),
    options jsonb NOT NULL DEFAULT '{}',  -- of the destination, such as its URL
    secret text,  -- signs the messages of a webhook
    feed_key bytea CONSTRAINT channels_feed_key UNIQUE,  -- digest of the secret in the address of its feed
    version integer NOT NULL DEFAULT 1,
    is_paused boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    -- Delivering: when its next deliveries may be sent, or the end of a lease. One worker at a time keeps the order.
    ready_at timestamptz NOT NULL DEFAULT now(),
    lease uuid,
    settled_to bigint NOT NULL DEFAULT 0,  -- nothing waits up to this revision: claims begin after it
    replay_after bigint,  -- a replay sends its deliveries after this revision and up to the next again; NULL: none
    replay_to bigint CONSTRAINT channels_replay CHECK ((replay_to IS NULL) = (replay_after IS NULL)),
    delivered bigint NOT NULL DEFAULT 0,  -- how many in all, replays included
    delivered_at timestamptz,  -- the last
    failures integer NOT NULL DEFAULT 0,  -- in a row
    failed_since timestamptz,
    reason text  -- of the last failure
);

CREATE UNIQUE INDEX channels_by_name ON channels (name);
CREATE TRIGGER channels_touch_updated_at
    BEFORE UPDATE OF name, query, destination, options, secret, feed_key, is_paused ON channels
    FOR EACH ROW EXECUTE FUNCTION touch_updated_at();
ALTER TABLE channels ENABLE ROW LEVEL SECURITY;  -- its secrets: no user's transaction reads it

-- One row per channel, article and revision: what is to be sent, was sent, or was refused. Its id, for the destination,
-- is made of channel and revision; it stays the same when it is sent again. Without a foreign key: the rows of a deleted
-- channel are deleted in the background, since nothing gets a revision while its transaction lasts.
CREATE TABLE deliveries (
    channel_id uuid NOT NULL,
    revision bigint NOT NULL,
    article_id uuid NOT NULL,
    queued_at timestamptz NOT NULL,
    delivered_at timestamptz,  -- NULL: waits, or refused
    attempts smallint NOT NULL DEFAULT 0,  -- in which it was refused alone
    reason text,  -- why it was refused: a dead letter
    PRIMARY KEY (channel_id, revision)
) WITH (autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX deliveries_waiting ON deliveries (channel_id, revision) WHERE delivered_at IS NULL AND reason IS NULL;
CREATE INDEX deliveries_refused ON deliveries (channel_id, revision) WHERE reason IS NOT NULL;
CREATE INDEX deliveries_done ON deliveries (channel_id, delivered_at) WHERE delivered_at IS NOT NULL;
