"""Marks: which articles a user has read or starred."""

from datetime import datetime
from uuid import UUID

from headwater.db import Connection
from headwater.library.store.lists import IN_FEED, IS_UNREAD
from headwater.types import ArticleId, PageCursor, UserId


async def mark(
    conn: Connection, *, user_id: UserId, article_id: ArticleId, now: datetime, is_read: bool | None = None,
    is_starred: bool | None = None,
) -> None:  # fmt: skip
    """Set read or starred; None keeps it. A star keeps what feeds of other sites say of the article."""
    statement = """
        INSERT INTO marks (
            user_id, article_id, is_read, read_at, starred_at, title, author, summary, content, published_at
        )
        SELECT %(user_id)s, %(article_id)s, %(is_read)s, CASE WHEN %(is_read)s THEN %(now)s::timestamptz END,
            CASE WHEN %(is_starred)s THEN %(now)s::timestamptz END, described.title, described.author,
            described.summary, described.content, described.published_at
        FROM (SELECT) AS nothing LEFT JOIN LATERAL article_for_user(%(article_id)s) AS described ON %(is_starred)s
        ON CONFLICT (user_id, article_id) DO UPDATE SET is_read = coalesce(excluded.is_read, marks.is_read),
            read_at = CASE WHEN %(is_read)s IS NULL THEN marks.read_at ELSE excluded.read_at END,
            starred_at = CASE
                WHEN %(is_starred)s IS NULL THEN marks.starred_at
                WHEN %(is_starred)s THEN coalesce(marks.starred_at, excluded.starred_at)
            END,
            title = CASE WHEN %(is_starred)s IS NULL THEN marks.title ELSE excluded.title END,
            author = CASE WHEN %(is_starred)s IS NULL THEN marks.author ELSE excluded.author END,
            summary = CASE WHEN %(is_starred)s IS NULL THEN marks.summary ELSE excluded.summary END,
            content = CASE WHEN %(is_starred)s IS NULL THEN marks.content ELSE excluded.content END,
            published_at = CASE WHEN %(is_starred)s IS NULL THEN marks.published_at ELSE excluded.published_at END
    """
    values = {"user_id": user_id, "article_id": article_id, "is_read": is_read, "is_starred": is_starred, "now": now}
    await conn.execute(statement, values)


async def advance(conn: Connection, *, article_id: ArticleId) -> None:
    """Move `read_until` of feeds that list an article up to their oldest unread one. Each article is passed once."""
    statement = f"""
        UPDATE subscriptions SET read_until = coalesce((
            SELECT listed_at - interval '1 microsecond'
            FROM article_sources
            WHERE article_sources.source_id = subscriptions.source_id AND listed_at > read_until AND {IS_UNREAD}
            ORDER BY listed_at LIMIT 1
        ), greatest(read_until, (
            SELECT listed_at
            FROM article_sources WHERE article_sources.source_id = subscriptions.source_id
            ORDER BY listed_at DESC LIMIT 1
        )))
        WHERE source_id IN (SELECT source_id FROM article_sources WHERE article_id = %(article_id)s)
    """
    await conn.execute(statement, {"article_id": article_id})


async def mark_all_read(conn: Connection, *, feed: UUID | None, category: str | None, until: datetime) -> None:
    """Mark articles listed up to a time as read, in one feed, a category or all feeds."""
    statement = f"""
        WITH read AS (
            UPDATE subscriptions SET read_until = greatest(read_until, %(until)s) WHERE {IN_FEED} RETURNING source_id
        )
        UPDATE marks SET is_read = NULL
        FROM read JOIN article_sources USING (source_id)
        WHERE marks.article_id = article_sources.article_id AND marks.is_read = false
            AND article_sources.listed_at <= %(until)s
    """
    await conn.execute(statement, {"feed": feed, "category": category, "until": until})


async def repair_read_until(conn: Connection, *, now: datetime, latest: datetime) -> None:
    """Where a clock that was ahead set it: all that is listed until then would count as read."""
    statement = "UPDATE subscriptions SET read_until = %(now)s WHERE read_until > %(latest)s"
    await conn.execute(statement, {"now": now, "latest": latest})


async def mark_above_read(
    conn: Connection, *, user_id: UserId, feed: UUID | None, category: str | None, place: PageCursor, now: datetime
) -> None:
    statement = f"""
        INSERT INTO marks (user_id, article_id, is_read, read_at)
        SELECT DISTINCT %(user_id)s::uuid, article_id, true, %(now)s::timestamptz
        FROM subscriptions
        JOIN article_sources USING (source_id)
        LEFT JOIN marks USING (article_id)
        WHERE {IN_FEED}
            AND (listed_at > read_until OR NOT is_read)
            AND (listed_at, article_id) >= (%(listed_at)s::timestamptz, %(article_id)s::uuid)
        ON CONFLICT (user_id, article_id) DO UPDATE SET is_read = true, read_at = excluded.read_at
        WHERE marks.is_read IS DISTINCT FROM true
    """
    values = {"user_id": user_id, "feed": feed, "category": category, "listed_at": place.at, "article_id": place.id}
    await conn.execute(statement, values | {"now": now})


async def remove_of(conn: Connection, *, user_id: UserId, limit: int) -> tuple[int, list[ArticleId]]:
    """Delete marks of a removed user. Returns how many were deleted, and which articles were starred."""
    statement = """
        DELETE FROM marks
        WHERE user_id = %(user_id)s
            AND article_id = ANY(ARRAY(SELECT article_id FROM marks WHERE user_id = %(user_id)s LIMIT %(limit)s))
        RETURNING article_id, starred_at IS NOT NULL
    """
    cur = await conn.execute(statement, {"user_id": user_id, "limit": limit})
    rows = await cur.fetchall()
    return len(rows), [ArticleId(article_id) for article_id, is_starred in rows if is_starred]
