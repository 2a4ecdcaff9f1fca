"""Every statement of tagging: which articles wait, in which order, and what became of them.

An article waits from when it is admitted: then its readers are counted, and `ai_since` is set.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from headwater.db import Connection, fetch_all, fetch_column, fetch_one, fetch_value
from headwater.types import ArticleId
from headwater.understanding.tagging.types import TaggedText, WaitingArticle

_IS_NEW: Final = "ai_due_at <= %(now)s AND NOT ai_tagged AND ai_since IS NULL"
_IS_DUE: Final = "ai_due_at <= %(now)s AND NOT ai_tagged AND ai_since IS NOT NULL"


async def admit(conn: Connection, *, oldest: UUID, now: datetime, limit: int) -> int:
    """Count the readers of articles that are new here, the newest first. `oldest`: the first id that is not too old.

    Needs a transaction that sees the subscriptions of all users.
    """
    new = f"""
        SELECT article_id FROM article_state
        WHERE article_id >= %(oldest)s AND {_IS_NEW}
        ORDER BY article_id DESC LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    """
    ids = await fetch_column(conn, new, {"oldest": oldest, "now": now, "limit": limit})
    if ids:
        await _count_readers(conn, ids=ids)
    return len(ids)


async def _count_readers(conn: Connection, *, ids: Sequence[ArticleId]) -> None:
    """Each source is counted once, however many of the articles it lists."""
    statement = """
        WITH listed AS MATERIALIZED (
            SELECT given.article_id, link.source_id
            FROM unnest(%(ids)s::uuid[]) AS given (article_id)
            CROSS JOIN LATERAL (
                SELECT source_id FROM article_sources WHERE article_sources.article_id = given.article_id OFFSET 0
            ) AS link
        ), counted AS MATERIALIZED (
            SELECT source_id, count(*) AS readers
            FROM subscriptions WHERE source_id IN (SELECT source_id FROM listed) GROUP BY source_id
        ), summed AS MATERIALIZED (
            SELECT article_id, sum(readers) AS readers
            FROM listed JOIN counted USING (source_id) GROUP BY article_id
        )
        UPDATE article_state
        SET ai_since = ai_due_at,
            ai_readers = coalesce(
                (SELECT readers FROM summed WHERE summed.article_id = article_state.article_id), 0
            )
        WHERE article_id = ANY(%(ids)s)
    """
    await conn.execute(statement, {"ids": list(ids)})


async def withdraw_old(conn: Connection, *, oldest: UUID, now: datetime, limit: int) -> int:
    """Articles that became too old before the stage saw them, as without a key, are no longer due."""
    ids = await _list_old(conn, oldest=oldest, now=now, limit=limit)
    if ids:
        await conn.execute("UPDATE article_state SET ai_due_at = NULL WHERE article_id = ANY(%(ids)s)", {"ids": ids})
    return len(ids)


async def _list_old(conn: Connection, *, oldest: UUID, now: datetime, limit: int) -> list[ArticleId]:
    statement = f"""
        SELECT article_id FROM article_state
        WHERE article_id < %(oldest)s AND {_IS_NEW}
        ORDER BY article_id DESC LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    """
    return await fetch_column(conn, statement, {"oldest": oldest, "now": now, "limit": limit})


async def list_best(conn: Connection, *, now: datetime, least_readers: int, limit: int) -> list[ArticleId]:
    """Due articles, locked: the most read first, then the newest."""
    statement = f"""
        SELECT article_id FROM article_state
        WHERE {_IS_DUE} AND ai_readers >= %(least_readers)s
        ORDER BY ai_readers DESC, article_id DESC LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    """
    return await fetch_column(conn, statement, {"now": now, "least_readers": least_readers, "limit": limit})


async def list_longest(conn: Connection, *, now: datetime, since: datetime, limit: int) -> list[ArticleId]:
    """Due articles that have waited since before a time, locked: the longest first."""
    statement = f"""
        SELECT article_id FROM article_state
        WHERE {_IS_DUE} AND ai_since <= %(since)s
        ORDER BY ai_since LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    """
    return await fetch_column(conn, statement, {"now": now, "since": since, "limit": limit})


async def lease(
    conn: Connection, *, ids: Sequence[ArticleId], lease: UUID, leased_until: datetime
) -> list[WaitingArticle]:
    """In the given order."""
    if not ids:
        return []
    statement = """
        UPDATE article_state SET ai_lease = %(lease)s, ai_due_at = %(until)s
        WHERE article_id = ANY(%(ids)s)
        RETURNING article_id, ai_lease AS lease, ai_attempts AS attempts
    """
    values = {"ids": list(ids), "lease": lease, "until": leased_until}
    leased = {one.article_id: one for one in await fetch_all(conn, WaitingArticle, statement, values)}
    return [leased[article_id] for article_id in ids]


async def count_many_readers(conn: Connection) -> int:
    """How many readers are many: a quarter of the sources that have readers have at least so many.

    Needs a transaction that sees the subscriptions of all users.
    """
    statement = """
        SELECT coalesce(percentile_disc(0.75) WITHIN GROUP (ORDER BY readers), 1)
        FROM (SELECT count(*) AS readers FROM subscriptions GROUP BY source_id) AS counted
    """
    return await fetch_value(conn, statement)


async def oldest_waiting_at(conn: Connection, *, now: datetime) -> datetime | None:
    return await fetch_value(conn, f"SELECT min(ai_since) FROM article_state WHERE {_IS_DUE}", {"now": now})


async def read_article(conn: Connection, *, article_id: ArticleId, max_chars: int) -> TaggedText | None:
    """The shared record of an article: never what a feed of another site, or a private feed, says of it."""
    statement = """
        SELECT coalesce(nullif(page.title, ''), nullif(articles.title, articles.url), '') AS title,
            left(body.text, %(max_chars)s) AS text,
            CASE WHEN body.text = '' THEN left(
                coalesce(nullif(articles.content, ''), nullif(articles.summary, ''), page.description, ''),
                %(max_chars)s
            ) ELSE '' END AS html
        FROM articles
        LEFT JOIN LATERAL (SELECT * FROM content WHERE content.article_id = articles.id OFFSET 0) AS page ON true
        LEFT JOIN LATERAL (
            SELECT text FROM content WHERE content.article_id = page.duplicate_of OFFSET 0
        ) AS original ON true
        CROSS JOIN LATERAL (SELECT coalesce(nullif(page.text, ''), original.text, '') AS text) AS body
        WHERE articles.id = %(id)s
    """
    return await fetch_one(conn, TaggedText, statement, {"id": article_id, "max_chars": max_chars})


async def finish(
    conn: Connection, *, article: WaitingArticle, is_tagged: bool, attempts: int, due_at: datetime | None, now: datetime
) -> bool:
    """What became of a claimed article: tagged, due again, or neither. False if it is no longer ours."""
    statement = """
        UPDATE article_state
        SET ai_tagged = %(is_tagged)s, ai_tagged_at = CASE WHEN %(is_tagged)s THEN %(now)s::timestamptz END,
            ai_attempts = %(attempts)s, ai_due_at = %(due_at)s, ai_lease = NULL,
            ai_since = CASE WHEN %(due_at)s::timestamptz IS NOT NULL THEN ai_since END
        WHERE article_id = %(id)s AND ai_lease = %(lease)s
    """
    values = {
        "id": article.article_id, "lease": article.lease, "is_tagged": is_tagged, "attempts": attempts,
        "due_at": due_at, "now": now,
    }  # fmt: skip
    return (await conn.execute(statement, values)).rowcount == 1
