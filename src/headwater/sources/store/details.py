"""Sources with the state of their feed, for lists and pages."""

from dataclasses import asdict
from datetime import datetime
from typing import Final

from headwater.db import Connection, fetch_all
from headwater.errors import SourceNotFound
from headwater.sources.store.attention import NEED_PERSON
from headwater.sources.store.sources import SOURCE_COLUMNS
from headwater.sources.types import SourceDetails, SourceFilter, SourceOrder, SourcePlace
from headwater.types import SourceId

# What is known of each source and its feed, or of how else it is read.
COLUMNS: Final = f"""
    {SOURCE_COLUMNS}, submitted_by, moderation_status, now_at.state, feed_disabled_at, feed_disable_reason,
        disabled_until AS feed_disabled_until, coalesce(last_polled_at, other.last_read_at) AS last_polled_at,
        coalesce(last_succeeded_at, other.last_read_at) AS last_succeeded_at,
        CASE WHEN enabled THEN next_try(next_poll_at, feed_state.host) END AS next_poll_at,
        coalesce(last_error, other.error) AS last_error,
        coalesce(last_error_type, split_part(other.error, ':', 1)) AS last_error_type,
        coalesce(consecutive_errors, 0) AS consecutive_errors,
        coalesce(feed_state.article_count, (
            -- Up to 10,000, since lists are refreshed every few seconds.
            SELECT count(*) FROM (SELECT FROM article_sources WHERE source_id = sources.id LIMIT 10000) AS listed
        )) AS article_count,
        greatest(sources.updated_at, feed_state.updated_at) AS updated_at
"""
TABLES: Final = """
    sources LEFT JOIN feed_state ON feed_state.source_id = sources.id
    CROSS JOIN LATERAL site_state(sources.id, sitemap_url, feed_state.source_id IS NOT NULL) AS other
    CROSS JOIN LATERAL (
        SELECT source_state(
            enabled, moderation_status, feed_disabled_at, feed_disable_reason,
            coalesce(last_error, other.error), coalesce(last_polled_at, other.last_read_at)
        ) AS state
    ) AS now_at
"""
_DETAILS: Final = f"SELECT {COLUMNS} FROM {TABLES}"

# The filters of a `SourceFilter`, but `id` and `order`.
MATCHES: Final = f"""
    (%(fetched_before)s::timestamptz IS NULL
        OR coalesce(last_succeeded_at, other.last_read_at) < %(fetched_before)s)
    AND (%(errors_min)s::integer IS NULL OR coalesce(consecutive_errors, 0) >= %(errors_min)s)
    AND (%(category)s::text IS NULL OR category = %(category)s OR (%(category)s = '' AND category IS NULL))
    AND (%(ingestion_mode)s::text IS NULL OR ingestion_mode = %(ingestion_mode)s)
    AND (%(enabled)s::boolean IS NULL OR enabled = %(enabled)s)
    AND (%(is_system)s::boolean IS NULL OR is_system = %(is_system)s)
    AND (%(is_critical)s::boolean IS NULL OR is_critical = %(is_critical)s)
    AND (%(moderation_status)s::text IS NULL OR moderation_status = %(moderation_status)s)
    AND (%(is_active)s::boolean IS NULL OR (enabled AND feed_disabled_at IS NULL) = %(is_active)s)
    AND (%(feed_active)s::boolean IS NULL
        OR (coalesce(sources.feed_url, '') <> '' AND enabled
            AND (feed_disabled_at IS NULL OR coalesce(disabled_until <= %(now)s, false))) = %(feed_active)s)
    AND (%(state)s::text IS NULL OR now_at.state = %(state)s)
    AND (%(reason)s::text IS NULL OR %(reason)s = CASE now_at.state
        WHEN 'auto_disabled' THEN feed_disable_reason
        WHEN 'failing' THEN coalesce(last_error_type, split_part(other.error, ':', 1))
    END)
    -- Repeated in terms of the indexed columns.
    AND (%(state)s::text IS DISTINCT FROM 'auto_disabled' OR feed_disabled_at IS NOT NULL)
    AND (%(state)s::text IS DISTINCT FROM 'disabled' OR NOT enabled OR feed_disabled_at IS NOT NULL)
    AND (coalesce(%(state)s::text, '') NOT IN ('in_review', 'rejected') OR NOT enabled)
    AND (%(text)s::text IS NULL
        OR strpos(lower(concat_ws(E'\\n', name, sources.feed_url, sources.url)), lower(%(text)s)) > 0)
    AND (%(needs_person)s::boolean IS NOT TRUE OR sources.id = ANY(ARRAY({NEED_PERSON})))
    AND (%(host)s::text IS NULL OR sources.id = ANY(ARRAY(
        SELECT source_id FROM feed_state WHERE host = lower(%(host)s)
        UNION ALL
        SELECT id FROM sources
        WHERE feed_url_key IS NULL AND lower(substring(url FROM '^[^:]+://([^/:?#]+)')) = lower(%(host)s)
    )))
"""


async def list_health(conn: Connection) -> list[SourceDetails]:
    return await fetch_all(conn, SourceDetails, _DETAILS + " ORDER BY lower(name), sources.id")


async def list_details(
    conn: Connection, *, wanted: SourceFilter, now: datetime, after: SourcePlace | None = None, limit: int = 1
) -> list[SourceDetails]:  # fmt: skip
    """Sources that match the filter, in its order; without one the newest first. `feed_active` includes feeds whose
    cooldown is over."""
    statement = f"""
        {_DETAILS}
        WHERE (%(id)s::uuid IS NULL OR sources.id = %(id)s)
            AND (%(after)s::uuid IS NULL OR %(by_fetch)s OR sources.id < %(after)s)
            AND (%(after)s::uuid IS NULL OR NOT %(by_fetch)s
                OR (coalesce(last_succeeded_at, other.last_read_at, '-infinity'), sources.id)
                    < (%(after_at)s::timestamptz, %(after)s))
            AND {MATCHES}
        ORDER BY CASE WHEN %(by_fetch)s THEN coalesce(last_succeeded_at, other.last_read_at, '-infinity') END DESC,
            sources.id DESC
        LIMIT %(limit)s
    """
    after_at = after.last_fetched_at if after and after.last_fetched_at else "-infinity"
    place = {"after": after and after.id, "after_at": after_at, "by_fetch": wanted.order is SourceOrder.LAST_FETCHED}
    values = {**asdict(wanted), **place, "now": now, "limit": limit}
    return await fetch_all(conn, SourceDetails, statement, values, prepare=False)  # each filter has its own plan


async def find_details(conn: Connection, *, source_id: SourceId, now: datetime) -> SourceDetails:
    """One source in full. Raises SourceNotFound."""
    found = await list_details(conn, wanted=SourceFilter(id=source_id), now=now)
    if not found:
        raise SourceNotFound(str(source_id))
    return found[0]
