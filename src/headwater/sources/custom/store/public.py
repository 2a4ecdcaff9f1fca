"""Sources that all users may find."""

from collections.abc import Sequence
from typing import Final

import msgspec

from headwater.db import Connection, fetch_all, fetch_column, fetch_one, fetch_rows, fetch_value
from headwater.sources.custom.types import ExistingSource, PublicSource
from headwater.types import SourceId, UserId

_SOURCES: Final = """
    SELECT sources.id, sources.name, coalesce(sources.feed_url, sources.url) AS url,
        coalesce(sources.url, submissions.sample->>'site_url') AS site_url, sources.category,
        coalesce(followed.count, 0) AS subscriber_count,
        coalesce(
            article_count,  -- only a feed has this counter
            (SELECT count(*) FROM (SELECT FROM article_sources WHERE source_id = sources.id LIMIT 10000) AS one)
        ) AS article_count,
        EXISTS (
            SELECT FROM subscriptions WHERE source_id = sources.id AND subscriptions.user_id = %(user_id)s
        ) AS is_followed,
        NOT is_system AS is_custom
    FROM sources LEFT JOIN feed_state ON feed_state.source_id = sources.id
    LEFT JOIN submissions ON submissions.source_id = sources.id
"""
_IS_PUBLIC: Final = """
    (is_system OR moderation_status = 'approved') AND enabled AND coalesce(sources.feed_url, sources.url) IS NOT NULL
"""
_MATCHES: Final = """
    (%(category)s = '' OR sources.category = %(category)s)
    AND (%(text)s = ''
        OR strpos(lower(sources.name || ' ' || coalesce(sources.feed_url, '') || ' '
            || coalesce(sources.url, '') || ' ' || coalesce(sources.category, '')), lower(%(text)s)) > 0)
"""


async def find_existing(conn: Connection, *, url_keys: Sequence[bytes]) -> ExistingSource | None:
    statement = """
        SELECT id, name, is_system, moderation_status AS status FROM sources
        WHERE feed_url_key = ANY(%(keys)b::bytea[]) OR (url_key = ANY(%(keys)b::bytea[]) AND feed_url_key IS NULL)
        ORDER BY is_system OR moderation_status IS NOT NULL DESC, id LIMIT 1
    """
    rows = await fetch_rows(conn, statement, {"keys": list(url_keys)})
    return msgspec.convert(rows[0], ExistingSource) if rows else None


async def list_public(
    conn: Connection, *, user_id: UserId, text: str = "", category: str = "", limit: int, offset: int
) -> list[PublicSource]:
    """Public sources, those with most subscriptions first. Not under row-level security: subscriptions are counted."""
    statement = f"""
        {_SOURCES}
        LEFT JOIN (SELECT source_id, count(*) FROM subscriptions GROUP BY source_id) AS followed
            ON followed.source_id = sources.id
        WHERE {_IS_PUBLIC} AND {_MATCHES} ORDER BY subscriber_count DESC, lower(sources.name), sources.id
        LIMIT %(limit)s OFFSET %(offset)s
    """
    values = {"user_id": user_id, "text": text, "category": category, "limit": limit, "offset": offset}
    return await fetch_all(conn, PublicSource, statement, values)


async def find_public(conn: Connection, *, source_id: SourceId, user_id: UserId) -> PublicSource | None:
    statement = f"""
        {_SOURCES}
        CROSS JOIN LATERAL (SELECT count(*) FROM subscriptions WHERE source_id = sources.id) AS followed
        WHERE sources.id = %(id)s AND {_IS_PUBLIC}
    """
    return await fetch_one(conn, PublicSource, statement, {"id": source_id, "user_id": user_id})


async def count_public(conn: Connection, *, text: str = "", category: str = "") -> int:
    values = {"text": text, "category": category}
    return await fetch_value(conn, f"SELECT count(*) FROM sources WHERE {_IS_PUBLIC} AND {_MATCHES}", values)


async def list_categories(conn: Connection) -> list[str]:
    """The categories of public sources."""
    statement = """
        SELECT category FROM sources
        WHERE (is_system OR moderation_status = 'approved') AND enabled AND category IS NOT NULL
        GROUP BY category ORDER BY lower(category), category
    """
    return await fetch_column(conn, statement)
