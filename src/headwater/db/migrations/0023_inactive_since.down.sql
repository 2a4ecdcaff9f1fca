DROP TRIGGER sources_inactive_on_update ON sources;
DROP TRIGGER sources_inactive_on_insert ON sources;
DROP FUNCTION note_inactive_since();
ALTER TABLE sources DROP COLUMN inactive_since;
