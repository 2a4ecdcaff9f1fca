"""Pages of one kind, as a stage takes them: claimed for a while, the longest-waiting first."""

from datetime import timedelta

from headwater.db import Database
from headwater.ids import new_id
from headwater.pages import store
from headwater.pages.types import Page
from headwater.types import Clock, PageKind


class PageQueue:
    """What waits to be read."""

    def __init__(self, database: Database, clock: Clock, kind: PageKind, lease: timedelta) -> None:
        self._database = database
        self._clock = clock
        self._kind = kind
        self._lease = lease

    async def claim(self, limit: int) -> list[Page]:
        """Up to `limit` pages, ours until the lease ends. Raises DatabaseUnavailable."""
        now = self._clock()
        async with self._database.transaction() as conn:
            return await store.claim(
                conn, kind=self._kind, lease=new_id(), now=now, leased_until=now + self._lease, limit=limit
            )

    async def lag(self) -> timedelta:
        """How long the longest-waiting page has been waiting. Raises DatabaseUnavailable."""
        now = self._clock()
        async with self._database.transaction() as conn:
            oldest = await store.oldest_ready_at(conn, kind=self._kind, now=now)
        return max(now - oldest, timedelta(0)) if oldest else timedelta(0)
