"""How far articles are in the stages after extraction: the rows of `article_state` that other stages write."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from headwater.db import Connection, fetch_column
from headwater.types import ArticleId, SourceId

# An article that is due earlier stays so. A process with a lease has read the text and rules as they were: its lease
# ends, and it writes nothing.
_OR_SOONER: Final = """
    ON CONFLICT (article_id) DO UPDATE
    SET classify_at = CASE
            WHEN article_state.classify_lease IS NULL THEN least(article_state.classify_at, excluded.classify_at)
            ELSE excluded.classify_at
        END, classify_lease = NULL, lost_leases = 0
"""


async def queue_classifying(conn: Connection, *, ids: Sequence[ArticleId], at: datetime) -> None:
    """Classify these articles at a time, or earlier if they are due earlier."""
    if not ids:
        return
    statement = f"""
        INSERT INTO article_state (article_id, classify_at)
        SELECT DISTINCT id, %(at)s::timestamptz FROM unnest(%(ids)s::uuid[]) AS id ORDER BY id
        {_OR_SOONER}
    """
    await conn.execute(statement, {"ids": list(ids), "at": at})


async def queue_revised(conn: Connection, *, ids: Sequence[ArticleId], at: datetime) -> None:
    """The same for those of these articles that have a revision: others get their first when they are classified.

    All are locked: a process that classifies one of them waits, and then sees what this transaction changed.
    """
    locked = "SELECT FROM article_state WHERE article_id = ANY(%(ids)s) ORDER BY article_id FOR UPDATE"
    await conn.execute(locked, {"ids": list(ids)})
    statement = """
        UPDATE article_state SET classify_at = %(at)s, lost_leases = 0
        WHERE article_id = ANY(%(ids)s) AND revision IS NOT NULL AND classify_at IS NULL
    """
    await conn.execute(statement, {"ids": list(ids), "at": at})


async def queue_listed(conn: Connection, *, source_id: SourceId, at: datetime, limit: int) -> int:
    """The same for the newest articles that a source lists, since it became public or no longer is. Returns how many.

    Those that another process writes at this moment are left out: waiting for them could end in a deadlock.
    """
    statement = """
        WITH listed AS MATERIALIZED (
            SELECT article_id FROM article_sources
            WHERE source_id = %(source_id)s ORDER BY listed_at DESC, article_id DESC LIMIT %(limit)s
        ), known AS MATERIALIZED (
            SELECT article_id FROM article_state
            WHERE article_id = ANY(ARRAY(SELECT article_id FROM listed)) AND revision IS NOT NULL
                AND classify_at IS NULL
            FOR UPDATE SKIP LOCKED
        )
        UPDATE article_state SET classify_at = %(at)s, lost_leases = 0
        WHERE article_id = ANY(ARRAY(SELECT article_id FROM known))
    """
    return (await conn.execute(statement, {"source_id": source_id, "at": at, "limit": limit})).rowcount


async def queue_again(conn: Connection, *, first: UUID, at: datetime) -> int:
    """Classify the articles from this id on again, the newest first, a hundred a second. Returns how many."""
    statement = """
        WITH known AS (
            SELECT article_id FROM article_state
            WHERE article_id >= %(first)s AND classify_at IS NULL
            ORDER BY article_id FOR UPDATE
        ), placed AS (
            SELECT article_id, row_number() OVER (ORDER BY article_id DESC) AS place FROM known
        )
        UPDATE article_state SET classify_at = %(at)s::timestamptz + (place - 1) * interval '10 ms', lost_leases = 0
        FROM placed
        WHERE article_state.article_id = placed.article_id
    """
    return (await conn.execute(statement, {"first": first, "at": at})).rowcount


async def queue_recent(conn: Connection, *, since: UUID, now: datetime, limit: int) -> int:
    """Classify the newest articles from an id on again, a hundred a second between new ones. Returns how many."""
    statement = f"""
        INSERT INTO article_state (article_id, classify_at)
        SELECT id, %(now)s::timestamptz + row_number() OVER (ORDER BY id DESC) * interval '10 ms'
        FROM (SELECT id FROM articles WHERE id >= %(since)s ORDER BY id DESC LIMIT %(limit)s) AS recent
        ORDER BY id
        {_OR_SOONER}
    """
    return (await conn.execute(statement, {"since": since, "now": now, "limit": limit})).rowcount


async def hold(conn: Connection, *, ids: Sequence[ArticleId]) -> list[ArticleId]:
    """Those of these articles that exist, locked against other writers of their labels and against deletion.

    Each has a state then. The article is locked first, as its deletion does.
    """
    statement = """
        INSERT INTO article_state (article_id)
        SELECT id FROM (SELECT id FROM articles WHERE id = ANY(%(ids)s) ORDER BY id FOR KEY SHARE) AS existing
        ON CONFLICT (article_id) DO NOTHING
    """
    await conn.execute(statement, {"ids": list(ids)})
    locked = """
        SELECT article_id FROM article_state WHERE article_id = ANY(%(ids)s) ORDER BY article_id FOR UPDATE
    """
    return await fetch_column(conn, locked, {"ids": list(ids)})


async def repair_schedules(conn: Connection, *, now: datetime) -> int:
    """Make due what a clock that was ahead queued or leased for more than a day. Returns how many."""
    statement = """
        UPDATE article_state SET classify_at = %(now)s, classify_lease = NULL
        WHERE classify_at > %(now)s::timestamptz + interval '1 day'
    """
    # Two branches, so that each uses an index of the queue of tagging.
    tagging = """
        UPDATE article_state
        SET ai_due_at = %(now)s, ai_lease = NULL,
            ai_since = CASE WHEN ai_since IS NOT NULL THEN least(ai_since, %(now)s) END
        WHERE article_id = ANY(ARRAY(
            SELECT article_id FROM article_state
            WHERE NOT ai_tagged AND ai_since IS NULL AND ai_due_at > %(now)s::timestamptz + interval '1 day'
            UNION ALL
            SELECT article_id FROM article_state
            WHERE NOT ai_tagged AND ai_since IS NOT NULL AND ai_due_at > %(now)s::timestamptz + interval '1 day'
        ))
    """
    repaired = (await conn.execute(statement, {"now": now})).rowcount
    return repaired + (await conn.execute(tagging, {"now": now})).rowcount
