"""Every statement on `retention_state` and on the months of articles.

The partitions of a month are created and detached by the functions of 0007_months.up.sql, because a statement cannot
name tables that do not exist yet. Each stops after a moment if its tables are locked, and raises `Busy`.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, datetime
from typing import Final
from uuid import UUID

from psycopg import errors

from headwater.db import Connection, fetch_all, fetch_column, fetch_one, fetch_value
from headwater.retention.types import DetachedText, Month, RetainedKind, RetentionState

_IN_MONTH: Final = """
    FROM articles
    WHERE id >= first_id_of(%(month)s::date) AND id < first_id_of((%(month)s::date + interval '1 month')::date)
"""


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
    statement = """
        UPDATE retention_state SET due_at = %(due_at)s, lease = NULL, finished_at = %(now)s
        WHERE lease = %(lease)s
    """
    await conn.execute(statement, {"lease": lease, "now": now, "due_at": due_at})


async def find_state(conn: Connection) -> RetentionState:
    statement = "SELECT due_at, lease IS NOT NULL AS is_running, finished_at FROM retention_state"
    found = await fetch_one(conn, RetentionState, statement)
    assert found is not None, "the migration made the row"
    return found


async def repair_schedule(conn: Connection, *, now: datetime, latest: datetime) -> None:
    """Make a run due that waits for longer than allowed, as a clock that was ahead wrote it."""
    statement = "UPDATE retention_state SET due_at = %(now)s, lease = NULL WHERE due_at > %(latest)s"
    await conn.execute(statement, {"now": now, "latest": latest})


async def newest_published_at(conn: Connection, *, month: date) -> datetime | None:
    return await fetch_value(conn, f"SELECT max(published_at) {_IN_MONTH}", {"month": month})


async def make_months(conn: Connection, *, until: date) -> int:
    """Create the months that are missing after the newest one. Returns how many. Raises Busy."""
    async with _briefly(conn):
        return await fetch_value(conn, "SELECT make_article_months(%(until)s, %(until)s)", {"until": until}) or 0


async def list_months(conn: Connection) -> list[date]:
    return await fetch_column(conn, "SELECT article_months()")


async def count_month(conn: Connection, *, month: date) -> Month:
    statement = f"""
        SELECT %(month)s::date AS month, count(*) AS articles,
            count(*) FILTER (
                WHERE EXISTS (
                    SELECT FROM marks
                    WHERE article_id = articles.id AND (starred_at IS NOT NULL OR saved_at IS NOT NULL)
                )
            ) AS starred
        {_IN_MONTH}
    """
    found = await fetch_one(conn, Month, statement, {"month": month})
    assert found is not None, "a count is a row"
    return found


async def reassign_texts(conn: Connection, *, before: UUID, most: int) -> int:
    """Give texts of expired articles to articles that share them and stay. Returns how many."""
    return await fetch_value(conn, "SELECT hand_on_texts(%(before)s, %(most)s)", {"before": before, "most": most}) or 0


async def detach_month(conn: Connection, *, month: date) -> int | None:
    """Detach the oldest month, without its starred articles; None if another process did. Raises Busy."""
    async with _briefly(conn):
        return await fetch_value(conn, "SELECT let_article_month_go(%(month)s)", {"month": month})


async def list_detached(conn: Connection) -> list[str]:
    return await fetch_column(conn, "SELECT article_tables_gone()")


async def take_detached_texts(conn: Connection, *, table: str, most: int) -> list[DetachedText]:
    """Delete some texts from a detached table, and return them."""
    statement = "SELECT article_id, url_key, version, is_kept FROM take_gone_content(%(part)s, %(most)s)"
    return await fetch_all(conn, DetachedText, statement, {"part": table, "most": most})


async def drop_detached(conn: Connection, *, table: str) -> None:
    """Raises Busy."""
    async with _briefly(conn):
        await conn.execute("SELECT drop_gone_table(%(part)s)", {"part": table})


async def analyze(conn: Connection) -> None:
    """Update the statistics of all months together; autovacuum does so for each month only."""
    await conn.execute("SELECT analyze_articles()")


async def count_rows(conn: Connection, *, kind: RetainedKind, before: datetime) -> int:
    """How many rows of a kind have expired; articles are counted by month."""
    statement = """
        SELECT CASE %(kind)s
            WHEN 'events' THEN (SELECT count(*) FROM events WHERE created_at < %(before)s)
            WHEN 'polls' THEN (SELECT count(*) FROM poll_events WHERE at < %(before)s)
            WHEN 'clicks' THEN (SELECT count(*) FROM feed_item_clicks WHERE clicked_at < %(before)s)
        END
    """
    return await fetch_value(conn, statement, {"kind": kind.value, "before": before})
