-- `enabled` is also false while nobody follows a source whose suggestion is pending or rejected; a new subscription ends
-- that. What an operator disabled stays disabled until an operator enables it.
ALTER TABLE sources ADD COLUMN disabled_by_operator boolean NOT NULL DEFAULT false;

UPDATE sources
SET disabled_by_operator = true
WHERE NOT enabled
    AND (
        coalesce(moderation_status, 'approved') NOT IN ('pending', 'rejected')
        OR EXISTS (SELECT FROM subscriptions WHERE source_id = sources.id)
    );
