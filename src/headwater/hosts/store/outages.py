"""Every statement on `own_outages`: which processes take it to be their own network that is gone."""

from datetime import datetime, timedelta
from uuid import UUID

from headwater.db import Connection
from headwater.hosts.outage import Outage

# Who has not said so for longer has stopped, or died: probes go out every half minute while an outage lasts.
FRESH = timedelta(minutes=5)


async def tell_outage(conn: Connection, *, worker: UUID, stage: str, now: datetime, is_outage: bool) -> None:
    """Whether this process' own network is down, for all others to see."""
    if is_outage:
        await _note(conn, worker=worker, stage=stage, now=now)
    else:
        await _end(conn, worker=worker, now=now)


async def _note(conn: Connection, *, worker: UUID, stage: str, now: datetime) -> None:
    await conn.execute(
        """
        INSERT INTO own_outages (worker, stage, since, seen_at)
        VALUES (%(worker)s, %(stage)s, %(now)s, %(now)s)
        ON CONFLICT (worker) DO UPDATE
        SET seen_at = excluded.seen_at
        """,
        {"worker": worker, "stage": stage, "now": now},
    )


async def _end(conn: Connection, *, worker: UUID, now: datetime) -> None:
    """It is back; who has not been heard of for long is forgotten with it."""
    await conn.execute(
        "DELETE FROM own_outages WHERE worker = %(worker)s OR seen_at < %(before)s",
        {"worker": worker, "before": now - FRESH},
    )


async def list_outages(conn: Connection, *, now: datetime) -> list[Outage]:
    """Outages that go on, the longest first."""
    cur = await conn.execute(
        "SELECT stage, since FROM own_outages WHERE seen_at >= %(after)s ORDER BY since", {"after": now - FRESH}
    )
    return [Outage(*row) for row in await cur.fetchall()]
