"""Reads the selectors of sources, articles and their texts; writes nothing."""

from collections.abc import Sequence

from headwater.db import Connection, fetch_all, fetch_column, fetch_row
from headwater.extraction.decide import KnownArticle
from headwater.extraction.selected import read_selectors
from headwater.extraction.types import Selectors, SourceSelectors
from headwater.types import SourceId


async def find_selectors(conn: Connection, *, source_ids: Sequence[SourceId]) -> dict[SourceId, SourceSelectors]:
    cur = await conn.execute(
        """
        SELECT id, selectors, array_remove(ARRAY[url, feed_url, sitemap_url], NULL)
        FROM sources WHERE id = ANY(%(ids)s) AND selectors IS NOT NULL
        """,
        {"ids": list(source_ids)},
    )
    return {source_id: SourceSelectors(read_selectors(value), urls) for source_id, value, urls in await cur.fetchall()}


async def hold_sources(conn: Connection, *, source_ids: Sequence[SourceId]) -> set[SourceId]:
    """Those of these sources that exist; they are not deleted before the transaction ends."""
    if not source_ids:
        return set()
    statement = "SELECT id FROM sources WHERE id = ANY(%(ids)s) ORDER BY id FOR KEY SHARE"
    return set(await fetch_column(conn, statement, {"ids": list(source_ids)}))


async def find_selectors_of_host(conn: Connection, *, host: str) -> tuple[str, Selectors] | None:
    """The name and selectors of the source whose site or feed is on this host; one with selectors before others."""
    row = await fetch_row(
        conn,
        """
        SELECT name, selectors FROM sources
        WHERE regexp_replace(lower(substring(coalesce(url, feed_url) FROM '://([^/:?#]+)')), '^www\\.', '')
            = regexp_replace(lower(%(host)s), '^www\\.', '')
        ORDER BY selectors IS NULL, created_at LIMIT 1
        """,
        {"host": host},
    )
    return (row[0], read_selectors(row[1])) if row else None


async def find_articles(conn: Connection, *, url_keys: Sequence[bytes]) -> dict[bytes, KnownArticle]:
    rows = await fetch_all(
        conn,
        KnownArticle,
        """
        SELECT articles.id, articles.url, articles.url_key, articles.title, articles.author, articles.summary,
            articles.published_at, content.content_hash, content.simhash
        FROM article_urls JOIN articles ON articles.id = article_urls.article_id
        LEFT JOIN content ON content.article_id = articles.id
        WHERE article_urls.url_key = ANY(%(keys)s)
        """,
        {"keys": list(url_keys)},
    )
    return {bytes(row.url_key): row for row in rows}


async def find_listed(
    conn: Connection, *, source_ids: Sequence[SourceId | None], entry_ids: Sequence[str]
) -> dict[tuple[SourceId, str], bytes]:
    """The keys of articles that a source lists under these ids: a feed may use one URL as id and another as link."""
    cur = await conn.execute(
        """
        SELECT source_id, entry_id, (array_agg(articles.url_key))[1]
        FROM unnest(%(source_ids)b::uuid[], %(entry_ids)b::text[]) AS page (source_id, entry_id)
        JOIN article_sources USING (source_id, entry_id)
        JOIN articles ON articles.id = article_sources.article_id
        GROUP BY source_id, entry_id HAVING count(*) = 1
        """,
        {"source_ids": list(source_ids), "entry_ids": list(entry_ids)},
    )
    return {(source_id, entry_id): bytes(key) for source_id, entry_id, key in await cur.fetchall()}
