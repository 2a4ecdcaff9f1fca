-- A feed that moved to another site is polled there and found under the address it was added with (feed_url_key): its
-- own URL is looked for apart. A hash: a URL may be longer than a B-tree holds.
CREATE INDEX sources_feed_url ON sources USING hash (feed_url);
