"""Every statement on `retention_state` and on the months of articles.

The partitions of a month are created and detached by the functions of 0007_months.up.sql, because a statement cannot
name tables that do not exist yet. Each stops after a moment if its tables are locked, and raises `Busy`.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, datetime
from uuid import UUID

from psycopg import errors

from headwater.db import Connection, fetch_all, fetch_column, fetch_one, fetch_value
from headwater.retention.types import DetachedText, Month, RetainedKind, RetentionState


class Busy(Exception):
    """A table is locked; nothing was changed."""


@asynccontextmanager
async def _briefly(conn: Connection) -> AsyncIterator[None]:
    """Roll back what is done inside if it has to wait for a lock. Raises Busy."""
    try:
        async with conn.transaction():
            yield
    except (errors.LockNotAvailable, errors.DeadlockDetected) as error:
        raise Busy from error


async def claim(conn: Connection, *, lease: UUID, now: datetime, ends_at: datetime, is_early: bool = False) -> bool:
    """Claim a run that is due; early, also one that is not due yet, unless one is running."""
    statement = """
        UPDATE retention_state SET due_at = %(ends_at)s, lease = %(lease)s
        WHERE due_at <= %(now)s OR (%(is_early)s AND lease IS NULL)
    """
    cur = await conn.execute(statement, {"lease": lease, "now": now, "ends_at": ends_at, "is_early": is_early})
    return cur.rowcount == 1


async def finish(conn: Connection, *, lease: UUID, now: datetime, due_at: datetime) -> None:
    """End a run, and set when the next is due."""
    statement = """
        UPDATE retention_state SET due_at = %(due_at)s, lease = NULL, finished_at = %(now)s
        WHERE lease = %(lease)s
    """
    await conn.execute(statement, {"lease": lease, "now": now, "due_at": due_at})


async def find_state(conn: Connection) -> RetentionState:
    found = await fetch_one(
        conn, RetentionState, "SELECT due_at, lease IS NOT NULL AS is_running, finished_at FROM retention_state"
    )
    assert found is not None, "the migration made the row"
    return found


async def repair_schedule(conn: Connection, *, now: datetime, latest: datetime) -> None:
    """Make a run due that waits for longer than allowed, as a clock that was ahead wrote it."""
    await conn.execute(
        "UPDATE retention_state SET due_at = %(now)s, lease = NULL WHERE due_at > %(latest)s",
        {"now": now, "latest": latest},
    )


async def newest_published_at(conn: Connection, *, month: date) -> datetime | None:
    statement = """
        SELECT max(published_at)
        FROM articles
        WHERE id >= first_id_of(%(month)s::date) AND id < first_id_of((%(month)s::date + interval '1 month')::date)
    """
    return await fetch_value(conn, statement, {"month": month})


async def make_months(conn: Connection, *, until: date) -> int:
    """Create the months that are missing after the newest one. Returns how many. Raises Busy."""
    async with _briefly(conn):
        return await fetch_value(conn, "SELECT make_article_months(%(until)s, %(until)s)", {"until": until}) or 0


async def list_months(conn: Connection) -> list[date]:
    """The existing months, the oldest first."""
    return await fetch_column(conn, "SELECT article_months()")


async def count_month(conn: Connection, *, month: date) -> Month:
    """How many articles are in a month, and how many of them are starred."""
    statement = """
        SELECT %(month)s::date AS month, count(*) AS articles,
            count(*) FILTER (
                WHERE EXISTS (SELECT FROM marks WHERE article_id = articles.id AND starred_at IS NOT NULL)
            ) AS starred
        FROM articles
        WHERE id >= first_id_of(%(month)s::date) AND id < first_id_of((%(month)s::date + interval '1 month')::date)
    """
    found = await fetch_one(conn, Month, statement, {"month": month})
    assert found is not None, "a count is a row"
    return found


async def reassign_texts(conn: Connection, *, before: UUID, most: int) -> int:
    """Give texts of expired articles to articles that share them and stay. Returns how many."""
    return await fetch_value(conn, "SELECT hand_on_texts(%(before)s, %(most)s)", {"before": before, "most": most}) or 0


async def detach_month(conn: Connection, *, month: date) -> int | None:
    """Detach the oldest month, without its starred articles. Returns how many older ones are kept. Raises Busy.

    None if it is not the oldest: another process was faster.
    """
    async with _briefly(conn):
        return await fetch_value(conn, "SELECT let_article_month_go(%(month)s)", {"month": month})


async def list_detached(conn: Connection) -> list[str]:
    return await fetch_column(conn, "SELECT article_tables_gone()")


async def take_detached_texts(conn: Connection, *, table: str, most: int) -> list[DetachedText]:
    """Delete some texts from a detached table, and return them."""
    return await fetch_all(
        conn,
        DetachedText,
        "SELECT article_id, url_key, version, is_kept FROM take_gone_content(%(part)s, %(most)s)",
        {"part": table, "most": most},
    )


async def drop_detached(conn: Connection, *, table: str) -> None:
    """Drop a detached table. Raises Busy."""
    async with _briefly(conn):
        await conn.execute("SELECT drop_gone_table(%(part)s)", {"part": table})


async def analyze(conn: Connection) -> None:
    """Update the statistics of all months together; autovacuum does so for each month only."""
    await conn.execute("SELECT analyze_articles()")


async def is_index_listening(conn: Connection) -> bool:
    """Whether deletions must be queued for a search index."""
    return bool(await fetch_value(conn, "SELECT EXISTS (SELECT FROM outbox_listening)"))


async def count_events(conn: Connection, *, before: datetime) -> int:
    return await fetch_value(conn, "SELECT count(*) FROM events WHERE created_at < %(before)s", {"before": before})


async def count_polls(conn: Connection, *, before: datetime) -> int:
    return await fetch_value(conn, "SELECT count(*) FROM poll_events WHERE at < %(before)s", {"before": before})


async def count_clicks(conn: Connection, *, before: datetime) -> int:
    return await fetch_value(
        conn, "SELECT count(*) FROM feed_item_clicks WHERE clicked_at < %(before)s", {"before": before}
    )


COUNTS = {RetainedKind.EVENTS: count_events, RetainedKind.POLLS: count_polls, RetainedKind.CLICKS: count_clicks}
