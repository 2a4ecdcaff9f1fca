"""What is read and moved when one source is merged into another."""

from collections.abc import Sequence
from uuid import UUID

from headwater.db import Connection, fetch_column
from headwater.frontier.keys import UrlKey
from headwater.sources.types import FeedPlace, Pair
from headwater.types import SourceId


async def lock_pair(conn: Connection, *, source_id: SourceId, other_id: SourceId) -> Pair | None:
    """Lock a source and the one it may be merged into; None if either was deleted.

    Nobody can subscribe to the first meanwhile; articles can still be linked to the other.
    """
    statement = """
        SELECT mine.enabled AND mine.feed_disabled_at IS NULL
                AND other.enabled AND other.feed_disabled_at IS NULL,
            mine.is_system, mine.moderation_status IS NOT NULL,
            mine.sitemap_url IS NOT NULL OR mine.ingestion_mode <> 'feed' OR mine.selectors IS NOT NULL,
            EXISTS (SELECT FROM bodies WHERE bodies.source_id = mine.id), other.moderation_status IS NOT NULL,
            mine.feed_url, mine.feed_url_key, other.feed_url, other.feed_url_key
        FROM sources AS mine
        CROSS JOIN sources AS other
        WHERE mine.id = %(id)s AND other.id = %(other_id)s
        FOR UPDATE OF mine
        FOR NO KEY UPDATE OF other
    """
    cur = await conn.execute(statement, {"id": source_id, "other_id": other_id})
    row = await cur.fetchone()
    if row is None:
        return None
    are_read, is_system, is_suggested, is_set_up, has_pages, other_is_suggested, url, key, other_url, other_key = row
    return Pair(
        are_read=are_read,
        is_system=is_system,
        is_suggested=is_suggested,
        is_set_up=is_set_up,
        has_pages=has_pages,
        other_is_suggested=other_is_suggested,
        place=_place(url, key),
        other_place=_place(other_url, other_key),
    )


async def find_place(conn: Connection, *, source_id: SourceId) -> FeedPlace | None:
    """Where the source's feed is, if it has one."""
    cur = await conn.execute("SELECT feed_url, feed_url_key FROM sources WHERE id = %(id)s", {"id": source_id})
    row = await cur.fetchone()
    return _place(*row) if row else None


def _place(feed_url: str | None, feed_url_key: bytes | None) -> FeedPlace | None:
    return FeedPlace(feed_url, bytes(feed_url_key)) if feed_url is not None and feed_url_key is not None else None


async def inherit(conn: Connection, *, source_id: SourceId, to: SourceId) -> None:
    """Copy the settings of one source to another where that one has none."""
    statement = """
        UPDATE sources
        SET is_system = sources.is_system OR mine.is_system,
            is_critical = sources.is_critical OR mine.is_critical,
            category = coalesce(sources.category, mine.category),
            policy = coalesce(sources.policy, mine.policy),
            feed_poll_interval_minutes = coalesce(sources.feed_poll_interval_minutes, mine.feed_poll_interval_minutes),
            min_delay_ms = greatest(sources.min_delay_ms, mine.min_delay_ms)
        FROM sources AS mine
        WHERE sources.id = %(to)s AND mine.id = %(id)s
    """
    await conn.execute(statement, {"id": source_id, "to": to})


async def find_listed(conn: Connection, *, url_keys: Sequence[bytes]) -> set[bytes]:
    """Which of these URLs are articles."""
    statement = """
        SELECT url_key
        FROM article_urls
        WHERE url_key = ANY(%(keys)b::bytea[])
            AND EXISTS (SELECT FROM articles WHERE articles.id = article_id OFFSET 0)  -- each in its month
    """
    return set(await fetch_column(conn, statement, {"keys": list(url_keys)}))


async def list_index_pages(conn: Connection, *, source_id: SourceId) -> list[UUID]:
    """The ids of the sitemaps and list pages that are fetched repeatedly for this source."""
    cur = await conn.execute(
        "SELECT shard, host_id, url_id FROM frontier_url WHERE source_id = %(id)s AND kind <> 'a'", {"id": source_id}
    )
    return [UrlKey(*row).id for row in await cur.fetchall()]
