ALTER TABLE sessions DROP COLUMN renewal_used_at;
DROP TABLE outgoing_mail;
