DROP VIEW source_health;
DROP FUNCTION source_state;

CREATE VIEW source_health AS
SELECT sources.id, sources.name, lower(sources.name) AS sort_name, sources.category, sources.is_system,
    sources.ingestion_mode, sources.feed_url, sources.sitemap_url, sources.feed_disabled_at,
    sources.feed_disable_reason,
    coalesce(sources.feed_url, sources.url, sources.sitemap_url, '') AS address,
    coalesce(feed_state.host, lower(substring(coalesce(sources.url, sources.sitemap_url) FROM '^[^:]+://([^/:?#]+)')))
        AS host,
    now_at.state,
    CASE now_at.state
        WHEN 'off' THEN sources.feed_disable_reason
        WHEN 'failing' THEN coalesce(feed_state.last_error_type, split_part(site.error, ':', 1))
    END::varchar(200) AS reason,
    coalesce(feed_state.last_error, site.error) AS last_error,
    feed_state.next_poll_at, feed_state.off_until,
    coalesce(feed_state.consecutive_errors, 0) AS consecutive_errors,
    coalesce(feed_state.last_polled_at, site.last_read_at) AS last_polled_at,
    coalesce(feed_state.last_succeeded_at, site.last_read_at) AS last_succeeded_at
FROM sources
LEFT JOIN feed_state ON feed_state.source_id = sources.id
CROSS JOIN LATERAL (
    -- CASE, so that nothing is looked up for the many that have a feed.
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
    SELECT CASE
        WHEN NOT sources.enabled THEN 'disabled'
        WHEN sources.feed_disable_reason = ANY (ARRAY[
            'rate_limited', 'unauthorized', 'forbidden', 'not_found', 'gone', 'bad_request', 'upstream_failure',
            'network', 'dns', 'parse_error', 'not_a_feed', 'too_large', 'redirect_loop', 'bot_challenge',
            'ssrf_blocked', 'unexpected'
        ]) AND sources.feed_disabled_at IS NOT NULL THEN 'off'
        WHEN sources.feed_disabled_at IS NOT NULL THEN 'disabled'
        WHEN coalesce(feed_state.last_error, site.error) IS NOT NULL THEN 'failing'
        WHEN coalesce(feed_state.last_polled_at, site.last_read_at) IS NULL THEN 'pending'
        ELSE 'working'
    END AS state
) AS now_at;
