"""The newest revision, for many waiting streams: one query a second, however many there are."""

import asyncio
from datetime import timedelta

from headwater.db import Database
from headwater.downstream import store


class RevisionWatch:
    """Looks at most once per period; in between, every caller gets the last answer."""

    def __init__(self, database: Database, period: timedelta) -> None:
        self._database = database
        self._period = period.total_seconds()
        self._revision = 0
        self._looked_at: float | None = None

    async def latest(self) -> int:
        """Raises Unavailable."""
        now = asyncio.get_running_loop().time()
        if self._looked_at is None or not 0 <= now - self._looked_at < self._period:
            self._looked_at = now  # first, so that others do not look, too
            self._revision = await self.look()
        return self._revision

    async def look(self) -> int:
        async with self._database.transaction() as conn:
            return await store.last_revision(conn)
