-- What was being removed goes at once.
DELETE FROM source_ids WHERE removed_at IS NOT NULL;
DELETE FROM user_ids WHERE removed_at IS NOT NULL;
DROP INDEX pages_by_source;
ALTER TABLE sources
    DROP CONSTRAINT sources_submitted_by_fkey,
    ADD CONSTRAINT sources_submitted_by_fkey FOREIGN KEY (submitted_by) REFERENCES users ON DELETE SET NULL;
ALTER TABLE audit_log
    DROP CONSTRAINT audit_log_actor_id_fkey,
    ADD CONSTRAINT audit_log_actor_id_fkey FOREIGN KEY (actor_id) REFERENCES users ON DELETE SET NULL;
ALTER TABLE submissions
    DROP CONSTRAINT submissions_decided_by_fkey,
    ADD CONSTRAINT submissions_decided_by_fkey FOREIGN KEY (decided_by) REFERENCES users ON DELETE SET NULL;
ALTER TABLE blocked_domains
    DROP CONSTRAINT blocked_domains_blocked_by_fkey,
    ADD CONSTRAINT blocked_domains_blocked_by_fkey FOREIGN KEY (blocked_by) REFERENCES users ON DELETE SET NULL;
ALTER TABLE subscriptions
    DROP CONSTRAINT subscriptions_user_id_fkey,
    ADD CONSTRAINT subscriptions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users ON DELETE CASCADE;
ALTER TABLE marks
    DROP CONSTRAINT marks_user_id_fkey,
    ADD CONSTRAINT marks_user_id_fkey FOREIGN KEY (user_id) REFERENCES users ON DELETE CASCADE;
ALTER TABLE summaries
    DROP CONSTRAINT summaries_user_id_fkey,
    ADD CONSTRAINT summaries_user_id_fkey FOREIGN KEY (user_id) REFERENCES users ON DELETE CASCADE;
ALTER TABLE imports
    DROP CONSTRAINT imports_user_id_fkey,
    ADD CONSTRAINT imports_user_id_fkey FOREIGN KEY (user_id) REFERENCES users ON DELETE CASCADE;
ALTER TABLE import_lines
    DROP CONSTRAINT import_lines_user_id_fkey,
    ADD CONSTRAINT import_lines_user_id_fkey FOREIGN KEY (user_id) REFERENCES users ON DELETE CASCADE;
ALTER TABLE events
    DROP CONSTRAINT events_user_id_fkey,
    ADD CONSTRAINT events_user_id_fkey FOREIGN KEY (user_id) REFERENCES users ON DELETE CASCADE;
ALTER TABLE submissions
    DROP CONSTRAINT submissions_user_id_fkey,
    ADD CONSTRAINT submissions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users ON DELETE CASCADE;
ALTER TABLE analytics_consents
    DROP CONSTRAINT analytics_consents_user_id_fkey,
    ADD CONSTRAINT analytics_consents_user_id_fkey FOREIGN KEY (user_id) REFERENCES users ON DELETE CASCADE;
ALTER TABLE analytics_refusals
    DROP CONSTRAINT analytics_refusals_user_id_fkey,
    ADD CONSTRAINT analytics_refusals_user_id_fkey FOREIGN KEY (user_id) REFERENCES users ON DELETE CASCADE;
ALTER TABLE poll_events
    DROP CONSTRAINT poll_events_source_id_fkey,
    ADD CONSTRAINT poll_events_source_id_fkey FOREIGN KEY (source_id) REFERENCES sources ON DELETE CASCADE;
ALTER TABLE sitemaps
    DROP CONSTRAINT sitemaps_source_id_fkey,
    ADD CONSTRAINT sitemaps_source_id_fkey FOREIGN KEY (source_id) REFERENCES sources ON DELETE CASCADE;
ALTER TABLE pages
    DROP CONSTRAINT pages_source_id_fkey,
    ADD CONSTRAINT pages_source_id_fkey FOREIGN KEY (source_id) REFERENCES sources ON DELETE CASCADE;
ALTER TABLE feed_item_clicks
    DROP CONSTRAINT feed_item_clicks_source_id_fkey,
    ADD CONSTRAINT feed_item_clicks_source_id_fkey FOREIGN KEY (source_id) REFERENCES sources ON DELETE CASCADE;
ALTER TABLE article_sources
    DROP CONSTRAINT article_sources_source_id_fkey,
    ADD CONSTRAINT article_sources_source_id_fkey FOREIGN KEY (source_id) REFERENCES sources ON DELETE CASCADE;

DROP TRIGGER feed_state_leave_host ON feed_state;
DROP TRIGGER users_mark_removed ON users;
DROP TRIGGER sources_mark_removed ON sources;
DROP TRIGGER users_keep_ids ON users;
DROP TRIGGER sources_keep_ids ON sources;
DROP FUNCTION feed_state_leave_host(), users_mark_removed(), sources_mark_removed(), users_keep_ids(), sources_keep_ids();
ALTER TABLE users DROP CONSTRAINT users_id_fkey;
ALTER TABLE sources DROP CONSTRAINT sources_id_fkey;
DROP TABLE user_ids, source_ids;
