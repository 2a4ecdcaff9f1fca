-- Bodies that were fetched and wait to be read. One clock, `ready_at`: when it came, or until when somebody has it.
CREATE TABLE pages (
    id uuid PRIMARY KEY,
    url text NOT NULL,
    final_url text NOT NULL,
    kind varchar(10) NOT NULL CONSTRAINT pages_kind CHECK (kind IN ('article', 'sitemap', 'list')),
    source_id uuid REFERENCES sources ON DELETE CASCADE,
    depth smallint NOT NULL,
    content_type text NOT NULL,
    body bytea NOT NULL,
    fetched_at timestamptz NOT NULL,
    ready_at timestamptz NOT NULL,
    lease uuid,
    attempts smallint NOT NULL DEFAULT 0
);

CREATE INDEX pages_ready ON pages (kind, ready_at);
