DROP INDEX audit_log_by_subject_name;
DROP INDEX audit_log_by_action_and_id;
DROP INDEX users_by_karma;
DROP INDEX users_by_created_at;
