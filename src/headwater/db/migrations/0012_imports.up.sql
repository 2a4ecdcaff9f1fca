-- Files of feeds that readers bring along. Each line waits here until it is worked on and then tells what came of it: no
-- line is lost, whatever ends in between.
CREATE TABLE imports (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    file_name text NOT NULL,
    created_at timestamptz NOT NULL,
    finished_at timestamptz
);

CREATE UNIQUE INDEX imports_one_at_a_time ON imports (user_id) WHERE finished_at IS NULL;
CREATE INDEX imports_by_user ON imports (user_id, created_at DESC);

CREATE TABLE import_lines (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    import_id uuid NOT NULL REFERENCES imports ON DELETE CASCADE,
    number integer NOT NULL,
    name text NOT NULL,
    url text NOT NULL,
    category text NOT NULL,
    outcome varchar(10) CONSTRAINT import_lines_outcome CHECK (outcome IN ('added', 'followed', 'invalid')),
    reason text NOT NULL DEFAULT '',
    CONSTRAINT import_lines_one_per_number UNIQUE (import_id, number)
);

CREATE INDEX import_lines_by_user ON import_lines (user_id, id);
CREATE INDEX import_lines_waiting ON import_lines (import_id, number) WHERE outcome IS NULL;
CREATE INDEX import_lines_counted ON import_lines (import_id, outcome);

ALTER TABLE imports ENABLE ROW LEVEL SECURITY;
ALTER TABLE import_lines ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON imports TO headwater_person USING (user_id = current_person());
CREATE POLICY own ON import_lines TO headwater_person USING (user_id = current_person());
GRANT SELECT, INSERT, UPDATE, DELETE ON imports, import_lines TO headwater_person;

-- What was found where a reader named a page instead of a feed is offered to them.
GRANT SELECT ON source_suggestions TO headwater_person;
