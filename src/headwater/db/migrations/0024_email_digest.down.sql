DELETE FROM outgoing_mail WHERE kind = 'unread';
ALTER TABLE outgoing_mail
    DROP CONSTRAINT outgoing_mail_kind,
    ADD CONSTRAINT outgoing_mail_kind CHECK (kind IN (
        'reset', 'confirm', 'email', 'reminder', 'password_changed', 'email_asked', 'email_changed', 'digest'
    ));

ALTER TABLE reading_options
    DROP COLUMN email_digest,
    DROP COLUMN digest_at;
