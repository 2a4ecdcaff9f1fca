"""The removing stage: claim deleted sources and users, delete their rows a few hundred at a time, then their ids. Every
step is one short, consistent transaction."""

import time
from collections.abc import Callable, Sequence
from datetime import timedelta

from headwater.db import Database
from headwater.errors import Deadlock
from headwater.ids import new_id
from headwater.library.saved.types import UNDONE_WITHIN
from headwater.library.store import marks
from headwater.observability.log import get_logger
from headwater.polling.store import holds as feed_holds
from headwater.removal import store
from headwater.removal.parts import SOURCES_AT_ONCE, remove_counters, remove_some, remove_unwanted
from headwater.removal.types import Removal
from headwater.sources.store import custom
from headwater.sources.subscribe import leave_unwanted
from headwater.timekeeping import store as clocks
from headwater.types import Clock

log = get_logger()

ROWS_AT_ONCE = 500
LEASE = timedelta(minutes=2)
SWEPT_EVERY_S = 300.0


class Remover:
    name = "removing"
    concurrency = 2

    def __init__(self, database: Database, clock: Clock, *, rows_at_once: int = ROWS_AT_ONCE) -> None:
        self._database, self._clock, self._rows_at_once = database, clock, rows_at_once
        self._sweep_at = 0.0
        self._is_draining = False

    async def claim(self, limit: int) -> Sequence[Removal]:
        """Claim up to `limit` deleted sources and users. Raises DatabaseUnavailable."""
        if time.monotonic() >= self._sweep_at:
            await self.sweep()
            self._sweep_at = time.monotonic() + SWEPT_EVERY_S
        now = self._clock()
        async with self._database.as_system() as conn:
            return await store.claim(conn, lease=new_id(), now=now, leased_until=now + LEASE, limit=limit)

    async def lag(self) -> timedelta:
        """How long the longest-waiting deletion has been waiting. Raises DatabaseUnavailable."""
        now = self._clock()
        async with self._database.as_system() as conn:
            oldest = await store.oldest_waiting_at(conn, now=now)
        return max(now - oldest, timedelta(0)) if oldest else timedelta(0)

    def drain(self) -> None:
        self._is_draining = True

    async def work(self, removal: Removal, progress: Callable[[int], None] = lambda _: None) -> int:
        """Remove all rows; returns how many. `progress` gets the number so far. Raises DatabaseUnavailable."""
        total = 0
        while not self._is_draining:
            gone = await self._step(removal)
            if gone is None:
                return total
            total += gone
            progress(total)
            if gone == 0 and await self._finish(removal):
                log.info("rows of deleted removed", kind=removal.kind.value, id=str(removal.id), rows=total)
                return total
        async with self._database.as_system() as conn:
            await store.release(conn, removal=removal)
        return total

    async def remove_all(self, progress: Callable[[int], None] = lambda _: None) -> int:
        """Remove all that is due now. Returns how many rows. Raises DatabaseUnavailable."""
        total = 0
        while claimed := await self.claim(1):
            for removal in claimed:
                before = total
                total += await self.work(removal, lambda rows, before=before: progress(before + rows))
        return total

    async def sweep(self) -> None:
        """Delete custom sources that lost their last subscriber as a process ended, holds that have expired, and pages
        that were removed from Read later."""
        async with self._database.as_system() as conn:
            found = await custom.list_unfollowed(conn, limit=SOURCES_AT_ONCE)
            await feed_holds.delete_ended_holds(conn, now=self._clock())
        if found:
            async with self._database.as_system() as conn:
                await leave_unwanted(conn, found, self._clock())
        now = self._clock()
        async with self._database.as_system() as conn:
            before = await clocks.deletes_until(conn, now=now, jump=timedelta(0)) - UNDONE_WITHIN
            if unsaved := await marks.forget_unsaved(conn, before=before, limit=self._rows_at_once):
                await remove_unwanted(conn, unsaved, now)

    async def _step(self, removal: Removal) -> int | None:
        """One transaction. Returns how many rows were deleted; None if the lease was lost."""
        while True:
            now = self._clock()
            try:
                async with self._database.as_system() as conn:
                    if not await store.renew(conn, removal=removal, leased_until=now + LEASE):
                        return None
                    return await remove_some(conn, removal, limit=self._rows_at_once, now=now)
            except Deadlock:  # the other transaction has finished
                continue

    async def _finish(self, removal: Removal) -> bool:
        """Delete the id if no transaction added a row meanwhile; True if nothing is left."""
        now = self._clock()
        try:
            async with self._database.as_system() as conn:
                if not await store.renew(conn, removal=removal, leased_until=now + LEASE):
                    return True
                await store.lock(conn, removal=removal)
                if await remove_some(conn, removal, limit=self._rows_at_once, now=now):
                    return False
                await remove_counters(conn, removal)
                await store.finish(conn, removal=removal)
        except Deadlock:
            return False
        return True
