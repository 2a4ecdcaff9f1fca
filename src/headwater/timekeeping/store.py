"""Every statement on `clock_state`."""

from datetime import datetime, timedelta

from headwater.db import Connection, fetch_one
from headwater.timekeeping.decide import DEFAULT_CLOCK_OPTIONS, ClockState


async def read(conn: Connection) -> ClockState:
    statement = "SELECT trusted_at, latest_at, clock_timestamp() AS database_now FROM clock_state"
    found = await fetch_one(conn, ClockState, statement)
    assert found is not None, "a migration inserts the row"
    return found


async def deletes_until(conn: Connection, *, now: datetime, jump: timedelta = DEFAULT_CLOCK_OPTIONS.jump) -> datetime:
    """Rows that ended before this may be deleted: now, or earlier when the clock jumped ahead."""
    trusted_at = (await read(conn)).trusted_at
    return min(now, trusted_at + jump) if trusted_at else now


async def note(conn: Connection, *, now: datetime, is_trusted: bool) -> None:
    statement = """
        UPDATE clock_state SET latest_at = greatest(latest_at, %(now)s),
            trusted_at = CASE WHEN %(is_trusted)s THEN %(now)s ELSE trusted_at END
    """
    await conn.execute(statement, {"now": now, "is_trusted": is_trusted})


async def confirm(conn: Connection, *, now: datetime) -> None:
    await conn.execute("UPDATE clock_state SET trusted_at = %(now)s", {"now": now})


async def forget_latest(conn: Connection, *, now: datetime) -> None:
    """Schedules written by a clock that was ahead are repaired."""
    await conn.execute("UPDATE clock_state SET latest_at = %(now)s", {"now": now})
