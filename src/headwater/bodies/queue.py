"""Bodies of one kind, claimed by the stage that reads them."""

from dataclasses import dataclass
from datetime import timedelta

from headwater.bodies import store
from headwater.bodies.types import ClaimedBody
from headwater.db import Database
from headwater.ids import new_id
from headwater.types import Clock, PageKind


@dataclass(frozen=True, slots=True)
class BodyQueue:
    database: Database
    clock: Clock
    kind: PageKind
    lease: timedelta

    async def claim(self, limit: int) -> list[ClaimedBody]:
        """Up to `limit` bodies, held until the lease ends. Raises DatabaseUnavailable."""
        now, until = self.clock(), self.clock() + self.lease
        async with self.database.transaction() as conn:
            return await store.claim(conn, kind=self.kind, lease=new_id(), now=now, leased_until=until, limit=limit)

    async def lag(self) -> timedelta:
        now = self.clock()
        async with self.database.transaction() as conn:
            oldest = await store.oldest_ready_at(conn, kind=self.kind, now=now)
        return max(now - oldest, timedelta(0)) if oldest else timedelta(0)
