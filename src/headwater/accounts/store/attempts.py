"""Attempts, counted to limit the rate of log-ins, mails and other requests."""

from datetime import datetime, timedelta
from typing import Final

from headwater.db import Connection, fetch_row
from headwater.types import UserId

CLOCKS_APART = timedelta(minutes=5)  # between machines
_IS_CURRENT: Final = "attempts.ends_at > %(now)s AND attempts.ends_at <= %(latest)s"


async def count(conn: Connection, *, bucket: str, now: datetime, ends_at: datetime) -> tuple[int, datetime]:
    """Count an attempt. Returns the count of this window and when the window ends. A window that ends later than one
    started now was written by a clock that was ahead, and is ignored."""
    row = await fetch_row(
        conn,
        f"""
        INSERT INTO attempts (bucket, count, ends_at) VALUES (%(bucket)s, 1, %(ends_at)s)
        ON CONFLICT (bucket) DO UPDATE
        SET count = CASE WHEN {_IS_CURRENT} THEN attempts.count + 1 ELSE 1 END,
            ends_at = CASE WHEN {_IS_CURRENT} THEN attempts.ends_at ELSE excluded.ends_at END
        RETURNING count, ends_at
        """,
        {"bucket": bucket, "now": now, "ends_at": ends_at, "latest": ends_at + CLOCKS_APART},
    )
    assert row is not None, "an upsert returns its row"
    return row[0], row[1]


async def find(conn: Connection, *, bucket: str, now: datetime, ends_at: datetime) -> tuple[int, datetime]:
    """As `count`, without counting; 0 if the window has ended."""
    statement = f"SELECT count, ends_at FROM attempts WHERE bucket = %(bucket)s AND {_IS_CURRENT}"
    row = await fetch_row(conn, statement, {"bucket": bucket, "now": now, "latest": ends_at + CLOCKS_APART})
    return (row[0], row[1]) if row else (0, now)


async def clear(conn: Connection, *, bucket: str) -> None:
    await conn.execute("DELETE FROM attempts WHERE bucket = %(bucket)s", {"bucket": bucket})


async def uncount(conn: Connection, *, bucket: str) -> None:
    statement = "UPDATE attempts SET count = greatest(count - 1, 0) WHERE bucket = %(bucket)s"
    await conn.execute(statement, {"bucket": bucket})


async def clear_like(conn: Connection, *, prefix: str) -> None:
    await conn.execute("DELETE FROM attempts WHERE starts_with(bucket, %(prefix)s)", {"prefix": prefix})


async def clear_of(conn: Connection, *, user_id: UserId) -> None:
    await conn.execute("DELETE FROM attempts WHERE strpos(bucket, %(id)s) > 0", {"id": str(user_id)})
