-- What the operators' tables of users and of the audit log are sorted by.

CREATE INDEX users_by_created_at ON users (created_at, id);
CREATE INDEX users_by_karma ON users (karma, id);
CREATE INDEX audit_log_by_action_and_id ON audit_log (action, id);
CREATE INDEX audit_log_by_subject_name ON audit_log (lower(subject_name), id);
