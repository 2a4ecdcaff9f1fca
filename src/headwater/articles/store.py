"""Every statement on `articles` and `article_sources`."""

from collections.abc import Sequence
from datetime import datetime

from psycopg.rows import class_row

from headwater.articles.types import Kept, ListedArticle, NewArticle
from headwater.db import Connection
from headwater.ids import new_id
from headwater.types import SourceId


async def keep(conn: Connection, *, source_id: SourceId, seen_at: datetime, articles: Sequence[NewArticle]) -> Kept:
    """Keep what a feed lists: new URLs are added, changed ones renewed, all linked to the source."""
    if not articles:
        return Kept(new=0, linked=0)
    # One row per URL, and always in the same order: two feeds that list the same URLs must not wait for each other.
    ordered = sorted({article.url_key: article for article in articles}.values(), key=lambda article: article.url_key)
    cur = await conn.execute(
        """
        INSERT INTO articles (id, url, url_key, title, author, summary, content, published_at, seen_at)
        SELECT id, url, url_key, title, author, summary, content, published_at, %(seen_at)s::timestamptz
        FROM unnest(
            %(ids)s::uuid[], %(urls)s::text[], %(url_keys)s::bytea[], %(titles)s::text[], %(authors)s::text[],
            %(summaries)s::text[], %(contents)s::text[], %(published)s::timestamptz[]
        ) AS entry (id, url, url_key, title, author, summary, content, published_at)
        ON CONFLICT ON CONSTRAINT articles_url_key DO UPDATE
        SET title = coalesce(nullif(excluded.title, ''), articles.title),
            author = coalesce(excluded.author, articles.author),
            summary = coalesce(excluded.summary, articles.summary),
            content = coalesce(excluded.content, articles.content),
            published_at = coalesce(excluded.published_at, articles.published_at)
        WHERE (articles.title, articles.author, articles.summary, articles.content, articles.published_at)
            IS DISTINCT FROM (
                coalesce(nullif(excluded.title, ''), articles.title),
                coalesce(excluded.author, articles.author),
                coalesce(excluded.summary, articles.summary),
                coalesce(excluded.content, articles.content),
                coalesce(excluded.published_at, articles.published_at)
            )
        RETURNING xmax = 0
        """,
        {
            "seen_at": seen_at,
            "ids": [new_id() for _ in ordered],
            "urls": [article.url for article in ordered],
            "url_keys": [article.url_key for article in ordered],
            "titles": [article.title for article in ordered],
            "authors": [article.author for article in ordered],
            "summaries": [article.summary for article in ordered],
            "contents": [article.content for article in ordered],
            "published": [article.published_at for article in ordered],
        },
    )
    new = sum(1 for (is_new,) in await cur.fetchall() if is_new)
    linked = await _link(conn, source_id=source_id, seen_at=seen_at, articles=ordered)
    return Kept(new, linked)


async def _link(conn: Connection, *, source_id: SourceId, seen_at: datetime, articles: Sequence[NewArticle]) -> int:
    cur = await conn.execute(
        """
        INSERT INTO article_sources (article_id, source_id, entry_id, seen_at)
        SELECT articles.id, %(source_id)s, entry.entry_id, %(seen_at)s
        FROM unnest(%(url_keys)s::bytea[], %(entry_ids)s::text[]) AS entry (url_key, entry_id)
        JOIN articles USING (url_key)
        ORDER BY articles.id
        ON CONFLICT (article_id, source_id) DO NOTHING
        """,
        {
            "source_id": source_id,
            "seen_at": seen_at,
            "url_keys": [article.url_key for article in articles],
            "entry_ids": [article.entry_id for article in articles],
        },
    )
    return cur.rowcount


async def latest(conn: Connection, *, limit: int) -> list[ListedArticle]:
    """The newest articles of all sources."""
    async with conn.cursor(row_factory=class_row(ListedArticle)) as cur:
        await cur.execute(
            """
            SELECT id, url, title, author, summary, published_at, listed_at,
                ARRAY(
                    SELECT sources.name
                    FROM article_sources
                    JOIN sources ON sources.id = article_sources.source_id
                    WHERE article_sources.article_id = articles.id
                    ORDER BY article_sources.seen_at, sources.name
                ) AS sources
            FROM articles
            ORDER BY listed_at DESC, id DESC
            LIMIT %(limit)s
            """,
            {"limit": limit},
        )
        return await cur.fetchall()


async def latest_of_source(conn: Connection, *, source_id: SourceId, limit: int) -> list[ListedArticle]:
    """The newest articles that one source lists."""
    async with conn.cursor(row_factory=class_row(ListedArticle)) as cur:
        await cur.execute(
            """
            SELECT articles.id, articles.url, articles.title, author, summary, published_at, listed_at,
                ARRAY[sources.name] AS sources
            FROM article_sources
            JOIN articles ON articles.id = article_sources.article_id
            JOIN sources ON sources.id = article_sources.source_id
            WHERE article_sources.source_id = %(source_id)s
            ORDER BY listed_at DESC, articles.id DESC
            LIMIT %(limit)s
            """,
            {"source_id": source_id, "limit": limit},
        )
        return await cur.fetchall()


async def forget_those_only_of(conn: Connection, *, source_id: SourceId) -> int:
    """Delete the articles that no other source lists. Returns how many went."""
    cur = await conn.execute(
        """
        DELETE FROM articles
        USING article_sources AS mine
        WHERE mine.source_id = %(source_id)s
            AND mine.article_id = articles.id
            AND NOT EXISTS (
                SELECT FROM article_sources AS other
                WHERE other.article_id = articles.id AND other.source_id <> %(source_id)s
            )
        """,
        {"source_id": source_id},
    )
    return cur.rowcount
