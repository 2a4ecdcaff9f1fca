"""Every statement on `articles` and `article_sources`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from psycopg.rows import class_row

from headwater.articles.types import Kept, Listed, ListedArticle
from headwater.db import Connection
from headwater.ids import new_id
from headwater.types import SourceId


async def keep(conn: Connection, *, seen_at: datetime, listed: Sequence[Listed]) -> Mapping[SourceId, Kept]:
    """Keep what feeds list: new URLs are added, changed ones renewed, each linked to its source."""
    if not listed:
        return {}
    listed = await _known_by_id(conn, listed=listed)
    # One row per URL, and always in the same order: two writers of the same URLs must not wait for each other.
    first = {one.article.url_key: one for one in reversed(listed)}
    new = await _write(conn, seen_at=seen_at, listed=[first[key] for key in sorted(first)])
    linked = await _link(conn, seen_at=seen_at, listed=listed)
    sources = {one.source_id for one in listed}
    return {source_id: Kept(new.get(source_id, 0), linked.get(source_id, 0)) for source_id in sources}


async def _write(conn: Connection, *, seen_at: datetime, listed: Sequence[Listed]) -> Mapping[SourceId, int]:
    """How many articles nobody had, by the source that brought them."""
    # Arrays in binary (%b): in text, psycopg spends four times as long on them.
    cur = await conn.execute(
        """
        WITH entry AS MATERIALIZED (
            SELECT *
            FROM unnest(
                %(source_ids)b::uuid[], %(ids)b::uuid[], %(urls)b::text[], %(url_keys)b::bytea[], %(titles)b::text[],
                %(authors)b::text[], %(summaries)b::text[], %(contents)b::text[], %(published)b::timestamptz[]
            ) AS entry (source_id, id, url, url_key, title, author, summary, content, published_at)
        ), written AS (
            INSERT INTO articles (id, url, url_key, title, author, summary, content, published_at, seen_at)
            SELECT id, url, url_key, title, author, summary, content, published_at, %(seen_at)s::timestamptz
            FROM entry
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
            RETURNING id, xmax = 0 AS is_new
        )
        SELECT source_id, count(*)
        FROM written
        JOIN entry USING (id)
        WHERE is_new
        GROUP BY source_id
        """,
        {
            "seen_at": seen_at,
            "source_ids": [one.source_id for one in listed],
            "ids": [new_id() for _ in listed],
            "urls": [one.article.url for one in listed],
            "url_keys": [one.article.url_key for one in listed],
            "titles": [one.article.title for one in listed],
            "authors": [one.article.author for one in listed],
            "summaries": [one.article.summary for one in listed],
            "contents": [one.article.content for one in listed],
            "published": [one.article.published_at for one in listed],
        },
    )
    return dict(await cur.fetchall())


async def _known_by_id(conn: Connection, *, listed: Sequence[Listed]) -> Sequence[Listed]:
    """Entries that their feed has listed before under the same id are the same article, whatever their URL is now.

    A feed that gives several entries one id has no ids: only one that meets one counts.
    """
    cur = await conn.execute(
        """
        SELECT source_id, entry_id, (array_agg(articles.url_key))[1]
        FROM unnest(%(source_ids)b::uuid[], %(entry_ids)b::text[], %(url_keys)b::bytea[])
            AS entry (source_id, entry_id, url_key)
        JOIN article_sources USING (source_id, entry_id)
        JOIN articles ON articles.id = article_sources.article_id
        GROUP BY source_id, entry_id
        HAVING count(*) = 1 AND bool_and(articles.url_key <> entry.url_key)
        """,
        {
            "source_ids": [one.source_id for one in listed],
            "entry_ids": [one.article.entry_id for one in listed],
            "url_keys": [one.article.url_key for one in listed],
        },
    )
    known = {(source_id, entry_id): bytes(key) for source_id, entry_id, key in await cur.fetchall()}
    if not known:
        return listed
    return [
        replace(one, article=replace(one.article, url_key=known[mark]))
        if (mark := (one.source_id, one.article.entry_id)) in known
        else one
        for one in listed
    ]


async def _link(conn: Connection, *, seen_at: datetime, listed: Sequence[Listed]) -> Mapping[SourceId, int]:
    """How many articles each source had not listed before."""
    cur = await conn.execute(
        """
        WITH linked AS (
            INSERT INTO article_sources (article_id, source_id, entry_id, seen_at, listed_at)
            SELECT articles.id, sources.id, entry.entry_id, %(seen_at)s, articles.listed_at
            FROM unnest(%(source_ids)b::uuid[], %(url_keys)b::bytea[], %(entry_ids)b::text[])
                AS entry (source_id, url_key, entry_id)
            JOIN articles USING (url_key)
            JOIN sources ON sources.id = entry.source_id
            ORDER BY articles.id, sources.id
            ON CONFLICT (article_id, source_id) DO NOTHING
            RETURNING source_id
        )
        SELECT source_id, count(*) FROM linked GROUP BY source_id
        """,
        {
            "seen_at": seen_at,
            "source_ids": [one.source_id for one in listed],
            "url_keys": [one.article.url_key for one in listed],
            "entry_ids": [one.article.entry_id for one in listed],
        },
    )
    return dict(await cur.fetchall())


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
            SELECT articles.id, articles.url, articles.title, author, summary, published_at, articles.listed_at,
                ARRAY[sources.name] AS sources
            FROM article_sources
            JOIN articles ON articles.id = article_sources.article_id
            JOIN sources ON sources.id = article_sources.source_id
            WHERE article_sources.source_id = %(source_id)s
            ORDER BY article_sources.listed_at DESC, article_id DESC
            LIMIT %(limit)s
            """,
            {"source_id": source_id, "limit": limit},
        )
        return await cur.fetchall()


async def relink(conn: Connection, *, source_id: SourceId, to: SourceId) -> None:
    """What one source lists is listed by another from now on."""
    await conn.execute(
        """
        INSERT INTO article_sources (article_id, source_id, entry_id, seen_at, listed_at)
        SELECT article_id, %(to)s, entry_id, seen_at, listed_at
        FROM article_sources
        WHERE source_id = %(source_id)s
        ON CONFLICT (article_id, source_id) DO NOTHING
        """,
        {"source_id": source_id, "to": to},
    )


async def forget_those_only_of(conn: Connection, *, source_id: SourceId) -> int:
    """Delete the articles that no other source lists and nobody has starred. Returns how many went."""
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
            AND NOT EXISTS (SELECT FROM marks WHERE marks.article_id = articles.id AND starred_at IS NOT NULL)
        """,
        {"source_id": source_id},
    )
    return cur.rowcount
