DROP INDEX poll_hosts_ready_new;
DROP INDEX poll_hosts_ready;
CREATE INDEX poll_hosts_ready ON poll_hosts (ready_at);
ALTER TABLE poll_hosts DROP COLUMN answered_at;
