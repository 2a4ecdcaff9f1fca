-- Sources as operators keep them: by category, the critical ones marked; and lists of them by what they are.
ALTER TABLE sources
    ADD COLUMN category varchar(100) CONSTRAINT sources_category_length CHECK (length(category) >= 1),
    ADD COLUMN is_critical boolean NOT NULL DEFAULT false,
    ALTER COLUMN feed_disable_reason TYPE varchar(200);  -- a class of failure, or a person's own words

ALTER TABLE feed_state ALTER COLUMN off_reason TYPE varchar(200);

CREATE INDEX sources_by_category ON sources (category, id) WHERE category IS NOT NULL;
CREATE INDEX sources_by_mode ON sources (ingestion_mode, id);
CREATE INDEX sources_off ON sources (id) WHERE feed_disabled_at IS NOT NULL;
CREATE INDEX sources_disabled ON sources (id) WHERE NOT enabled;
CREATE INDEX sources_critical ON sources (id) WHERE is_critical;
