CREATE TABLE poll_hosts (
    host text PRIMARY KEY,
    ready_at timestamptz NOT NULL,
    not_before timestamptz NOT NULL DEFAULT '-infinity',
    lease uuid,
    alike_class varchar(20),
    paused_until timestamptz,
    pauses integer NOT NULL DEFAULT 0,
    alike_sources uuid[],
    answered_at timestamptz
) WITH (fillfactor = 70);

CREATE TABLE host (
    host_id bigint NOT NULL,
    ready_at timestamptz NOT NULL,
    not_before timestamptz NOT NULL DEFAULT '-infinity',
    lease uuid,
    url_count integer NOT NULL DEFAULT 0,
    robots_delay_ms integer,
    shard smallint NOT NULL,
    band smallint NOT NULL,
    claimed smallint NOT NULL DEFAULT 0,
    strikes smallint NOT NULL DEFAULT 0,
    slowed smallint NOT NULL DEFAULT 0,
    successes smallint NOT NULL DEFAULT 0,
    name text NOT NULL,
    CONSTRAINT host_pkey PRIMARY KEY (shard, host_id)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02);

INSERT INTO poll_hosts (host, ready_at, not_before, alike_class, paused_until, pauses, alike_sources, answered_at)
SELECT name, feeds_ready_at, not_before, alike_class, paused_until, pauses, alike_sources, answered_at
FROM hosts
WHERE feed_due_at < 'infinity' OR paused_until IS NOT NULL OR answered_at IS NOT NULL;

INSERT INTO host (
    host_id, ready_at, not_before, url_count, robots_delay_ms, shard, band, strikes, slowed, successes, name
)
SELECT host_id, pages_ready_at, greatest(not_before, pages_paused_until), url_count, robots_delay_ms, shard, band, strikes,
    slowed, successes, name
FROM hosts;

CREATE INDEX poll_hosts_ready ON poll_hosts (ready_at) WHERE answered_at IS NOT NULL;
CREATE INDEX poll_hosts_ready_new ON poll_hosts (ready_at) WHERE answered_at IS NULL;
CREATE INDEX host_ready ON host (shard, band, ready_at) WHERE ready_at < 'infinity';

CREATE OR REPLACE FUNCTION next_try(next_poll_at timestamptz, of_host text) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
    WHEN next_poll_at < '9999-12-31 00:00+00' THEN
        greatest(next_poll_at, (SELECT paused_until FROM poll_hosts WHERE poll_hosts.host = of_host))
END;

CREATE OR REPLACE FUNCTION feed_state_leave_host() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    UPDATE poll_hosts
    SET alike_sources = array_remove(alike_sources, OLD.source_id)
    WHERE host = OLD.host AND OLD.source_id = ANY (alike_sources);
    RETURN NULL;
END
$$;

ALTER TABLE feed_state
    DROP COLUMN shard,
    DROP COLUMN host_id;
DROP TABLE hosts;
DROP FUNCTION shard_of(bigint);
DROP FUNCTION host_id_of(text);
