"""Every statement on `retention_state` and on the months of articles.

What a month is made of, and how it goes, is written once, in the functions of 0007_months.up.sql: tables that come and
go cannot be named in a statement. Each gives up after a moment when what it needs is locked, and raises `Busy`.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, datetime
from uuid import UUID

from psycopg import errors

from headwater.db import Connection, fetch_all, fetch_column, fetch_one, fetch_value
from headwater.retention.types import GoneText, Month, RetainedKind, RetentionState


class Busy(Exception):
    """Others hold what is needed; nothing was changed."""


@asynccontextmanager
async def _briefly(conn: Connection) -> AsyncIterator[None]:
    """Nothing of what is done inside stays when it has to wait. Raises Busy."""
    try:
        async with conn.transaction():
            yield
    except (errors.LockNotAvailable, errors.DeadlockDetected) as error:
        raise Busy from error


async def claim(conn: Connection, *, lease: UUID, now: datetime, ends_at: datetime) -> bool:
    """Take the turn when one is due."""
    cur = await conn.execute(
        "UPDATE retention_state SET due_at = %(ends_at)s, lease = %(lease)s WHERE due_at <= %(now)s",
        {"lease": lease, "now": now, "ends_at": ends_at},
    )
    return cur.rowcount == 1


async def claim_early(conn: Connection, *, lease: UUID, now: datetime, ends_at: datetime) -> bool:
    """Claim a run, due or not; false while one is running."""
    cur = await conn.execute(
        """
        UPDATE retention_state SET due_at = %(ends_at)s, lease = %(lease)s
        WHERE due_at <= %(now)s OR lease IS NULL
        """,
        {"lease": lease, "now": now, "ends_at": ends_at},
    )
    return cur.rowcount == 1


async def finish(conn: Connection, *, lease: UUID, now: datetime, due_at: datetime) -> None:
    """The turn is over; the next one is due then."""
    await conn.execute(
        """
        UPDATE retention_state SET due_at = %(due_at)s, lease = NULL, finished_at = %(now)s
        WHERE lease = %(lease)s
        """,
        {"lease": lease, "now": now, "due_at": due_at},
    )


async def find_state(conn: Connection) -> RetentionState:
    """How retention stands."""
    found = await fetch_one(
        conn, RetentionState, "SELECT due_at, lease IS NOT NULL AS is_running, finished_at FROM retention_state"
    )
    assert found is not None, "the migration made the row"
    return found


async def repair_schedule(conn: Connection, *, now: datetime, latest: datetime) -> None:
    """A run that waits for longer than it may, as a clock that was ahead wrote it, is due."""
    await conn.execute(
        "UPDATE retention_state SET due_at = %(now)s, lease = NULL WHERE due_at > %(latest)s",
        {"now": now, "latest": latest},
    )


async def newest_published_at(conn: Connection, *, month: date) -> datetime | None:
    """The latest date that an article of a month carries."""
    return await fetch_value(
        conn,
        """
        SELECT max(published_at)
        FROM articles
        WHERE id >= first_id_of(%(month)s::date) AND id < first_id_of((%(month)s::date + interval '1 month')::date)
        """,
        {"month": month},
    )


async def make_months(conn: Connection, *, until: date) -> int:
    """Make the months that are missing after the newest one. Returns how many. Raises Busy."""
    async with _briefly(conn):
        cur = await conn.execute("SELECT make_article_months(%(until)s, %(until)s)", {"until": until})
        row = await cur.fetchone()
    return row[0] if row else 0


async def list_months(conn: Connection) -> list[date]:
    """The months there are, the oldest first."""
    return await fetch_column(conn, "SELECT article_months()")


async def count_month(conn: Connection, *, month: date) -> Month:
    """How many articles are in a month, and how many of them stay."""
    found = await fetch_one(
        conn,
        Month,
        """
        SELECT %(month)s::date AS month, count(*) AS articles,
            count(*) FILTER (
                WHERE EXISTS (SELECT FROM marks WHERE article_id = articles.id AND starred_at IS NOT NULL)
            ) AS starred
        FROM articles
        WHERE id >= first_id_of(%(month)s::date)
            AND id < first_id_of((%(month)s::date + interval '1 month')::date)
        """,
        {"month": month},
    )
    assert found is not None, "a count is a row"
    return found


async def hand_on_texts(conn: Connection, *, before: UUID, most: int) -> int:
    """Texts that are shared by an article that stays, and owned by one that goes, change their owner."""
    return await fetch_value(conn, "SELECT hand_on_texts(%(before)s, %(most)s)", {"before": before, "most": most}) or 0


async def let_month_go(conn: Connection, *, month: date) -> int | None:
    """Put the oldest month aside, all but what is starred. Returns how much older is kept. Raises Busy.

    None if it is not the oldest: another process was faster.
    """
    async with _briefly(conn):
        cur = await conn.execute("SELECT let_article_month_go(%(month)s)", {"month": month})
        row = await cur.fetchone()
    return row[0] if row else None


async def list_gone(conn: Connection) -> list[str]:
    """The tables that were put aside."""
    return await fetch_column(conn, "SELECT article_tables_gone()")


async def take_gone_texts(conn: Connection, *, table: str, most: int) -> list[GoneText]:
    """Take some texts out of a table that was put aside, each once."""
    return await fetch_all(
        conn,
        GoneText,
        "SELECT article_id, url_key, version, is_kept FROM take_gone_content(%(part)s, %(most)s)",
        {"part": table, "most": most},
    )


async def drop_gone(conn: Connection, *, table: str) -> None:
    """Drop a table that was put aside. Raises Busy."""
    async with _briefly(conn):
        await conn.execute("SELECT drop_gone_table(%(part)s)", {"part": table})


async def learn(conn: Connection) -> None:
    """Let PostgreSQL count what is in all months together; by itself it counts each month alone."""
    await conn.execute("SELECT analyze_articles()")


async def is_index_listening(conn: Connection) -> bool:
    """Whether a search index is to hear of what goes."""
    return bool(await fetch_value(conn, "SELECT EXISTS (SELECT FROM outbox_listening)"))


async def count_events(conn: Connection, *, before: datetime) -> int:
    """What people did before a moment."""
    return await fetch_value(conn, "SELECT count(*) FROM events WHERE created_at < %(before)s", {"before": before})


async def count_polls(conn: Connection, *, before: datetime) -> int:
    """Polls before a moment."""
    return await fetch_value(conn, "SELECT count(*) FROM poll_events WHERE at < %(before)s", {"before": before})


async def count_clicks(conn: Connection, *, before: datetime) -> int:
    """What was counted before a moment, of those who agreed to it."""
    return await fetch_value(
        conn, "SELECT count(*) FROM feed_item_clicks WHERE clicked_at < %(before)s", {"before": before}
    )


COUNTS = {RetainedKind.EVENTS: count_events, RetainedKind.POLLS: count_polls, RetainedKind.CLICKS: count_clicks}
