-- Who changed what for everybody, and when. Kept when the account goes: then only the name that was written stays.
CREATE TABLE audit_log (
    id uuid PRIMARY KEY,
    at timestamptz NOT NULL,
    actor_id uuid REFERENCES users ON DELETE SET NULL,
    actor_name text NOT NULL,
    deed varchar(30) NOT NULL,
    subject_id uuid,
    subject_name text NOT NULL,
    detail jsonb NOT NULL DEFAULT '{}'
);

CREATE INDEX audit_log_newest ON audit_log (at DESC, id DESC);
CREATE INDEX audit_log_by_subject ON audit_log (subject_id, at DESC, id DESC) WHERE subject_id IS NOT NULL;
CREATE INDEX audit_log_by_actor ON audit_log (actor_id, at DESC, id DESC) WHERE actor_id IS NOT NULL;
CREATE INDEX audit_log_by_deed ON audit_log (deed, at DESC, id DESC);

ALTER TABLE audit_log ENABLE ROW LEVEL SECURITY;  -- and no policy: no reader's
