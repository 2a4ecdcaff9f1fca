"""Marking a list as read, in a way that can be undone. Run under `Database.as_user`."""

from datetime import datetime
from uuid import UUID

from headwater.db import Connection
from headwater.ids import ids_at
from headwater.library.store import marks, undo, unread
from headwater.library.types import ArticlesQuery
from headwater.types import UserId


async def mark_list_read(conn: Connection, *, user_id: UserId, query: ArticlesQuery, now: datetime) -> UUID:
    """Mark a feed, a category or everything as read, all of it or down to the cursor of the query. Returns the id by
    which this is undone."""
    (undo_id,) = ids_at(now, 1)
    feed, category = query.feed, query.category
    before = await unread.count(conn, feed=feed, category=category)
    await undo.remember(
        conn,
        undo_id=undo_id,
        user_id=user_id,
        feed=feed,
        category=category,
        now=now,
        article_count=before,
        is_part=query.after is not None,
    )
    if query.after is None:
        await marks.mark_all_read(conn, feed=feed, category=category, until=now)
    else:
        count = await marks.mark_above_read(
            conn, user_id=user_id, feed=feed, category=category, place=query.after, now=now,
            is_oldest_first=query.is_oldest_first,
        )  # fmt: skip
        await undo.set_count(conn, undo_id=undo_id, article_count=count)
    return undo_id
