DROP TABLE audit_log, events, outgoing_mail, attempts, shared_secrets, mailed_tokens, api_tokens, sessions;
DROP TABLE outside_identities, users, user_ids;
DROP FUNCTION users_mark_removed, users_keep_ids, touch_updated_at, current_person;
