"""Importing: pending lines of OPML imports, also after a restart or an outage ended the task of the upload."""

import time
from collections.abc import Sequence
from datetime import timedelta

from headwater.accounts.quotas import Quotas
from headwater.db import Database
from headwater.sources.importing import LINES_PER_VIEW, Importer
from headwater.sources.store import imports
from headwater.sources.types import RunningImport
from headwater.types import Clock

PAUSE_S = 5.0  # after a turn without a line: other transactions hold all that are pending


class ImportWorker:
    """The importing stage. Needs no lease: each line is locked while it is worked on."""

    name = "importing"
    concurrency = 1

    def __init__(self, database: Database, clock: Clock, quotas: Quotas) -> None:
        self._database = database
        self._clock = clock
        self._importer = Importer(database, clock, quotas=quotas)
        self._claim_at = 0.0

    async def claim(self, limit: int) -> Sequence[RunningImport]:
        """Imports with pending lines, in random order so that a long one delays no other. Raises Unavailable."""
        if time.monotonic() < self._claim_at:
            return []
        async with self._database.as_system() as conn:
            return await imports.list_running(conn, limit=limit)

    async def work(self, running: RunningImport) -> int:
        """Work on the next lines; returns how many. Raises Unavailable."""
        count = await self._importer.work(running.user_id, running.id, LINES_PER_VIEW)
        if count == 0:
            self._claim_at = time.monotonic() + PAUSE_S
        return count

    async def lag(self) -> timedelta:
        """How long the oldest running import has been running. Raises Unavailable."""
        async with self._database.as_system() as conn:
            oldest = await imports.oldest_running_at(conn)
        return max(self._clock() - oldest, timedelta(0)) if oldest else timedelta(0)
