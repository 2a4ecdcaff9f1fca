ALTER TABLE sources DROP COLUMN disabled_by_operator;
