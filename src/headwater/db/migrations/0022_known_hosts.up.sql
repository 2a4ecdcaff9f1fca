-- When a host last answered a poll, whatever it said. Only hosts that did within the last days tell whether our own
-- network is down; those that never did may not take all slots of a poller.
ALTER TABLE poll_hosts ADD COLUMN answered_at timestamptz;

UPDATE poll_hosts
SET answered_at = feeds.succeeded_at
FROM (SELECT host, max(last_succeeded_at) AS succeeded_at FROM feed_state GROUP BY host) AS feeds
WHERE feeds.host = poll_hosts.host AND feeds.succeeded_at IS NOT NULL;

-- Each host is in one of them.
DROP INDEX poll_hosts_ready;
CREATE INDEX poll_hosts_ready ON poll_hosts (ready_at) WHERE answered_at IS NOT NULL;
CREATE INDEX poll_hosts_ready_new ON poll_hosts (ready_at) WHERE answered_at IS NULL;
