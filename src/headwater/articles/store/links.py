"""Which sources list an article, and what feeds of other sites say of it."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from headwater.articles.store import state
from headwater.articles.types import ListedEntry
from headwater.db import Connection, fetch_column, fetch_row
from headwater.db.arrays import bools, byteas, texts, times, uuids
from headwater.types import ArticleId, SourceId

AFTER_LISTING = timedelta(minutes=15)  # an article is classified by what its feed says, unless its page is read before
RECORD_ARRAYS: Final = """
    %(ids)b::uuid[], %(titles)b::text[], %(authors)b::text[], %(summaries)b::text[], %(contents)b::text[],
    %(published)b::timestamptz[], %(own)b::boolean[]
"""
RECORD_COLUMNS: Final = "article_id, title, author, summary, content, published_at, is_own"
ENTRY_ARRAYS: Final = (
    RECORD_ARRAYS + ", %(source_ids)b::uuid[], %(entry_ids)b::text[], %(urls)b::text[], %(enclosures)b::text[]"
)
ENTRY_COLUMNS: Final = RECORD_COLUMNS + ", source_id, entry_id, url, enclosures"
SAID_ELSEWHERE: Final = """
    CASE WHEN NOT is_own THEN entry.title END, CASE WHEN NOT is_own THEN entry.author END,
    CASE WHEN NOT is_own THEN entry.summary END, CASE WHEN NOT is_own THEN entry.content END,
    CASE WHEN NOT is_own THEN entry.published_at END
"""


async def link(
    conn: Connection, *, seen_at: datetime, ids: Mapping[bytes, ArticleId], listed: Sequence[ListedEntry]
) -> tuple[list[ListedEntry], bool]:
    """Those that their source had not listed before, and whether all are linked now. A deleted source is not linked.

    Each feed gives the article a place of its own in the lists of its readers. What a feed of another site says is
    kept with its link, and updated when it changes.
    """
    if not listed:
        return [], True
    # A feed may list an article twice; the first time counts.
    entries = list({(ids[one.article.url_key], one.source_id): one for one in reversed(listed)}.values())
    statement = f"""
        WITH entry AS MATERIALIZED (
            SELECT * FROM unnest({ENTRY_ARRAYS}) WITH ORDINALITY AS entry ({ENTRY_COLUMNS}, number)
        ), known AS MATERIALIZED (
            SELECT number,
                CASE
                    WHEN is_own THEN known.title IS NOT NULL
                    WHEN NOT is_own THEN
                        (known.title, known.author, known.summary, known.content, known.published_at)
                        IS DISTINCT FROM (
                            entry.title, coalesce(entry.author, known.author),
                            coalesce(entry.summary, known.summary), coalesce(entry.content, known.content),
                            coalesce(entry.published_at, known.published_at)
                        )
                END OR known.enclosures IS DISTINCT FROM coalesce(entry.enclosures::jsonb, known.enclosures)
                    AS is_outdated,
                known.enclosures IS NULL AND entry.enclosures IS NOT NULL AS has_first_enclosures
            FROM entry
            CROSS JOIN LATERAL (
                SELECT *
                FROM article_sources
                WHERE article_sources.article_id = entry.article_id AND article_sources.source_id = entry.source_id
                OFFSET 0
            ) AS known
        ), linked AS (
            INSERT INTO article_sources (
                article_id, source_id, entry_id, seen_at, listed_at, title, author, summary, content, published_at,
                enclosures
            )
            SELECT entry.article_id, sources.id, entry.entry_id, %(seen_at)s,
                least(entry.published_at, %(seen_at)s::timestamptz), {SAID_ELSEWHERE}, entry.enclosures::jsonb
            FROM entry
            CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = entry.article_id OFFSET 0) AS articles
            JOIN sources ON sources.id = entry.source_id
            WHERE NOT EXISTS (SELECT FROM known WHERE known.number = entry.number)
            ORDER BY entry.article_id, sources.id
            FOR KEY SHARE OF articles
            ON CONFLICT (article_id, source_id) DO NOTHING
            RETURNING article_id, source_id
        )
        SELECT (SELECT array_agg(number) FROM linked JOIN entry USING (article_id, source_id)),
            (SELECT array_agg(number) FROM known WHERE is_outdated), (SELECT count(*) FROM known),
            (SELECT array_agg(article_id) FROM known JOIN entry USING (number) WHERE has_first_enclosures)
    """
    values = entry_values(ids, entries) | {"seen_at": seen_at}
    row: tuple[list[int] | None, list[int] | None, int, list[ArticleId] | None] | None
    row = await fetch_row(conn, statement, values)
    new, outdated, known, enclosed = row or (None, None, 0, None)
    if outdated:
        await _update(conn, ids=ids, listed=[entries[number - 1] for number in outdated])
    if enclosed:  # queries find it from now on
        await state.queue_classifying(conn, ids=sorted(enclosed), at=seen_at + AFTER_LISTING)
    if new:  # of a known article: it may fit other channels now
        found = sorted({ids[entries[number - 1].article.url_key] for number in new})
        await state.queue_revised(conn, ids=found, at=seen_at + AFTER_LISTING)
    return [entries[number - 1] for number in new or ()], len(new or ()) + known == len(entries)


async def _update(conn: Connection, *, ids: Mapping[bytes, ArticleId], listed: Sequence[ListedEntry]) -> None:
    """Update what feeds of other sites say; the article's own site writes the shared record.

    A feed that its article's site has begun to serve has that site's id from now on.
    """
    statement = f"""
        WITH given AS MATERIALIZED (
            SELECT * FROM unnest({ENTRY_ARRAYS}) AS given ({ENTRY_COLUMNS})
        ), locked AS MATERIALIZED (
            SELECT article_id, source_id
            FROM article_sources
            WHERE article_id = ANY(%(ids)b::uuid[]) AND source_id = ANY(%(source_ids)b::uuid[])
            ORDER BY article_id, source_id  -- against deadlocks
            FOR UPDATE
        )
        UPDATE article_sources AS link
        SET entry_id = CASE WHEN is_own THEN given.entry_id ELSE link.entry_id END,
            title = CASE WHEN NOT is_own THEN given.title END,
            author = CASE WHEN NOT is_own THEN coalesce(given.author, link.author) END,
            summary = CASE WHEN NOT is_own THEN coalesce(given.summary, link.summary) END,
            content = CASE WHEN NOT is_own THEN coalesce(given.content, link.content) END,
            published_at = CASE WHEN NOT is_own THEN coalesce(given.published_at, link.published_at) END,
            enclosures = coalesce(given.enclosures::jsonb, link.enclosures)
        FROM given JOIN locked USING (article_id, source_id)
        WHERE link.article_id = given.article_id AND link.source_id = given.source_id
            AND link.article_id = ANY(%(ids)b::uuid[])
    """
    await conn.execute(statement, entry_values(ids, listed))


async def relink(conn: Connection, *, source_id: SourceId, to: SourceId) -> int:
    """Link the articles of one source to another. Returns how many were new to it."""
    statement = """
        INSERT INTO article_sources (
            article_id, source_id, entry_id, seen_at, listed_at, title, author, summary, content, published_at,
            enclosures
        )
        SELECT article_id, %(to)s, entry_id, seen_at, listed_at, title, author, summary, content, published_at,
            enclosures
        FROM article_sources WHERE source_id = %(source_id)s
        ON CONFLICT (article_id, source_id) DO NOTHING
    """
    return (await conn.execute(statement, {"source_id": source_id, "to": to})).rowcount


async def list_linked(conn: Connection, *, source_id: SourceId, limit: int) -> list[ArticleId]:
    statement = "SELECT article_id FROM article_sources WHERE source_id = %(source_id)s LIMIT %(limit)s"
    return await fetch_column(conn, statement, {"source_id": source_id, "limit": limit})


async def unlink(conn: Connection, *, source_id: SourceId, ids: Sequence[ArticleId]) -> None:
    statement = "DELETE FROM article_sources WHERE article_id = ANY(%(ids)b::uuid[]) AND source_id = %(source_id)s"
    await conn.execute(statement, {"source_id": source_id, "ids": uuids(ids)})


async def find_owners(conn: Connection, *, url_keys: Sequence[bytes]) -> dict[bytes, SourceId | None]:
    """Those of these URLs that are articles, each with a source that lists it, if any."""
    statement = """
        SELECT url_key, owner.id
        FROM article_urls
        LEFT JOIN LATERAL (
            SELECT sources.id
            FROM article_sources JOIN sources ON sources.id = source_id
            WHERE article_sources.article_id = article_urls.article_id
            ORDER BY article_sources.seen_at, sources.id LIMIT 1
        ) AS owner ON true
        WHERE url_key = ANY(%(url_keys)b::bytea[])
            AND EXISTS (SELECT FROM articles WHERE articles.id = article_urls.article_id OFFSET 0)
    """
    cur = await conn.execute(statement, {"url_keys": byteas(url_keys)})
    return {bytes(key): source_id for key, source_id in await cur.fetchall()}


def record_values(ids: Mapping[bytes, ArticleId], listed: Sequence[ListedEntry]) -> dict[str, object]:
    articles = [one.article for one in listed]
    return {
        "ids": uuids([ids[article.url_key] for article in articles]),
        "titles": texts([article.title for article in articles]),
        "authors": texts([article.author for article in articles]),
        "summaries": texts([article.summary for article in articles]),
        "contents": texts([article.content for article in articles]),
        "published": times([article.published_at for article in articles]),
        "own": bools([article.is_own for article in articles]),
    }


def entry_values(ids: Mapping[bytes, ArticleId], listed: Sequence[ListedEntry]) -> dict[str, object]:
    return record_values(ids, listed) | {
        "source_ids": uuids([one.source_id for one in listed]),
        "entry_ids": texts([one.article.entry_id for one in listed]),
        "urls": texts([one.article.url for one in listed]),
        "enclosures": texts([one.article.enclosures for one in listed]),
    }
