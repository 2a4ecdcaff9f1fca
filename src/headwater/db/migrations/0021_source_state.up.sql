-- The state of a source: one function for the API, the metrics, the command line and the pages. The words are those of
-- `SourceState` in types.py, and the reasons those of `FailureClass`; tests compare them.
CREATE FUNCTION source_state(
    enabled boolean, moderation_status text, disabled_at timestamptz, disable_reason text, last_error text,
    last_read_at timestamptz
) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN NOT enabled AND moderation_status = 'pending' THEN 'in_review'
    WHEN NOT enabled AND moderation_status = 'rejected' THEN 'rejected'
    WHEN NOT enabled THEN 'disabled'
    WHEN disabled_at IS NOT NULL AND disable_reason = ANY (ARRAY[
        'rate_limited', 'unauthorized', 'forbidden', 'not_found', 'gone', 'bad_request', 'upstream_failure',
        'network', 'dns', 'parse_error', 'not_a_feed', 'too_large', 'redirect_loop', 'bot_challenge',
        'ssrf_blocked', 'unexpected'
    ]) THEN 'auto_disabled'
    WHEN disabled_at IS NOT NULL THEN 'disabled'
    WHEN last_error IS NOT NULL THEN 'failing'
    WHEN last_read_at IS NOT NULL THEN 'working'
    ELSE 'pending'
END;

DROP VIEW source_health;

-- The state of each source. One without a feed fails when none of the pages that reading it starts from can be fetched:
-- they are the first that were queued for it. `next_try_at` is null while only a person can enable it.
CREATE VIEW source_health AS
SELECT sources.id, sources.name, lower(sources.name) AS sort_name, sources.category, sources.is_system,
    sources.ingestion_mode, sources.feed_url, sources.sitemap_url, sources.feed_disabled_at,
    sources.feed_disable_reason, sources.enabled, sources.moderation_status,
    feed_state.source_id IS NOT NULL AS has_feed,
    coalesce(sources.feed_url, sources.url, sources.sitemap_url, '') AS address,
    coalesce(feed_state.host, lower(substring(coalesce(sources.url, sources.sitemap_url) FROM '^[^:]+://([^/:?#]+)')))
        AS host,
    now_at.state,
    CASE now_at.state
        WHEN 'auto_disabled' THEN sources.feed_disable_reason
        WHEN 'failing' THEN coalesce(feed_state.last_error_type, split_part(site.error, ':', 1))
    END::varchar(200) AS reason,
    coalesce(feed_state.last_error, site.error) AS last_error,
    CASE WHEN sources.enabled THEN nullif(feed_state.next_poll_at, '9999-12-31 00:00+00') END AS next_try_at,
    coalesce(feed_state.consecutive_errors, 0) AS consecutive_errors,
    coalesce(feed_state.last_polled_at, site.last_read_at) AS last_polled_at,
    coalesce(feed_state.last_succeeded_at, site.last_read_at) AS last_succeeded_at
FROM sources
LEFT JOIN feed_state ON feed_state.source_id = sources.id
CROSS JOIN LATERAL (
    -- CASE, so that sources with a feed cost no lookup.
    SELECT CASE
        WHEN feed_state.source_id IS NULL THEN greatest(
            (SELECT last_read_at FROM sitemap_state WHERE sitemap_state.source_id = sources.id),
            (SELECT last_read_at FROM spider_state WHERE spider_state.source_id = sources.id)
        )
    END AS last_read_at, CASE
        WHEN feed_state.source_id IS NULL THEN (
            SELECT CASE
                WHEN bool_and(status IN ('r', 'd', 'b')) THEN
                    (array_agg(entrance.last_error ORDER BY kind = 'l' DESC, entrance.url = sources.sitemap_url))[1]
            END
            FROM (
                SELECT url, kind, status, parent_url, frontier_url.last_error
                FROM frontier_url
                WHERE source_id = sources.id
                ORDER BY discovered_at
                LIMIT 20
            ) AS entrance
            WHERE parent_url IS NULL
        )
    END AS error
) AS site
CROSS JOIN LATERAL (
    SELECT source_state(
        sources.enabled, sources.moderation_status, sources.feed_disabled_at, sources.feed_disable_reason,
        coalesce(feed_state.last_error, site.error), coalesce(feed_state.last_polled_at, site.last_read_at)
    ) AS state
) AS now_at;
