-- Deletion in two steps. Deleting a row of `sources` or `users` hides it everywhere at once, and takes with it what is small.
-- Its id stays here with the time, and the removing stage deletes what refers to it in short transactions, then the id.
CREATE TABLE source_ids (
    id uuid CONSTRAINT source_ids_pkey PRIMARY KEY,
    removed_at timestamptz,  -- NULL: the source exists
    ready_at timestamptz NOT NULL DEFAULT '-infinity',  -- until when a worker is removing it
    lease uuid
);
CREATE TABLE user_ids (
    id uuid CONSTRAINT user_ids_pkey PRIMARY KEY,
    removed_at timestamptz,
    ready_at timestamptz NOT NULL DEFAULT '-infinity',
    lease uuid
);
CREATE INDEX source_ids_removed ON source_ids (ready_at) WHERE removed_at IS NOT NULL;
CREATE INDEX user_ids_removed ON user_ids (ready_at) WHERE removed_at IS NOT NULL;
ALTER TABLE user_ids ENABLE ROW LEVEL SECURITY;  -- and no policy: no reader's

INSERT INTO source_ids (id) SELECT id FROM sources;
INSERT INTO user_ids (id) SELECT id FROM users;
-- Sources that were deleted before there was such a stage left URLs and counters behind.
INSERT INTO source_ids (id, removed_at)
SELECT source_id, now()
FROM (
    SELECT source_id FROM frontier_url
    UNION
    SELECT source_id FROM frontier_tally
    UNION
    SELECT source_id FROM poll_days
    UNION
    SELECT source_id FROM poll_leaders
) AS named
WHERE source_id IS NOT NULL AND NOT EXISTS (SELECT FROM sources WHERE sources.id = source_id);

-- The id of something that exists cannot be deleted.
ALTER TABLE sources
    ADD CONSTRAINT sources_id_fkey FOREIGN KEY (id) REFERENCES source_ids DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE users
    ADD CONSTRAINT users_id_fkey FOREIGN KEY (id) REFERENCES user_ids DEFERRABLE INITIALLY DEFERRED;

CREATE FUNCTION sources_keep_ids() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO source_ids (id) SELECT id FROM added;
    RETURN NULL;
END
$$;

CREATE FUNCTION users_keep_ids() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO user_ids (id) SELECT id FROM added;
    RETURN NULL;
END
$$;

CREATE FUNCTION sources_mark_removed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE source_ids SET removed_at = now() FROM removed WHERE source_ids.id = removed.id;
    RETURN NULL;
END
$$;

CREATE FUNCTION users_mark_removed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE user_ids SET removed_at = now() FROM removed WHERE user_ids.id = removed.id;
    RETURN NULL;
END
$$;

-- A host's list of feeds that failed alike names a feed that is gone no more.
CREATE FUNCTION feed_state_leave_host() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE poll_hosts
    SET alike_sources = array_remove(alike_sources, OLD.source_id)
    WHERE host = OLD.host AND OLD.source_id = ANY (alike_sources);
    RETURN NULL;
END
$$;

CREATE TRIGGER sources_keep_ids
    AFTER INSERT ON sources
    REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION sources_keep_ids();
CREATE TRIGGER users_keep_ids
    AFTER INSERT ON users
    REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION users_keep_ids();
CREATE TRIGGER sources_mark_removed
    AFTER DELETE ON sources
    REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION sources_mark_removed();
CREATE TRIGGER users_mark_removed
    AFTER DELETE ON users
    REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION users_mark_removed();
CREATE TRIGGER feed_state_leave_host
    AFTER DELETE ON feed_state
    FOR EACH ROW EXECUTE FUNCTION feed_state_leave_host();

-- What may be many rows refers to the id. The cascade is for what nobody removed before.
ALTER TABLE poll_events
    DROP CONSTRAINT poll_events_source_id_fkey,
    ADD CONSTRAINT poll_events_source_id_fkey FOREIGN KEY (source_id) REFERENCES source_ids ON DELETE CASCADE;
ALTER TABLE sitemaps
    DROP CONSTRAINT sitemaps_source_id_fkey,
    ADD CONSTRAINT sitemaps_source_id_fkey FOREIGN KEY (source_id) REFERENCES source_ids ON DELETE CASCADE;
ALTER TABLE pages
    DROP CONSTRAINT pages_source_id_fkey,
    ADD CONSTRAINT pages_source_id_fkey FOREIGN KEY (source_id) REFERENCES source_ids ON DELETE CASCADE;
ALTER TABLE feed_item_clicks
    DROP CONSTRAINT feed_item_clicks_source_id_fkey,
    ADD CONSTRAINT feed_item_clicks_source_id_fkey FOREIGN KEY (source_id) REFERENCES source_ids ON DELETE CASCADE;
ALTER TABLE article_sources
    DROP CONSTRAINT article_sources_source_id_fkey,
    ADD CONSTRAINT article_sources_source_id_fkey FOREIGN KEY (source_id) REFERENCES source_ids ON DELETE CASCADE;
ALTER TABLE subscriptions
    DROP CONSTRAINT subscriptions_user_id_fkey,
    ADD CONSTRAINT subscriptions_user_id_fkey FOREIGN KEY (user_id) REFERENCES user_ids ON DELETE CASCADE;
ALTER TABLE marks
    DROP CONSTRAINT marks_user_id_fkey,
    ADD CONSTRAINT marks_user_id_fkey FOREIGN KEY (user_id) REFERENCES user_ids ON DELETE CASCADE;
ALTER TABLE summaries
    DROP CONSTRAINT summaries_user_id_fkey,
    ADD CONSTRAINT summaries_user_id_fkey FOREIGN KEY (user_id) REFERENCES user_ids ON DELETE CASCADE;
ALTER TABLE imports
    DROP CONSTRAINT imports_user_id_fkey,
    ADD CONSTRAINT imports_user_id_fkey FOREIGN KEY (user_id) REFERENCES user_ids ON DELETE CASCADE;
ALTER TABLE import_lines
    DROP CONSTRAINT import_lines_user_id_fkey,
    ADD CONSTRAINT import_lines_user_id_fkey FOREIGN KEY (user_id) REFERENCES user_ids ON DELETE CASCADE;
ALTER TABLE events
    DROP CONSTRAINT events_user_id_fkey,
    ADD CONSTRAINT events_user_id_fkey FOREIGN KEY (user_id) REFERENCES user_ids ON DELETE CASCADE;
ALTER TABLE submissions
    DROP CONSTRAINT submissions_user_id_fkey,
    ADD CONSTRAINT submissions_user_id_fkey FOREIGN KEY (user_id) REFERENCES user_ids ON DELETE CASCADE;
ALTER TABLE analytics_consents
    DROP CONSTRAINT analytics_consents_user_id_fkey,
    ADD CONSTRAINT analytics_consents_user_id_fkey FOREIGN KEY (user_id) REFERENCES user_ids ON DELETE CASCADE;
ALTER TABLE analytics_refusals
    DROP CONSTRAINT analytics_refusals_user_id_fkey,
    ADD CONSTRAINT analytics_refusals_user_id_fkey FOREIGN KEY (user_id) REFERENCES user_ids ON DELETE CASCADE;

-- References that are cleared when the person is gone.
ALTER TABLE sources
    DROP CONSTRAINT sources_submitted_by_fkey,
    ADD CONSTRAINT sources_submitted_by_fkey FOREIGN KEY (submitted_by) REFERENCES user_ids ON DELETE SET NULL;
ALTER TABLE audit_log
    DROP CONSTRAINT audit_log_actor_id_fkey,
    ADD CONSTRAINT audit_log_actor_id_fkey FOREIGN KEY (actor_id) REFERENCES user_ids ON DELETE SET NULL;
ALTER TABLE submissions
    DROP CONSTRAINT submissions_decided_by_fkey,
    ADD CONSTRAINT submissions_decided_by_fkey FOREIGN KEY (decided_by) REFERENCES user_ids ON DELETE SET NULL;
ALTER TABLE blocked_domains
    DROP CONSTRAINT blocked_domains_blocked_by_fkey,
    ADD CONSTRAINT blocked_domains_blocked_by_fkey FOREIGN KEY (blocked_by) REFERENCES user_ids ON DELETE SET NULL;

CREATE INDEX pages_by_source ON pages (source_id) WHERE source_id IS NOT NULL;
