-- The frontier as seed 004 plans it: its tables, indexes and triggers, to the letter (migrations 014 and 015).
CREATE FUNCTION update_updated_at_column() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    NEW.updated_at = NOW();
    RETURN NEW;
END;
$$;

CREATE TABLE IF NOT EXISTS url_frontier (
    id              UUID PRIMARY KEY DEFAULT gen_random_uuid(),
    url             TEXT NOT NULL,
    url_hash        CHAR(64) NOT NULL,
    host            TEXT NOT NULL,
    source_id       VARCHAR(36) NOT NULL,

    origin          VARCHAR(20) NOT NULL,
    parent_url      TEXT,
    depth           SMALLINT NOT NULL DEFAULT 0,

    priority        SMALLINT NOT NULL DEFAULT 5,
    status          VARCHAR(20) NOT NULL DEFAULT 'pending',
    next_fetch_at   TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT NOW(),

    last_fetched_at TIMESTAMP WITH TIME ZONE,
    fetch_count     INTEGER NOT NULL DEFAULT 0,
    content_hash    CHAR(64),
    etag            TEXT,
    last_modified   TEXT,

    retry_count     SMALLINT NOT NULL DEFAULT 0,
    last_error      TEXT,

    discovered_at   TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT NOW(),
    created_at      TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT NOW(),
    updated_at      TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT NOW(),

    CONSTRAINT uq_frontier_url_hash UNIQUE (url_hash)
);

CREATE INDEX idx_frontier_claimable
    ON url_frontier (priority DESC, next_fetch_at ASC)
    WHERE status = 'pending';

CREATE INDEX idx_frontier_host
    ON url_frontier (host, last_fetched_at DESC);

CREATE INDEX idx_frontier_source_status
    ON url_frontier (source_id, status);

CREATE INDEX idx_frontier_content_hash
    ON url_frontier (content_hash)
    WHERE content_hash IS NOT NULL;

CREATE TRIGGER update_url_frontier_updated_at
    BEFORE UPDATE ON url_frontier
    FOR EACH ROW EXECUTE FUNCTION update_updated_at_column();

CREATE TABLE IF NOT EXISTS host_state (
    host                TEXT PRIMARY KEY,
    last_fetch_at       TIMESTAMP WITH TIME ZONE,
    min_delay_ms        INTEGER NOT NULL DEFAULT 1000,
    robots_txt          TEXT,
    robots_fetched_at   TIMESTAMP WITH TIME ZONE,
    robots_ttl_hours    INTEGER NOT NULL DEFAULT 24,
    created_at          TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT NOW(),
    updated_at          TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT NOW()
);

CREATE TRIGGER update_host_state_updated_at
    BEFORE UPDATE ON host_state
    FOR EACH ROW EXECUTE FUNCTION update_updated_at_column();
