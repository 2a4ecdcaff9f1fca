"""Undo of marking a list as read: what each feed and article was before. Run under `Database.as_user`."""

from datetime import datetime
from uuid import UUID

from headwater.db import Connection, fetch_one, fetch_value
from headwater.library.store.lists import IN_FEED
from headwater.library.types import MarkedRead
from headwater.types import UserId


async def remember(
    conn: Connection, *, undo_id: UUID, user_id: UserId, feed: UUID | None, category: str | None, now: datetime,
    article_count: int, is_part: bool,
) -> None:  # fmt: skip
    """Before a list is marked as read: replaces what could be undone until now. `is_part`: by marks of articles, which
    have that time."""
    statement = f"""
        INSERT INTO read_undo (user_id, id, marked_at, article_count, read_until, kept_unread)
        SELECT %(user_id)s, %(id)s, %(now)s, %(article_count)s,
            coalesce((
                SELECT jsonb_object_agg(id, read_until) FROM subscriptions WHERE NOT %(is_part)s::boolean AND {IN_FEED}
            ), '{{}}'),
            ARRAY(
                SELECT DISTINCT marks.article_id
                FROM marks
                CROSS JOIN LATERAL (
                    SELECT source_id FROM article_sources WHERE article_id = marks.article_id OFFSET 0
                ) AS listed
                JOIN subscriptions USING (source_id)
                WHERE NOT is_read AND {IN_FEED}
            )
        ON CONFLICT (user_id) DO UPDATE SET id = excluded.id, marked_at = excluded.marked_at,
            article_count = excluded.article_count, read_until = excluded.read_until,
            kept_unread = excluded.kept_unread
    """
    values = {"user_id": user_id, "id": undo_id, "feed": feed, "category": category, "now": now}
    await conn.execute(statement, {**values, "article_count": article_count, "is_part": is_part})


async def set_count(conn: Connection, *, undo_id: UUID, article_count: int) -> None:
    statement = "UPDATE read_undo SET article_count = %(count)s WHERE id = %(id)s"
    await conn.execute(statement, {"id": undo_id, "count": article_count})


async def find(conn: Connection, *, undo_id: UUID) -> MarkedRead | None:
    statement = "SELECT id, article_count FROM read_undo WHERE id = %(id)s"
    return await fetch_one(conn, MarkedRead, statement, {"id": undo_id})


async def restore(conn: Connection, *, undo_id: UUID) -> bool:
    """Make unread what was unread before. What was marked by itself since then stays read. False: nothing to undo."""
    statement = """
        WITH undone AS (
            DELETE FROM read_undo WHERE id = %(id)s RETURNING marked_at, read_until, kept_unread
        ), feeds AS (
            UPDATE subscriptions SET read_until = (undone.read_until ->> subscriptions.id::text)::timestamptz
            FROM undone WHERE undone.read_until ->> subscriptions.id::text IS NOT NULL
        ), marked AS (
            UPDATE marks SET is_read = false, read_at = NULL
            FROM undone
            WHERE (undone.read_until = '{}' AND read_at = marked_at AND is_read)
                OR (article_id = ANY (kept_unread) AND is_read IS NULL)
        )
        SELECT true FROM undone
    """
    return bool(await fetch_value(conn, statement, {"id": undo_id}))
