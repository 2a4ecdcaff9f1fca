"""Lock and delete articles."""

from collections.abc import Sequence

from headwater.db import Connection
from headwater.db.arrays import byteas, uuids
from headwater.types import ArticleId, SourceId


async def lock_by_url(conn: Connection, *, url_keys: Sequence[bytes]) -> dict[bytes, ArticleId]:
    """The articles of these URLs; none is deleted before the transaction ends."""
    async with conn.cursor(binary=True) as cur:
        statement = """
            SELECT article_urls.url_key, articles.id
            FROM article_urls
            JOIN articles ON articles.id = article_id
            WHERE article_urls.url_key = ANY(%(url_keys)b::bytea[])
            ORDER BY articles.id FOR KEY SHARE OF articles
        """
        await cur.execute(statement, {"url_keys": byteas(url_keys)})
        return dict(await cur.fetchall())


async def lock(conn: Connection, *, ids: Sequence[ArticleId]) -> dict[ArticleId, str]:
    """Lock these articles; returns their URLs. None is linked to a source before the transaction ends."""
    cur = await conn.execute(
        "SELECT id, url FROM articles WHERE id = ANY(%(ids)b::uuid[]) ORDER BY id FOR UPDATE", {"ids": uuids(ids)}
    )
    return dict(await cur.fetchall())


async def remove_unlisted(conn: Connection, *, ids: Sequence[ArticleId], except_for: SourceId | None = None) -> int:
    """Delete those of these locked articles that no source but the given one lists and no user starred.

    Returns how many; their content, links and marks are deleted too.
    """
    statement = """
        DELETE FROM articles
        WHERE id = ANY(%(ids)b::uuid[])
            AND NOT EXISTS (
                SELECT
                FROM article_sources AS other
                WHERE other.article_id = articles.id AND other.source_id IS DISTINCT FROM %(except_for)s::uuid
                OFFSET 0
            )
            AND NOT EXISTS (
                SELECT FROM marks WHERE marks.article_id = articles.id AND starred_at IS NOT NULL OFFSET 0
            )
    """
    cur = await conn.execute(statement, {"ids": uuids(ids), "except_for": except_for})
    return cur.rowcount
