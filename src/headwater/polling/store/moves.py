"""Feeds that have moved, and feeds that are lost."""

from collections.abc import Sequence
from datetime import datetime

from headwater.db import Connection, fetch_all, fetch_column, fetch_value
from headwater.hosts.store.due import wake_for_feed
from headwater.polling.types import LostFeed, MovedFeed
from headwater.types import SourceId


async def list_moved(conn: Connection, *, limit: int) -> Sequence[MovedFeed]:
    """Feeds whose permanent redirect is to be adopted."""
    statement = "SELECT source_id, adopt_url AS url FROM feed_state WHERE adopt_url IS NOT NULL LIMIT %(limit)s"
    return await fetch_all(conn, MovedFeed, statement, {"limit": limit})


async def is_moving(conn: Connection, *, moved: MovedFeed) -> bool:
    """Whether the feed is still to get this URL; it is locked until this transaction ends."""
    statement = """
        SELECT adopt_url = %(url)s
        FROM sources
        JOIN feed_state ON source_id = sources.id
        WHERE sources.id = %(source_id)s FOR UPDATE
    """
    is_moving = await fetch_value(conn, statement, {"source_id": moved.source_id, "url": moved.url})
    return bool(is_moving)


async def adopt(conn: Connection, *, source_id: SourceId, feed_url: str, host: str, now: datetime) -> None:
    """Change the URL of the feed; all else stays."""
    statement = """
        UPDATE feed_state
        SET edits = edits + 1, feed_url = %(feed_url)s, host = %(host)s, adopt_url = NULL, moved_url = NULL,
            moved_since = NULL, moved_times = 0
        WHERE source_id = %(source_id)s RETURNING next_poll_at
    """
    times = await fetch_column(conn, statement, {"source_id": source_id, "feed_url": feed_url, "host": host})
    for next_poll_at in times:
        await wake_for_feed(conn, host=host, due_at=next_poll_at, now=now)


async def stay(conn: Connection, *, source_id: SourceId) -> None:
    statement = "UPDATE feed_state SET adopt_url = NULL, moved_url = NULL WHERE source_id = %(source_id)s"
    await conn.execute(statement, {"source_id": source_id})


async def list_lost(conn: Connection, *, limit: int) -> Sequence[LostFeed]:
    """Feeds whose URL is not a feed any more, for rediscovery."""
    statement = "SELECT source_id, feed_url FROM feed_state WHERE needs_rediscovery LIMIT %(limit)s"
    return await fetch_all(conn, LostFeed, statement, {"limit": limit})


async def end_rediscovery(conn: Connection, *, source_id: SourceId) -> None:
    """Rediscovery of this feed is finished."""
    statement = "UPDATE feed_state SET needs_rediscovery = false WHERE source_id = %(source_id)s"
    await conn.execute(statement, {"source_id": source_id})
