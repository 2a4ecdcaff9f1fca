"""Reads and writes of merging sources, and URLs that a source shares with other packages."""

from collections.abc import Sequence
from uuid import UUID

from headwater.db import Connection, fetch_column, fetch_one
from headwater.frontier.keys import UrlKey
from headwater.sources.types import FeedAddress, MergePair
from headwater.types import SourceId


async def lock_pair(conn: Connection, *, source_id: SourceId, other_id: SourceId) -> MergePair | None:
    """Lock a source and the one it may be merged into; None if either was deleted or has no feed. Until the transaction
    ends, no user can subscribe to the first; articles can still be linked to the other."""
    statement = """
        SELECT mine.enabled AND mine.feed_disabled_at IS NULL
                AND other.enabled AND other.feed_disabled_at IS NULL AS are_active,
            mine.is_system, mine.moderation_status IS NOT NULL AS is_suggested,
            mine.sitemap_url IS NOT NULL OR mine.ingestion_mode <> 'feed' OR mine.selectors IS NOT NULL
                AS has_overrides,
            EXISTS (SELECT FROM bodies WHERE bodies.source_id = mine.id) AS has_pages,
            other.moderation_status IS NOT NULL AS other_is_suggested,
            other.is_system OR coalesce(other.moderation_status = 'approved', false) AS other_is_public,
            other.was_private AS other_was_private, mine.feed_url, mine.feed_url_key,
            other.feed_url AS other_feed_url, other.feed_url_key AS other_feed_url_key
        FROM sources AS mine CROSS JOIN sources AS other
        WHERE mine.id = %(id)s AND mine.feed_url_key IS NOT NULL
            AND other.id = %(other_id)s AND other.feed_url_key IS NOT NULL
        FOR UPDATE OF mine FOR NO KEY UPDATE OF other
    """
    return await fetch_one(conn, MergePair, statement, {"id": source_id, "other_id": other_id})


async def find_address(conn: Connection, *, source_id: SourceId) -> FeedAddress | None:
    statement = "SELECT feed_url, feed_url_key, is_system FROM sources WHERE id = %(id)s AND feed_url_key IS NOT NULL"
    return await fetch_one(conn, FeedAddress, statement, {"id": source_id})


async def inherit(conn: Connection, *, source_id: SourceId, to: SourceId) -> None:
    """Copy the settings of one source to another where that one has none."""
    statement = """
        UPDATE sources
        SET is_system = sources.is_system OR mine.is_system,
            is_critical = sources.is_critical OR mine.is_critical,
            category = coalesce(sources.category, mine.category), policy = coalesce(sources.policy, mine.policy),
            feed_poll_interval_minutes = coalesce(sources.feed_poll_interval_minutes, mine.feed_poll_interval_minutes),
            min_delay_ms = greatest(sources.min_delay_ms, mine.min_delay_ms)
        FROM sources AS mine WHERE sources.id = %(to)s AND mine.id = %(id)s
    """
    await conn.execute(statement, {"id": source_id, "to": to})


async def find_listed(conn: Connection, *, url_keys: Sequence[bytes]) -> set[bytes]:
    statement = """
        SELECT url_key FROM article_urls
        WHERE url_key = ANY(%(keys)b::bytea[])
            AND EXISTS (SELECT FROM articles WHERE articles.id = article_id OFFSET 0)  -- each in its month
    """
    return set(await fetch_column(conn, statement, {"keys": list(url_keys)}))


async def list_index_pages(conn: Connection, *, source_id: SourceId) -> list[UUID]:
    """The ids of the sitemaps and list pages that are fetched repeatedly for this source."""
    statement = "SELECT shard, host_id, url_id FROM frontier_url WHERE source_id = %(id)s AND kind <> 'a'"
    cur = await conn.execute(statement, {"id": source_id})
    return [UrlKey(*row).id for row in await cur.fetchall()]
