"""Icons of a user's feeds and lead images of their articles. No other user's: a private feed's images are private."""

from collections.abc import Collection
from uuid import UUID

from headwater.db import Connection, fetch_all, fetch_one
from headwater.images.types import ImageDigest, StoredImage


async def find_icon_digests(conn: Connection, *, feed_ids: Collection[UUID]) -> dict[UUID, str]:
    """Of those of the user's feeds that have an icon, by the id of the subscription."""
    if not feed_ids:
        return {}
    statement = """
        SELECT subscriptions.id AS owner_id, digest
        FROM subscriptions JOIN images ON images.owner_id = subscriptions.source_id
        WHERE subscriptions.id = ANY (%(ids)s) AND digest IS NOT NULL
    """
    return {row.owner_id: row.digest for row in await fetch_all(conn, ImageDigest, statement, {"ids": list(feed_ids)})}


async def find_lead_digests(conn: Connection, *, article_ids: Collection[UUID]) -> dict[UUID, str]:
    """Of those of these articles that have a lead image. The caller may see them."""
    if not article_ids:
        return {}
    statement = "SELECT owner_id, digest FROM images WHERE owner_id = ANY (%(ids)s) AND digest IS NOT NULL"
    rows = await fetch_all(conn, ImageDigest, statement, {"ids": list(article_ids)})
    return {row.owner_id: row.digest for row in rows}


async def find_icon(conn: Connection, *, feed_id: UUID) -> StoredImage | None:
    """The icon of one of the user's feeds."""
    statement = """
        SELECT data, digest
        FROM subscriptions JOIN images ON images.owner_id = subscriptions.source_id
        WHERE subscriptions.id = %(id)s AND data IS NOT NULL
    """
    return await fetch_one(conn, StoredImage, statement, {"id": feed_id})


async def find_lead(conn: Connection, *, article_id: UUID) -> StoredImage | None:
    """The lead image of an article of the user's feeds, or a starred or saved one."""
    statement = """
        SELECT data, digest
        FROM images
        WHERE owner_id = %(id)s AND data IS NOT NULL AND (
            EXISTS (
                SELECT FROM article_sources JOIN subscriptions USING (source_id) WHERE article_id = %(id)s
            )
            OR EXISTS (
                SELECT FROM marks WHERE article_id = %(id)s AND (starred_at IS NOT NULL OR saved_at IS NOT NULL)
            )
        )
    """
    return await fetch_one(conn, StoredImage, statement, {"id": article_id})
