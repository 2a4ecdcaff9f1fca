-- The newest unread articles by email (library/digests/).

ALTER TABLE reading_options
    ADD COLUMN email_digest varchar(20) NOT NULL DEFAULT 'off',
    ADD COLUMN digest_at timestamptz,  -- when it is due; while one is written, the end of the lease
    ADD CONSTRAINT reading_options_email_digest CHECK (email_digest IN ('off', 'daily', 'weekly'));

CREATE INDEX reading_options_digest ON reading_options (digest_at) WHERE digest_at IS NOT NULL;

ALTER TABLE outgoing_mail
    DROP CONSTRAINT outgoing_mail_kind,
    ADD CONSTRAINT outgoing_mail_kind CHECK (kind IN (
        'reset', 'confirm', 'email', 'reminder', 'password_changed', 'email_asked', 'email_changed', 'digest', 'unread'
    ));
