-- People: their accounts, sessions and tokens. What belongs to a person is guarded by row-level security: a request's
-- transaction runs as headwater_person and sees only rows of current_person().
CREATE TABLE users (
    id uuid PRIMARY KEY,
    email text NOT NULL CONSTRAINT users_email_length CHECK (length(email) BETWEEN 3 AND 254),
    email_key text NOT NULL CONSTRAINT users_email_key UNIQUE,  -- in lower case: nobody registers twice
    password_hash text,  -- NULL: comes in through somebody else's log-in
    role varchar(20) NOT NULL DEFAULT 'reader'
        CONSTRAINT users_role CHECK (role IN ('reader', 'moderator', 'super_admin')),
    confirmed_at timestamptz,
    privacy_accepted_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TRIGGER users_touch_updated_at
    BEFORE UPDATE ON users
    FOR EACH ROW EXECUTE FUNCTION touch_updated_at();

-- Of every token only its digest is kept: who reads this table can log in as nobody.
CREATE TABLE sessions (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    access_hash bytea NOT NULL CONSTRAINT sessions_access UNIQUE,
    access_until timestamptz NOT NULL,
    refresh_hash bytea NOT NULL CONSTRAINT sessions_refresh UNIQUE,
    refresh_until timestamptz NOT NULL,
    replaced_hash bytea CONSTRAINT sessions_replaced UNIQUE,  -- the refresh token before the last rotation
    replaced_at timestamptz,
    started_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL,
    address text NOT NULL,
    user_agent text NOT NULL
);

CREATE INDEX sessions_by_user ON sessions (user_id, seen_at DESC);
CREATE INDEX sessions_ended ON sessions (refresh_until);

-- Sent by mail, good once and for a short time.
CREATE TABLE mailed_tokens (
    token_hash bytea PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    purpose varchar(10) NOT NULL CONSTRAINT mailed_tokens_purpose CHECK (purpose IN ('reset', 'confirm', 'email')),
    email text NOT NULL,
    good_until timestamptz NOT NULL
);

CREATE INDEX mailed_tokens_by_user ON mailed_tokens (user_id, purpose);

CREATE TABLE api_tokens (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    name text NOT NULL CONSTRAINT api_tokens_name_length CHECK (length(name) BETWEEN 1 AND 100),
    token_hash bytea NOT NULL CONSTRAINT api_tokens_hash UNIQUE,
    scopes text[] NOT NULL,
    created_at timestamptz NOT NULL,
    used_at timestamptz,
    CONSTRAINT api_tokens_one_per_name UNIQUE (user_id, name)
);

-- Who a person is to an outside issuer.
CREATE TABLE outside_identities (
    issuer text NOT NULL,
    subject text NOT NULL,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    PRIMARY KEY (issuer, subject)
);

CREATE INDEX outside_identities_by_user ON outside_identities (user_id);

-- How often something was tried lately, by account and by address: shared by all processes.
CREATE TABLE attempts (
    bucket text PRIMARY KEY,
    count integer NOT NULL,
    ends_at timestamptz NOT NULL
);

CREATE INDEX attempts_ended ON attempts (ends_at);

-- What all processes sign with; made by the first that needs it.
CREATE TABLE shared_secrets (
    name text PRIMARY KEY,
    value bytea NOT NULL
);
ALTER TABLE shared_secrets ENABLE ROW LEVEL SECURITY;

CREATE TABLE events (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    event_type varchar(40) NOT NULL,
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL
);

CREATE INDEX events_by_user ON events (user_id, created_at DESC);

ALTER TABLE users ENABLE ROW LEVEL SECURITY;
ALTER TABLE sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE mailed_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE outside_identities ENABLE ROW LEVEL SECURITY;
ALTER TABLE attempts ENABLE ROW LEVEL SECURITY;  -- and no policy: nobody's
ALTER TABLE events ENABLE ROW LEVEL SECURITY;

CREATE POLICY own ON users TO headwater_person USING (id = current_person());
CREATE POLICY own ON sessions TO headwater_person USING (user_id = current_person());
CREATE POLICY own ON api_tokens TO headwater_person USING (user_id = current_person());
CREATE POLICY own ON outside_identities TO headwater_person USING (user_id = current_person());
CREATE POLICY own ON events TO headwater_person USING (user_id = current_person());

-- No column that makes a person somebody else: role, address and password change through Headwater's own steps.
GRANT SELECT (id, email, role, confirmed_at, privacy_accepted_at, created_at) ON users TO headwater_person;
GRANT SELECT (id, user_id, started_at, seen_at, address, user_agent, refresh_until), DELETE ON sessions
    TO headwater_person;
GRANT SELECT (id, user_id, name, scopes, created_at, used_at), DELETE ON api_tokens TO headwater_person;
GRANT SELECT ON outside_identities TO headwater_person;
GRANT SELECT, INSERT ON events TO headwater_person;
