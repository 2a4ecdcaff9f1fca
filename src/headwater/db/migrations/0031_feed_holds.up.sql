-- What an operator or a site decided about a feed whose source was deleted because nobody follows it any more. It holds
-- again when somebody adds the feed again. No id of a source or a user.
CREATE TABLE feed_holds (
    feed_url_key bytea CONSTRAINT feed_holds_pkey PRIMARY KEY,
    is_switched_off boolean NOT NULL,  -- the whole source
    off_at timestamptz,  -- an operator disabled the feed
    off_reason text,
    off_until timestamptz,
    asked_until timestamptz  -- the site's Retry-After
);
