"""What the removing stage does, for tests that have one connection, or a database of their own."""

from datetime import datetime, timedelta

from headwater.db import Connection, Database
from headwater.ids import new_id
from headwater.removal import store
from headwater.removal.parts import remove_counters, remove_some
from headwater.removal.worker import Remover
from tests.clock import START, MovableClock


async def finish_removals(conn: Connection, *, now: datetime = START) -> None:
    """Remove all rows of deleted sources and users, in this transaction."""
    while claimed := await store.claim(conn, lease=new_id(), now=now, leased_until=now + timedelta(minutes=1), limit=1):
        for removal in claimed:
            while await remove_some(conn, removal, limit=500, now=now):
                pass
            await remove_counters(conn, removal)
            await store.finish(conn, removal=removal)


async def remove_all(database: Database, clock: MovableClock | None = None, *, rows_at_once: int = 500) -> int:
    """Run the removing stage until nothing is left to remove. Returns how many rows went."""
    return await Remover(database, clock or MovableClock(), rows_at_once=rows_at_once).remove_all()
