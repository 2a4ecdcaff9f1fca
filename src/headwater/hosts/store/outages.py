"""Every statement on `own_outages`: which processes have lost their own network."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headwater.db import Connection, fetch_all

# A process that has not reported for longer has stopped: probes are sent every half minute while an outage lasts.
FRESH = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Outage:
    """A process of this stage has lost its own network."""

    stage: str
    since: datetime


async def report_outage(conn: Connection, *, worker: UUID, stage: str, now: datetime, is_outage: bool) -> None:
    """Whether this process has lost its network; at the end, reports of stopped processes are deleted too."""
    if is_outage:
        statement = """
            INSERT INTO own_outages (worker, stage, since, seen_at)
            VALUES (%(worker)s, %(stage)s, %(now)s, %(now)s)
            ON CONFLICT (worker) DO UPDATE SET seen_at = excluded.seen_at
        """
        await conn.execute(statement, {"worker": worker, "stage": stage, "now": now})
    else:
        await conn.execute(
            "DELETE FROM own_outages WHERE worker = %(worker)s OR seen_at < %(before)s",
            {"worker": worker, "before": now - FRESH},
        )


async def list_outages(conn: Connection, *, now: datetime) -> list[Outage]:
    """Current outages, the longest first."""
    statement = "SELECT stage, since FROM own_outages WHERE seen_at >= %(after)s ORDER BY since"
    return await fetch_all(conn, Outage, statement, {"after": now - FRESH})
