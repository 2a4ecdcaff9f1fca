-- Custom feeds: what readers suggest for everybody, who decided on it, and domains that nothing is taken from.

-- Grows with what was approved. Who has enough of it is trusted.
ALTER TABLE users ADD COLUMN karma integer NOT NULL DEFAULT 0 CONSTRAINT users_karma CHECK (karma >= 0);
GRANT SELECT (karma) ON users TO headwater_person;

-- NULL: nobody has suggested it for everybody. It is an operator's (is_system), or private to those who follow it.
ALTER TABLE sources
    ADD COLUMN moderation_status varchar(10)
        CONSTRAINT sources_moderation_status CHECK (moderation_status IN ('pending', 'approved', 'rejected'));
CREATE INDEX sources_suggested ON sources (moderation_status, id) WHERE moderation_status IS NOT NULL;

-- A name without what two spellings of it may differ in.
CREATE FUNCTION plain_name(name text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN lower(regexp_replace(name, '[^[:alnum:]]+', '', 'g'));
CREATE INDEX sources_by_plain_name ON sources (plain_name(name));

-- What a reader suggests. The source takes its name, category and interval when it is approved.
CREATE TABLE submissions (
    source_id uuid PRIMARY KEY REFERENCES sources ON DELETE CASCADE,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    name text NOT NULL CONSTRAINT submissions_name_length CHECK (length(name) BETWEEN 1 AND 255),
    category text CONSTRAINT submissions_category_length CHECK (length(category) BETWEEN 1 AND 100),
    interval_minutes integer CONSTRAINT submissions_interval_bounds CHECK (interval_minutes BETWEEN 15 AND 1440),
    host text NOT NULL,
    sample jsonb NOT NULL,  -- what the feed held when it was suggested
    submitted_at timestamptz NOT NULL,
    -- NULL while no person has decided; one that is live all the same is so because its submitter is trusted.
    decided_at timestamptz,
    decided_by uuid REFERENCES users ON DELETE SET NULL,
    decided_by_name text,
    reason text CONSTRAINT submissions_reason_length CHECK (length(reason) BETWEEN 1 AND 500)
);

CREATE INDEX submissions_by_user ON submissions (user_id, submitted_at DESC);
CREATE INDEX submissions_undecided ON submissions (submitted_at, source_id) WHERE decided_at IS NULL;
CREATE INDEX submissions_decided ON submissions (decided_at DESC, source_id DESC) WHERE decided_at IS NOT NULL;
CREATE INDEX submissions_decided_by ON submissions (decided_by) WHERE decided_by IS NOT NULL;

ALTER TABLE submissions ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON submissions TO headwater_person USING (user_id = current_person());
-- Who decided is the operators' to know.
GRANT SELECT (
    source_id, user_id, name, category, interval_minutes, host, sample, submitted_at, decided_at, reason
) ON submissions TO headwater_person;

-- Each with all that is below it.
CREATE TABLE blocked_domains (
    domain text PRIMARY KEY CONSTRAINT blocked_domains_length CHECK (length(domain) BETWEEN 1 AND 253),
    reason text NOT NULL CONSTRAINT blocked_domains_reason_length CHECK (length(reason) BETWEEN 1 AND 500),
    blocked_by uuid REFERENCES users ON DELETE SET NULL,
    blocked_by_name text NOT NULL,
    blocked_at timestamptz NOT NULL
);

CREATE INDEX blocked_domains_by_person ON blocked_domains (blocked_by) WHERE blocked_by IS NOT NULL;
ALTER TABLE blocked_domains ENABLE ROW LEVEL SECURITY;  -- and no policy: no reader's
