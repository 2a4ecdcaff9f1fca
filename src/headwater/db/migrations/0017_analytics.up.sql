-- What readers open and click, for numbers per source: only of those who agreed to be counted.

-- Who agreed. A row is the consent: what was counted of a person refers to it, so that nothing can be counted without
-- it, and everything counted goes in the moment it is withdrawn.
CREATE TABLE analytics_consents (
    user_id uuid PRIMARY KEY REFERENCES users ON DELETE CASCADE,
    given_at timestamptz NOT NULL
);

-- Who said no, or took their yes back: they are not asked again.
CREATE TABLE analytics_refusals (
    user_id uuid PRIMARY KEY REFERENCES users ON DELETE CASCADE,
    refused_at timestamptz NOT NULL
);

-- Once per reader, article and kind. The article may go before this does: the count of its source stays right.
CREATE TABLE feed_item_clicks (
    id uuid NOT NULL,
    user_id uuid NOT NULL CONSTRAINT feed_item_clicks_need_consent REFERENCES analytics_consents ON DELETE CASCADE,
    article_id uuid NOT NULL,
    source_id uuid NOT NULL REFERENCES sources ON DELETE CASCADE,
    kind varchar(10) NOT NULL CONSTRAINT feed_item_clicks_kind CHECK (kind IN ('open', 'click', 'star')),
    clicked_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, id),
    CONSTRAINT feed_item_clicks_once UNIQUE (user_id, article_id, kind)
);

-- All that a count over some days needs, without a look at the rows.
CREATE INDEX feed_item_clicks_by_time ON feed_item_clicks (clicked_at) INCLUDE (source_id, user_id, article_id, kind);
CREATE INDEX feed_item_clicks_by_source ON feed_item_clicks (source_id, clicked_at);

ALTER TABLE analytics_consents ENABLE ROW LEVEL SECURITY;
ALTER TABLE analytics_refusals ENABLE ROW LEVEL SECURITY;
ALTER TABLE feed_item_clicks ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON analytics_consents TO headwater_person USING (user_id = current_person());
CREATE POLICY own ON analytics_refusals TO headwater_person USING (user_id = current_person());
CREATE POLICY own ON feed_item_clicks TO headwater_person USING (user_id = current_person());
GRANT SELECT, INSERT, DELETE ON analytics_consents, analytics_refusals, feed_item_clicks TO headwater_person;
GRANT UPDATE (given_at) ON analytics_consents TO headwater_person;  -- to hold it still while something is counted
