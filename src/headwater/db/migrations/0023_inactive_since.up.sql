-- Since when a source is switched off as a whole (`enabled` is false): the alerts count it like a disabled feed.
ALTER TABLE sources ADD COLUMN inactive_since timestamptz;
UPDATE sources SET inactive_since = updated_at WHERE NOT enabled;

CREATE FUNCTION note_inactive_since() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    BEGIN
        NEW.inactive_since := CASE WHEN NOT NEW.enabled THEN now() END;
        RETURN NEW;
    END
    $$;

CREATE TRIGGER sources_inactive_on_insert
    BEFORE INSERT ON sources
    FOR EACH ROW WHEN (NOT NEW.enabled) EXECUTE FUNCTION note_inactive_since();
CREATE TRIGGER sources_inactive_on_update
    BEFORE UPDATE OF enabled ON sources
    FOR EACH ROW WHEN (OLD.enabled IS DISTINCT FROM NEW.enabled) EXECUTE FUNCTION note_inactive_since();
