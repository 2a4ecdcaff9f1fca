-- Where a feed may have gone: found by Headwater, confirmed by a person. And entries known by their feed's own ids.
ALTER TABLE feed_state ADD COLUMN wants_discovery boolean NOT NULL DEFAULT false;
CREATE INDEX feed_state_wants_discovery ON feed_state (source_id) WHERE wants_discovery;

CREATE TABLE source_suggestions (
    source_id uuid NOT NULL REFERENCES sources ON DELETE CASCADE,
    feed_url text NOT NULL,
    title text NOT NULL,
    entry_count integer NOT NULL,
    found_at timestamptz NOT NULL,
    PRIMARY KEY (source_id, feed_url)
);

CREATE INDEX article_sources_by_entry ON article_sources (source_id, entry_id);
