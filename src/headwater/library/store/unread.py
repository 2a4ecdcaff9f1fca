"""The unread articles of a user: how many, and the newest, in which views and tags are counted.

Run under `Database.as_user`. The cost of the newest is bounded by the number of feeds, not by that of unread articles.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from headwater.db import Connection, fetch_value
from headwater.ids import first_id_at
from headwater.library.store.lists import IN_FEED, IS_UNREAD
from headwater.library.types import NewestUnread
from headwater.types import ArticleId


async def list_newest_unread(conn: Connection, *, limit: int) -> NewestUnread:
    """The newest unread articles of the user's feeds, each once: so many, and of each feed twice its share of them, but
    at least 30. BETWEEN: as in `list_unread_counts`."""
    statement = f"""
        WITH share AS MATERIALIZED (
            SELECT greatest(30, 2 * %(limit)s::bigint / greatest(count(*), 1)) AS most FROM subscriptions
        ), listed AS MATERIALIZED (
            SELECT newest.listed_at, newest.article_id, newest.place
            FROM subscriptions
            CROSS JOIN LATERAL (
                SELECT listed_at, article_id, row_number() OVER () AS place
                FROM (
                    SELECT listed_at, article_id
                    FROM article_sources
                    WHERE article_sources.source_id = subscriptions.source_id
                        AND article_sources.source_id BETWEEN subscriptions.source_id AND subscriptions.source_id
                        AND listed_at > read_until AND {IS_UNREAD}
                    ORDER BY listed_at DESC, article_id DESC LIMIT (SELECT most FROM share)
                ) AS found
            ) AS newest
            UNION ALL
            SELECT listed_at, article_id, 0
            FROM marks
            CROSS JOIN LATERAL (
                SELECT source_id, listed_at FROM article_sources WHERE article_id = marks.article_id OFFSET 0
            ) AS links
            JOIN subscriptions USING (source_id)
            WHERE NOT is_read AND hidden_at IS NULL AND listed_at <= read_until
        )
        SELECT article_id, (SELECT max(place) FROM listed) >= (SELECT most FROM share)
        FROM listed
        GROUP BY article_id
        ORDER BY max(listed_at) DESC, article_id DESC LIMIT %(limit)s + 1
    """
    cur = await conn.execute(statement, {"limit": limit})
    rows: list[tuple[ArticleId, bool]] = await cur.fetchall()
    return NewestUnread(
        [article_id for article_id, _ in rows[:limit]], is_all=len(rows) <= limit and not any(cut for _, cut in rows)
    )


async def count(
    conn: Connection, *, feed: UUID | None = None, category: str | None = None, since: datetime | None = None
) -> int:
    """How many articles are unread in one feed, a category or all feeds, each counted once. `since`: only those that
    came later."""
    statement = f"""
        SELECT count(DISTINCT article_id)
        FROM (
            SELECT found.article_id
            FROM subscriptions
            CROSS JOIN LATERAL (
                SELECT article_id
                FROM article_sources
                WHERE article_sources.source_id = subscriptions.source_id
                    AND article_sources.source_id BETWEEN subscriptions.source_id AND subscriptions.source_id
                    AND listed_at > read_until AND article_id >= %(first)s AND {IS_UNREAD}
            ) AS found
            WHERE {IN_FEED}
            UNION ALL
            SELECT marks.article_id
            FROM marks
            CROSS JOIN LATERAL (
                SELECT source_id, listed_at FROM article_sources WHERE article_id = marks.article_id OFFSET 0
            ) AS links
            JOIN subscriptions USING (source_id)
            WHERE NOT is_read AND hidden_at IS NULL AND listed_at <= read_until AND marks.article_id >= %(first)s
                AND {IN_FEED}
        ) AS unread
    """
    first = first_id_at(since) if since else UUID(int=0)
    return await fetch_value(conn, statement, {"feed": feed, "category": category, "first": first})


async def count_tags(conn: Connection, *, article_ids: Sequence[ArticleId]) -> dict[str, int]:
    """How many of these articles have each tag, by themselves or by a feed of the user that lists them."""
    statement = """
        SELECT tag, count(DISTINCT id)
        FROM (
            SELECT wanted.id, unnest(marked.tags) AS tag
            FROM unnest(%(article_ids)s::uuid[]) AS wanted (id)
            CROSS JOIN LATERAL (
                SELECT tags FROM marks WHERE marks.article_id = wanted.id AND tags <> '{}' OFFSET 0
            ) AS marked
            UNION ALL
            SELECT wanted.id, unnest(subscriptions.tags)
            FROM unnest(%(article_ids)s::uuid[]) AS wanted (id)
            CROSS JOIN LATERAL (
                SELECT source_id FROM article_sources WHERE article_sources.article_id = wanted.id OFFSET 0
            ) AS links
            JOIN subscriptions USING (source_id)
            WHERE EXISTS (SELECT FROM subscriptions WHERE tags <> '{}')
        ) AS tagged
        GROUP BY tag
    """
    cur = await conn.execute(statement, {"article_ids": list(article_ids)})
    return dict(await cur.fetchall())
