-- Mail about accounts that waits to be sent. Neither the text nor a token is kept: the sender makes both at the moment of
-- sending, so who reads this table can use no link.
CREATE TABLE outgoing_mail (
    id uuid PRIMARY KEY,
    kind varchar(20) NOT NULL CONSTRAINT outgoing_mail_kind CHECK (kind IN (
        'reset', 'confirm', 'email', 'reminder', 'password_changed', 'email_asked', 'email_changed'
    )),
    email text NOT NULL,
    email_key text NOT NULL,
    user_id uuid REFERENCES users ON DELETE CASCADE,  -- NULL: the account with this email, if there is one
    site text NOT NULL,  -- links begin with it
    detail text NOT NULL DEFAULT '',
    queued_at timestamptz NOT NULL,
    ready_at timestamptz NOT NULL,  -- when to send it; while it is being sent, the end of the lease
    attempts integer NOT NULL DEFAULT 0,
    CONSTRAINT outgoing_mail_once UNIQUE NULLS NOT DISTINCT (kind, email_key, user_id)
);

CREATE INDEX outgoing_mail_ready ON outgoing_mail (ready_at);
CREATE INDEX outgoing_mail_by_user ON outgoing_mail (user_id);

ALTER TABLE outgoing_mail ENABLE ROW LEVEL SECURITY;  -- and no grant to headwater_person: only the sender reads it
CREATE POLICY own ON outgoing_mail TO headwater_person USING (user_id = current_person());

-- Since when the tokens of the last renewal are in use. While it is NULL the answer to that renewal may have been lost:
-- the refresh token before it is then accepted for longer.
ALTER TABLE sessions ADD COLUMN renewal_used_at timestamptz;
