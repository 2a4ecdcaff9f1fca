"""An import, from a file to feeds that are followed.

In: the bytes of an OPML file. Out: a row for each of its lines, then a subscription for each that can be followed, and
beside each line what came of it. A line is one short transaction: whoever dies in between leaves the rest waiting, and
any number may work on one import at a time. So the task that the upload leaves behind works, and so does each look at
the progress: the import goes on when the tab is closed, and goes on after a restart when it is looked at again.
"""

import asyncio
from uuid import UUID

from headwater.accounts.decide import Limit
from headwater.accounts.quotas import DAY, Quotas, spend
from headwater.db import Connection, Database, speak_for
from headwater.db.pool import unavailable
from headwater.errors import AlreadySubscribed, HeadwaterError, Invalid, SourceExists, Unavailable
from headwater.ids import new_id
from headwater.observability.log import get_logger
from headwater.sandbox import Overrun, Sandbox
from headwater.sources.importing import store
from headwater.sources.importing.types import IMPORTS_KEPT, ImportLine, LineOutcome
from headwater.sources.opml import OpmlLine, read_opml
from headwater.sources.subscribe import add_feed
from headwater.types import Clock, UserId

log = get_logger()

FILE_NAME_MAX = 200
LINES_PER_LOOK = 25
USUAL_QUOTAS = Quotas()
BROKEN = "Headwater made a mistake with this line. The log tells what happened."


class Importer:
    """Imports of readers."""

    def __init__(
        self, database: Database, clock: Clock, sandbox: Sandbox | None = None, quotas: Quotas = USUAL_QUOTAS
    ) -> None:
        self._database = database
        self._clock = clock
        self._sandbox = sandbox
        self._quotas = quotas

    async def begin(self, user_id: UserId, file_name: str, data: bytes) -> UUID:
        """Read a file and keep its lines, all or none. Raises Invalid, Conflict, QuotaReached, Unavailable."""
        limit = Limit(self._quotas.imports_per_day, DAY)
        await spend(self._database, user_id=user_id, what="imports", limit=limit, now=self._clock())
        lines = await self._read(data)
        import_id = new_id()
        async with self._database.as_user(user_id) as conn:
            await store.forget_older(conn, keep=IMPORTS_KEPT - 1)
            name = " ".join(file_name.replace("\0", "").split())[:FILE_NAME_MAX]
            await store.add_import(conn, import_id=import_id, user_id=user_id, file_name=name, now=self._clock())
            ids = [new_id() for _ in lines]
            await store.add_lines(conn, import_id=import_id, user_id=user_id, ids=ids, lines=lines)
        return import_id

    async def _read(self, data: bytes) -> list[OpmlLine]:
        """Parse a file where it can hold up nobody. Raises Invalid."""
        if self._sandbox is None:
            return await asyncio.to_thread(read_opml, data)
        try:
            return await self._sandbox.run(read_opml, data)
        except Overrun as error:
            raise Invalid("This file takes too long to read. Split it, or export it again.") from error

    async def finish(self, user_id: UserId, import_id: UUID) -> None:
        """Work on all lines that wait. What cannot be reached now is left to the next look."""
        try:
            while await self.work(user_id, import_id, LINES_PER_LOOK) == LINES_PER_LOOK:
                pass
        except Unavailable as error:
            log.warning("import interrupted", import_id=str(import_id), error=str(error))

    async def work(self, user_id: UserId, import_id: UUID, most: int = LINES_PER_LOOK) -> int:
        """Work on the next lines that wait; returns how many it were. Raises Unavailable."""
        for done in range(most):
            if not await self._work_on_one(user_id, import_id):
                async with self._database.as_user(user_id) as conn:
                    await store.finish(conn, import_id=import_id, now=self._clock())
                return done
        return most

    async def _work_on_one(self, user_id: UserId, import_id: UUID) -> bool:
        async with self._database.as_system() as conn:
            if not await store.hold_person(conn, user_id=user_id):
                return False
            line = await store.claim_line(conn, user_id=user_id, import_id=import_id)
            if line is None:
                return False
            outcome, reason = await self._follow(conn, user_id, line)
            await speak_for(conn, user_id)
            await store.answer_line(conn, line_id=line.id, outcome=outcome, reason=reason)
        return True

    async def _follow(self, conn: Connection, user_id: UserId, line: ImportLine) -> tuple[LineOutcome, str]:
        # Twice: somebody else may bring the same address, or be the last to leave it, in this very moment.
        for is_last in (False, True):
            try:
                await self._add(conn, user_id, line)
            except AlreadySubscribed:
                return LineOutcome.FOLLOWED, ""
            except Unavailable:
                raise
            except HeadwaterError as error:
                if is_last or not isinstance(error, SourceExists):
                    return LineOutcome.INVALID, str(error)
            except Exception:
                # A bug of ours; a line that had no outcome would be tried for ever, and hold up those behind it.
                if is_last:
                    log.exception("import line broke", line_id=str(line.id), url=line.url)
            else:
                return LineOutcome.ADDED, ""
        return LineOutcome.INVALID, BROKEN

    async def _add(self, conn: Connection, user_id: UserId, line: ImportLine) -> None:
        # Within a savepoint: what is refused leaves nothing, and the line can still be answered. And an outage is told
        # from a bug right here: only the latter is the line's.
        with unavailable():
            async with conn.transaction():
                await add_feed(
                    conn,
                    user_id=user_id,
                    name=line.name,
                    url=line.url,
                    category=line.category,
                    now=self._clock(),
                    most=self._quotas.subscriptions,
                )
