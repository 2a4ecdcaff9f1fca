DROP TRIGGER articles_forget_rules ON articles;
DROP FUNCTION rules_forget_articles();
DELETE FROM outgoing_mail WHERE kind = 'digest';
ALTER TABLE outgoing_mail
    DROP CONSTRAINT outgoing_mail_kind,
    ADD CONSTRAINT outgoing_mail_kind CHECK (kind IN (
        'reset', 'confirm', 'email', 'reminder', 'password_changed', 'email_asked', 'email_changed'
    ));
DROP TABLE notifications, notification_targets, rule_log, rules_state, rules;
