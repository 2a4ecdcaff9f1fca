DROP TABLE blocked_domains;
DROP TABLE submissions;

-- Without a queue nothing may wait in it, and what was refused must not go live.
DELETE FROM sources
WHERE moderation_status IN ('pending', 'rejected')
    AND NOT EXISTS (SELECT FROM subscriptions WHERE source_id = sources.id);

DROP INDEX sources_by_plain_name;
DROP FUNCTION plain_name;
ALTER TABLE sources DROP COLUMN moderation_status;
ALTER TABLE users DROP COLUMN karma;
