"""Imports of OPML files: a row and then a subscription for each line, one short transaction each. The upload's task,
the progress page and the importing stage may all work on one import, so that it survives outages and restarts."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from headwater.accounts.decide import Limit
from headwater.accounts.quotas import DAY, Quotas, spend
from headwater.db import Connection, Database, set_user
from headwater.db.pool import unavailable
from headwater.errors import AlreadySubscribed, HeadwaterError, Invalid, SourceExists, Unavailable
from headwater.ids import new_id
from headwater.observability.log import get_logger
from headwater.sandbox import Overrun, Sandbox
from headwater.sources.opml import OpmlLine, read_opml
from headwater.sources.store import imports
from headwater.sources.subscribe import add_feed
from headwater.sources.types import IMPORTS_KEPT, ImportLine, LineOutcome, RunningImport
from headwater.types import Clock, UserId

log = get_logger()

FILE_NAME_MAX = 200
LINES_PER_VIEW = 25
USUAL_QUOTAS = Quotas()
PAUSE_S = 5.0  # after a turn without a line: other transactions hold all that are pending
BROKEN = "An internal error occurred on this line. See the log."


@dataclass(frozen=True, slots=True)
class Importer:
    database: Database
    clock: Clock
    sandbox: Sandbox | None = None
    quotas: Quotas = USUAL_QUOTAS

    async def begin(self, user_id: UserId, file_name: str, data: bytes) -> UUID:
        """Read a file and keep its lines, all or none. Raises Invalid, Conflict, QuotaReached, Unavailable."""
        limit = Limit(self.quotas.imports_per_day, DAY)
        await spend(self.database, user_id=user_id, what="imports", limit=limit, now=self.clock())
        lines = await self._read(data)
        import_id = new_id()
        async with self.database.as_user(user_id) as conn:
            await imports.remove_older(conn, keep=IMPORTS_KEPT - 1)
            name, now = " ".join(file_name.replace("\0", "").split())[:FILE_NAME_MAX], self.clock()
            await imports.add(conn, import_id=import_id, user_id=user_id, file_name=name, lines=lines, now=now)
        return import_id

    async def _read(self, data: bytes) -> list[OpmlLine]:
        if self.sandbox is None:
            return await asyncio.to_thread(read_opml, data)
        try:
            return await self.sandbox.run(read_opml, data)
        except Overrun as error:
            raise Invalid("This file takes too long to read. Split it, or export it again.") from error

    async def finish(self, user_id: UserId, import_id: UUID) -> None:
        """Work on all pending lines; after an outage the importing stage continues."""
        try:
            while await self.work(user_id, import_id, LINES_PER_VIEW) == LINES_PER_VIEW:
                pass
        except Unavailable as error:
            log.warning("import interrupted", import_id=str(import_id), error=str(error))

    async def work(self, user_id: UserId, import_id: UUID, most: int = LINES_PER_VIEW) -> int:
        """Work on the next pending lines; returns how many. Raises Unavailable."""
        for done in range(most):
            if not await self._work_on_one(user_id, import_id):
                async with self.database.as_user(user_id) as conn:
                    await imports.finish(conn, import_id=import_id, now=self.clock())
                return done
        return most

    async def _work_on_one(self, user_id: UserId, import_id: UUID) -> bool:
        async with self.database.as_system() as conn:
            if not await imports.lock_user(conn, user_id=user_id):
                return False
            line = await imports.claim_line(conn, user_id=user_id, import_id=import_id)
            if line is None:
                return False
            outcome, reason = await self._follow(conn, user_id, line)
            await set_user(conn, user_id)
            await imports.answer_line(conn, line_id=line.id, outcome=outcome, reason=reason)
        return True

    async def _follow(self, conn: Connection, user_id: UserId, line: ImportLine) -> tuple[LineOutcome, str]:
        # Twice: another user may add the same URL, or remove the last subscription to it, at the same moment.
        for is_last in (False, True):
            # In a savepoint: a refused line leaves no rows, and its outcome can still be written. An outage is raised,
            # since only a bug is an outcome of the line.
            try:
                with unavailable():
                    async with conn.transaction():
                        await add_feed(
                            conn, user_id=user_id, name=line.name, url=line.url, category=line.category,
                            now=self.clock(), most=self.quotas.subscriptions,
                        )  # fmt: skip
            except AlreadySubscribed:
                return LineOutcome.FOLLOWED, ""
            except Unavailable:
                raise
            except HeadwaterError as error:
                if is_last or not isinstance(error, SourceExists):
                    return LineOutcome.INVALID, str(error)
            except Exception:
                # A bug of ours: without an outcome the line would be retried for ever and block those behind it.
                if is_last:
                    log.exception("import line broke", line_id=str(line.id), url=line.url)
            else:
                return LineOutcome.ADDED, ""
        return LineOutcome.INVALID, BROKEN


class ImportWorker:
    """The importing stage. Needs no lease: each line is locked while it is worked on."""

    name = "importing"
    concurrency = 1

    def __init__(self, database: Database, clock: Clock, quotas: Quotas) -> None:
        self._importer = Importer(database, clock, quotas=quotas)
        self._claim_at = 0.0

    async def claim(self, limit: int) -> Sequence[RunningImport]:
        """Imports with pending lines, in random order so that a long one delays no other. Raises Unavailable."""
        if time.monotonic() < self._claim_at:
            return []
        async with self._importer.database.as_system() as conn:
            return await imports.list_running(conn, limit=limit)

    async def work(self, running: RunningImport) -> int:
        count = await self._importer.work(running.user_id, running.id, LINES_PER_VIEW)
        if count == 0:
            self._claim_at = time.monotonic() + PAUSE_S
        return count

    async def lag(self) -> timedelta:
        """How long the oldest running import has been running. Raises Unavailable."""
        async with self._importer.database.as_system() as conn:
            oldest = await imports.oldest_running_at(conn)
        return max(self._importer.clock() - oldest, timedelta(0)) if oldest else timedelta(0)
