-- Users: accounts, sessions, tokens, mail to them, and the audit log.
--
-- This and the following files of the first release are the schema by subject. They contain no roles, grants or
-- policies: db/rights.py adds those after the last file. Tables that only Headwater itself uses enable row-level
-- security here.

-- The user of a transaction: set by Database.as_user, read by the policies of every table with rows of users.
CREATE FUNCTION current_person() RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('headwater.user_id', true), '')::uuid;

CREATE FUNCTION touch_updated_at() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    NEW.updated_at = now();
    RETURN NEW;
END
$$;


-- Accounts

-- Deletion has two steps. Deleting a row of `users` hides the user everywhere at once, and cascades to tables with few
-- rows. The id stays here with the time; the stage `removing` deletes the many rows that refer to it in short
-- transactions, then the id. Sources are deleted in the same way (`source_ids`).
CREATE TABLE user_ids (
    id uuid PRIMARY KEY,
    removed_at timestamptz,  -- NULL: the user exists
    ready_at timestamptz NOT NULL DEFAULT '-infinity',  -- the end of a worker's lease
    lease uuid
);

CREATE INDEX user_ids_removed ON user_ids (ready_at) WHERE removed_at IS NOT NULL;

CREATE TABLE users (
    -- The id of a user who exists cannot be deleted. Deferred: a trigger inserts the id after the user.
    id uuid PRIMARY KEY REFERENCES user_ids DEFERRABLE INITIALLY DEFERRED,
    email text NOT NULL CONSTRAINT users_email_length CHECK (length(email) BETWEEN 3 AND 254),
    email_key text NOT NULL CONSTRAINT users_email_key UNIQUE,  -- in lower case: one account per email
    password_hash text,  -- NULL: the user logs in through an outside issuer
    role varchar(20) NOT NULL DEFAULT 'reader'
        CONSTRAINT users_role CHECK (role IN ('reader', 'moderator', 'super_admin')),
    karma integer NOT NULL DEFAULT 0 CONSTRAINT users_karma CHECK (karma >= 0),  -- number of approved suggestions
    confirmed_at timestamptz,
    privacy_accepted_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE FUNCTION users_keep_ids() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO user_ids (id) SELECT id FROM added;
    RETURN NULL;
END
$$;

CREATE FUNCTION users_mark_removed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE user_ids SET removed_at = now() FROM removed WHERE user_ids.id = removed.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER users_touch_updated_at
    BEFORE UPDATE ON users
    FOR EACH ROW EXECUTE FUNCTION touch_updated_at();
CREATE TRIGGER users_keep_ids
    AFTER INSERT ON users
    REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION users_keep_ids();
CREATE TRIGGER users_mark_removed
    AFTER DELETE ON users
    REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION users_mark_removed();

-- The user's identity at an outside issuer.
CREATE TABLE outside_identities (
    issuer text NOT NULL,
    subject text NOT NULL,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    PRIMARY KEY (issuer, subject)
);

CREATE INDEX outside_identities_by_user ON outside_identities (user_id);


-- Sessions and tokens. Only the digest of a token is stored: reading these tables does not allow a login.

CREATE TABLE sessions (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    access_hash bytea NOT NULL CONSTRAINT sessions_access UNIQUE,
    access_until timestamptz NOT NULL,
    refresh_hash bytea NOT NULL CONSTRAINT sessions_refresh UNIQUE,
    refresh_until timestamptz NOT NULL,
    replaced_hash bytea CONSTRAINT sessions_replaced UNIQUE,  -- the refresh token before the last renewal
    replaced_at timestamptz,
    -- When the tokens of the last renewal were first used. While it is NULL, the response to that renewal may have been
    -- lost: the refresh token before it is then accepted for longer.
    renewal_used_at timestamptz,
    started_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL,
    address text NOT NULL,
    user_agent text NOT NULL
);

CREATE INDEX sessions_by_user ON sessions (user_id, seen_at DESC);
CREATE INDEX sessions_ended ON sessions (refresh_until);

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

-- Sent by mail, valid once and for a short time.
CREATE TABLE mailed_tokens (
    token_hash bytea PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    purpose varchar(10) NOT NULL CONSTRAINT mailed_tokens_purpose CHECK (purpose IN ('reset', 'confirm', 'email')),
    email text NOT NULL,
    good_until timestamptz NOT NULL
);

CREATE INDEX mailed_tokens_by_user ON mailed_tokens (user_id, purpose);

-- The keys that all processes sign with; created by the first that needs one.
CREATE TABLE shared_secrets (
    name text PRIMARY KEY,
    value bytea NOT NULL
);

ALTER TABLE shared_secrets ENABLE ROW LEVEL SECURITY;

-- Rate limits of logins and the like, by account and by address, shared by all processes.
CREATE TABLE attempts (
    bucket text PRIMARY KEY,
    count integer NOT NULL,
    ends_at timestamptz NOT NULL
);

CREATE INDEX attempts_ended ON attempts (ends_at);

ALTER TABLE attempts ENABLE ROW LEVEL SECURITY;


-- Mail

-- Mail about accounts that waits to be sent. Neither the text nor a token is stored, since the sender creates both when
-- it sends: no link can be read from this table.
CREATE TABLE outgoing_mail (
    id uuid PRIMARY KEY,
    kind varchar(20) NOT NULL CONSTRAINT outgoing_mail_kind CHECK (kind IN (
        'reset', 'confirm', 'email', 'reminder', 'password_changed', 'email_asked', 'email_changed'
    )),
    email text NOT NULL,
    email_key text NOT NULL,
    user_id uuid REFERENCES users ON DELETE CASCADE,  -- NULL: the account with this email, if there is one
    site text NOT NULL,  -- the start of every link
    detail text NOT NULL DEFAULT '',
    queued_at timestamptz NOT NULL,
    ready_at timestamptz NOT NULL,  -- when to send it; while it is being sent, the end of the lease
    attempts integer NOT NULL DEFAULT 0,
    CONSTRAINT outgoing_mail_once UNIQUE NULLS NOT DISTINCT (kind, email_key, user_id)
);

CREATE INDEX outgoing_mail_ready ON outgoing_mail (ready_at);
CREATE INDEX outgoing_mail_by_user ON outgoing_mail (user_id);


-- What users and operators did

CREATE TABLE events (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES user_ids ON DELETE CASCADE,
    event_type varchar(40) NOT NULL,
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL
);

CREATE INDEX events_by_user ON events (user_id, created_at DESC);
CREATE INDEX events_by_time ON events (created_at);  -- for retention

-- Changes that affect all users. A row outlives the account of its actor; the name stays.
CREATE TABLE audit_log (
    id uuid PRIMARY KEY,
    at timestamptz NOT NULL,
    actor_id uuid REFERENCES user_ids ON DELETE SET NULL,
    actor_name text NOT NULL,
    action varchar(30) NOT NULL,
    subject_id uuid,
    subject_name text NOT NULL,
    detail jsonb NOT NULL DEFAULT '{}'
);

CREATE INDEX audit_log_newest ON audit_log (at DESC, id DESC);
CREATE INDEX audit_log_by_subject ON audit_log (subject_id, at DESC, id DESC) WHERE subject_id IS NOT NULL;
CREATE INDEX audit_log_by_actor ON audit_log (actor_id, at DESC, id DESC) WHERE actor_id IS NOT NULL;
CREATE INDEX audit_log_by_action ON audit_log (action, at DESC, id DESC);
