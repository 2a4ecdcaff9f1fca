-- The console: numbers of sources to sort by, changes of many sources at once, and saved filters.

-- What the table of sources is sorted by, beside what `feed_state` has. The stage `counting` writes it.
CREATE TABLE source_numbers (
    source_id uuid PRIMARY KEY REFERENCES sources ON DELETE CASCADE,
    articles integer NOT NULL DEFAULT 0,  -- new ones in 7 days
    error_rate real NOT NULL DEFAULT 0,  -- the share of polls that failed in 7 days
    readers integer NOT NULL DEFAULT 0
) WITH (fillfactor = 80);

CREATE INDEX source_numbers_by_articles ON source_numbers (articles, source_id);
CREATE INDEX source_numbers_by_error_rate ON source_numbers (error_rate, source_id);
CREATE INDEX source_numbers_by_readers ON source_numbers (readers, source_id);

-- Every source has a row, so that a list can begin with this table.
CREATE FUNCTION sources_add_numbers() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    INSERT INTO source_numbers (source_id) VALUES (NEW.id);
    RETURN NULL;
END
$$;

CREATE TRIGGER sources_add_numbers
    AFTER INSERT ON sources
    FOR EACH ROW EXECUTE FUNCTION sources_add_numbers();
INSERT INTO source_numbers (source_id) SELECT id FROM sources;

-- A change of many sources by an operator, as previewed: applied a few at a time, and undone from `before`.
CREATE TABLE bulk_changes (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES user_ids ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    action varchar(20) NOT NULL,
    value text NOT NULL,
    source_ids uuid[] NOT NULL,
    claimed integer NOT NULL DEFAULT 0,  -- how many of them were begun
    changed integer NOT NULL DEFAULT 0,
    before jsonb NOT NULL DEFAULT '{}',  -- by source: what undoing it restores
    undoes uuid CONSTRAINT bulk_changes_undone_once UNIQUE REFERENCES bulk_changes ON DELETE CASCADE
);

CREATE INDEX bulk_changes_by_user ON bulk_changes (user_id, created_at);
ALTER TABLE bulk_changes ENABLE ROW LEVEL SECURITY;

CREATE TABLE saved_filters (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES user_ids ON DELETE CASCADE,
    page varchar(20) NOT NULL,
    name varchar(60) NOT NULL CONSTRAINT saved_filters_name CHECK (name <> ''),
    query varchar(2000) NOT NULL,
    CONSTRAINT saved_filters_one_per_name UNIQUE (user_id, page, name)
);

ALTER TABLE saved_filters ENABLE ROW LEVEL SECURITY;
