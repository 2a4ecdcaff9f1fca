"""Sources with the state of their feed, for lists and pages."""

from datetime import datetime
from typing import Final

from headwater.db import Connection, fetch_all
from headwater.errors import SourceNotFound
from headwater.sources.types import SourceDetails, SourceFilter, SourceHealth, SourceOrder, SourcePlace
from headwater.types import SourceId

# What is known of a source's feed, or of how else it is read. A source without a feed fails when none of the pages that
# reading it begins from can be fetched: they are the first that were queued for it. Its articles are counted up to
# 10,000, since lists are refreshed every few seconds.
_FROM_SOURCES: Final = """
    FROM sources
    LEFT JOIN feed_state ON feed_state.source_id = sources.id
    LEFT JOIN LATERAL (
        SELECT greatest(
            (SELECT last_read_at FROM sitemap_state WHERE sitemap_state.source_id = sources.id),
            (SELECT last_read_at FROM spider_state WHERE spider_state.source_id = sources.id)
        ) AS last_read_at, (
            SELECT count(*)
            FROM (SELECT FROM article_sources WHERE source_id = sources.id LIMIT 10000) AS listed
        ) AS article_count, (
            SELECT CASE
                WHEN bool_and(status IN ('r', 'd', 'b')) THEN
                    (array_agg(entrance.last_error ORDER BY kind = 'l' DESC, entrance.url = sitemap_url))[1]
            END
            FROM (
                SELECT url, kind, status, parent_url, frontier_url.last_error
                FROM frontier_url
                WHERE source_id = sources.id
                ORDER BY discovered_at
                LIMIT 20
            ) AS entrance
            WHERE parent_url IS NULL
        ) AS error
    ) AS other ON feed_state.source_id IS NULL
    CROSS JOIN LATERAL (
        SELECT source_state(
            enabled, moderation_status, feed_disabled_at, feed_disable_reason,
            coalesce(last_error, other.error), coalesce(last_polled_at, other.last_read_at)
        ) AS state
    ) AS now_at
"""
_STATE: Final = """
    feed_disabled_at, off_until, coalesce(last_polled_at, other.last_read_at) AS last_polled_at,
    coalesce(last_succeeded_at, other.last_read_at) AS last_succeeded_at,
    CASE WHEN enabled THEN next_try(next_poll_at, feed_state.host) END AS next_poll_at,
    coalesce(last_error, other.error) AS last_error,
    coalesce(last_error_type, split_part(other.error, ':', 1)) AS last_error_type,
    coalesce(consecutive_errors, 0) AS consecutive_errors,
    coalesce(feed_state.article_count, other.article_count, 0) AS article_count, sources.created_at
"""


async def list_health(conn: Connection) -> list[SourceHealth]:
    """Every source with the state of its feed, or of how else it is read, by name."""
    statement = f"""
        SELECT sources.id, name, sources.feed_url, sources.url, sitemap_url, ingestion_mode, enabled, now_at.state,
            CASE
                WHEN feed_disabled_at IS NOT NULL THEN feed_disable_reason
                WHEN now_at.state = 'failing' THEN coalesce(last_error_type, split_part(other.error, ':', 1))
            END AS reason, {_STATE}
        {_FROM_SOURCES}
        ORDER BY lower(name), sources.id
    """
    return await fetch_all(conn, SourceHealth, statement)


async def list_details(
    conn: Connection,
    *,
    wanted: SourceFilter,
    now: datetime,
    order: SourceOrder = SourceOrder.NEWEST,
    after: SourcePlace | None = None,
    limit: int = 1,
) -> list[SourceDetails]:
    """Sources that match the filter, the newest first unless another order is given.

    `feed_active` includes feeds whose cooldown is over.
    """
    statement = f"""
        SELECT sources.id, name, sources.url, sources.feed_url, sitemap_url, category, ingestion_mode,
            feed_poll_interval_minutes, policy, priority, coalesce(selectors, '{{}}') AS selectors,
            article_url_patterns, external_links, max_depth, page_budget, min_delay_ms, enabled, is_system,
            is_critical, submitted_by, moderation_status, now_at.state AS status, feed_disable_reason,
            greatest(sources.updated_at, feed_state.updated_at) AS updated_at, {_STATE}
        {_FROM_SOURCES}
        WHERE (%(id)s::uuid IS NULL OR sources.id = %(id)s)
            AND (%(after)s::uuid IS NULL OR %(by_fetch)s OR sources.id < %(after)s)
            AND (
                %(after)s::uuid IS NULL
                OR NOT %(by_fetch)s
                OR (coalesce(last_succeeded_at, other.last_read_at, '-infinity'), sources.id)
                    < (%(after_at)s::timestamptz, %(after)s)
            )
            AND (
                %(fetched_before)s::timestamptz IS NULL
                OR coalesce(last_succeeded_at, other.last_read_at) < %(fetched_before)s
            )
            AND (%(errors_least)s::integer IS NULL OR coalesce(consecutive_errors, 0) >= %(errors_least)s)
            AND (%(category)s::text IS NULL OR category = %(category)s)
            AND (%(mode)s::text IS NULL OR ingestion_mode = %(mode)s)
            AND (%(enabled)s::boolean IS NULL OR enabled = %(enabled)s)
            AND (%(is_system)s::boolean IS NULL OR is_system = %(is_system)s)
            AND (%(is_critical)s::boolean IS NULL OR is_critical = %(is_critical)s)
            AND (%(moderation_status)s::text IS NULL OR moderation_status = %(moderation_status)s)
            AND (
                %(is_active)s::boolean IS NULL OR (enabled AND feed_disabled_at IS NULL) = %(is_active)s
            )
            AND (
                %(feed_active)s::boolean IS NULL
                OR (
                    sources.feed_url IS NOT NULL
                    AND sources.feed_url <> ''
                    AND enabled
                    AND (feed_disabled_at IS NULL OR coalesce(off_until <= %(now)s, false))
                ) = %(feed_active)s
            )
            AND (%(status)s::text IS NULL OR now_at.state = %(status)s)
            -- Repeated in terms of the indexed columns.
            AND (%(status)s::text IS DISTINCT FROM 'auto_disabled' OR feed_disabled_at IS NOT NULL)
            AND (%(status)s::text IS DISTINCT FROM 'disabled' OR NOT enabled OR feed_disabled_at IS NOT NULL)
            AND (coalesce(%(status)s::text, '') NOT IN ('in_review', 'rejected') OR NOT enabled)
            AND (
                %(text)s::text IS NULL
                OR strpos(lower(name), lower(%(text)s)) > 0
                OR strpos(lower(coalesce(sources.feed_url, '')), lower(%(text)s)) > 0
                OR strpos(lower(coalesce(sources.url, '')), lower(%(text)s)) > 0
            )
            AND (
                %(host)s::text IS NULL
                OR sources.id = ANY(
                    ARRAY(
                        SELECT source_id FROM feed_state WHERE host = %(host)s
                        UNION ALL
                        SELECT id
                        FROM sources
                        WHERE feed_url_key IS NULL
                            AND lower(substring(url FROM '^[^:]+://([^/:?#]+)')) = %(host)s
                    )
                )
            )
        ORDER BY
            CASE WHEN %(by_fetch)s THEN coalesce(last_succeeded_at, other.last_read_at, '-infinity') END DESC,
            sources.id DESC
        LIMIT %(limit)s
    """
    return await fetch_all(
        conn,
        SourceDetails,
        statement,
        {
            "id": wanted.id,
            "by_fetch": order is SourceOrder.LAST_FETCHED,
            "after": after.id if after else None,
            "after_at": after.last_fetched_at if after and after.last_fetched_at else "-infinity",
            "fetched_before": wanted.fetched_before,
            "errors_least": wanted.errors_least,
            "category": wanted.category,
            "mode": wanted.ingestion_mode,
            "enabled": wanted.enabled,
            "is_system": wanted.is_system,
            "is_critical": wanted.is_critical,
            "moderation_status": wanted.moderation_status,
            "is_active": wanted.is_active,
            "feed_active": wanted.feed_active,
            "status": wanted.status,
            "text": wanted.text,
            "host": wanted.host.lower() if wanted.host else None,
            "now": now,
            "limit": limit,
        },
        prepare=False,
    )


async def find_details(conn: Connection, *, source_id: SourceId, now: datetime) -> SourceDetails:
    """One source in full. Raises SourceNotFound."""
    found = await list_details(conn, wanted=SourceFilter(id=source_id), now=now)
    if not found:
        raise SourceNotFound(str(source_id))
    return found[0]
