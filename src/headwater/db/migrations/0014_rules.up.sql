-- Rules of users: what happens to an article that arrives and matches a query. Notifications of such articles.

CREATE TABLE rules (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES user_ids ON DELETE CASCADE,
    name varchar(100) NOT NULL CONSTRAINT rules_name CHECK (name <> ''),
    query text NOT NULL CONSTRAINT rules_query_length CHECK (length(query) BETWEEN 1 AND 2000),
    mute varchar(10) CONSTRAINT rules_mute CHECK (mute IN ('word', 'author', 'source')),  -- NULL: not made by Mute
    marks_read boolean NOT NULL DEFAULT false,
    stars boolean NOT NULL DEFAULT false,
    hides boolean NOT NULL DEFAULT false,
    tags text[] NOT NULL DEFAULT '{}',  -- in lower case
    notify text[] NOT NULL DEFAULT '{}' CONSTRAINT rules_notify CHECK (notify <@ '{email,webhook,push}'),
    is_enabled boolean NOT NULL DEFAULT true,
    version uuid NOT NULL DEFAULT gen_random_uuid(),  -- another after each change
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,  -- deleted, and can be restored for a day
    CONSTRAINT rules_do_something CHECK (marks_read OR stars OR hides OR tags <> '{}' OR notify <> '{}')
);

CREATE INDEX rules_by_user ON rules (user_id, id);
-- Workers compare the versions of all rules in use with those that they have loaded, by the index alone.
CREATE INDEX rules_in_use ON rules (version) WHERE is_enabled AND deleted_at IS NULL;
CREATE INDEX rules_deleted ON rules (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE TRIGGER rules_touch_updated_at
    BEFORE UPDATE OF name, query, marks_read, stars, hides, tags, notify, is_enabled ON rules
    FOR EACH ROW EXECUTE FUNCTION touch_updated_at();
ALTER TABLE rules ENABLE ROW LEVEL SECURITY;

-- The place of the stage `rules` in the order of revisions. One worker at a time.
CREATE TABLE rules_state (
    is_only boolean PRIMARY KEY DEFAULT true CONSTRAINT rules_state_one_row CHECK (is_only),
    done_to bigint NOT NULL,  -- the last revision to which the rules were applied
    lease uuid,
    leased_until timestamptz
);

INSERT INTO rules_state (done_to) SELECT last_revision FROM publishing_state;

-- What a rule did to an article: each at most once. Deleted after 30 days; rules ignore articles that are older.
CREATE TABLE rule_log (
    rule_id uuid NOT NULL REFERENCES rules ON DELETE CASCADE,
    article_id uuid NOT NULL,
    user_id uuid NOT NULL REFERENCES user_ids ON DELETE CASCADE,
    applied_at timestamptz NOT NULL,
    actions text[] NOT NULL,  -- what it did: 'read', 'star', 'hide', 'tag:' with a tag, 'notify:' with a kind
    PRIMARY KEY (rule_id, article_id)
);

CREATE INDEX rule_log_newest ON rule_log (rule_id, applied_at DESC, article_id DESC);
CREATE INDEX rule_log_by_user ON rule_log (user_id, applied_at DESC);
CREATE INDEX rule_log_by_time ON rule_log (applied_at);  -- for retention
CREATE INDEX rule_log_by_article ON rule_log (article_id);
ALTER TABLE rule_log ENABLE ROW LEVEL SECURITY;


-- Notifications

-- Where a user is notified: by a daily email, at a webhook, or in a browser (web push).
CREATE TABLE notification_targets (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES user_ids ON DELETE CASCADE,
    kind varchar(10) NOT NULL CONSTRAINT notification_targets_kind CHECK (kind IN ('email', 'webhook', 'push')),
    name varchar(100) NOT NULL DEFAULT '',  -- of the browser
    url text NOT NULL DEFAULT '',  -- of the webhook, or of the push service
    secret text,  -- signs the messages of a webhook
    push_key text,  -- of the browser, for encryption
    push_auth text,
    is_enabled boolean NOT NULL DEFAULT true,  -- false: unsubscribed, or disabled after failures
    created_at timestamptz NOT NULL DEFAULT now(),
    ready_at timestamptz,  -- when to send what waits; during that, the end of the lease. NULL: nothing waits
    lease uuid,
    failures integer NOT NULL DEFAULT 0,  -- in a row
    reason text,  -- of the last failure
    sent_at timestamptz,  -- the last
    CONSTRAINT notification_targets_push CHECK ((kind = 'push') = (push_key IS NOT NULL AND push_auth IS NOT NULL))
);

CREATE UNIQUE INDEX notification_targets_once ON notification_targets (user_id, kind, md5(url));
CREATE INDEX notification_targets_ready ON notification_targets (ready_at) WHERE is_enabled AND ready_at IS NOT NULL;
ALTER TABLE notification_targets ENABLE ROW LEVEL SECURITY;

CREATE TABLE notifications (
    target_id uuid NOT NULL REFERENCES notification_targets ON DELETE CASCADE,
    article_id uuid NOT NULL,
    user_id uuid NOT NULL REFERENCES user_ids ON DELETE CASCADE,
    rule_id uuid NOT NULL,
    queued_at timestamptz NOT NULL,
    sent_at timestamptz,  -- NULL: waits
    PRIMARY KEY (target_id, article_id)
);

CREATE INDEX notifications_waiting ON notifications (target_id, queued_at) WHERE sent_at IS NULL;
CREATE INDEX notifications_by_user ON notifications (user_id, queued_at);
CREATE INDEX notifications_by_time ON notifications (queued_at);  -- for retention
CREATE INDEX notifications_by_article ON notifications (article_id);
ALTER TABLE notifications ENABLE ROW LEVEL SECURITY;

-- What is deleted leaves no trace.
CREATE FUNCTION rules_forget_articles() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    DELETE FROM rule_log USING forgotten WHERE rule_log.article_id = forgotten.id;
    DELETE FROM notifications USING forgotten WHERE notifications.article_id = forgotten.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER articles_forget_rules
    AFTER DELETE ON articles
    REFERENCING OLD TABLE AS forgotten
    FOR EACH STATEMENT EXECUTE FUNCTION rules_forget_articles();

ALTER TABLE outgoing_mail
    DROP CONSTRAINT outgoing_mail_kind,
    ADD CONSTRAINT outgoing_mail_kind CHECK (kind IN (
        'reset', 'confirm', 'email', 'reminder', 'password_changed', 'email_asked', 'email_changed', 'digest'
    ));
