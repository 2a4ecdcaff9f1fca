"""One piece of work in a process of its own, to be killed: OPERATION CONNINFO [ARGUMENT]…"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from headwater.db import Database
from headwater.ids import new_id
from headwater.library.summaries.types import SummaryOptions
from headwater.library.summaries.writer import SummaryWriter
from headwater.retention.types import RetentionTurn
from headwater.retention.worker import Retainer
from headwater.sources.opml_import import Importer
from headwater.types import UserId
from tests.clock import MovableClock
from tests.retention.world import OPTIONS

WAIT = timedelta(seconds=30)


async def retain(database: Database, now: str) -> None:
    """One run of retention, which tries for as long as it takes."""
    clock = MovableClock(datetime.fromisoformat(now))
    retainer = Retainer(database, clock, replace(OPTIONS, tries=100_000))
    await retainer.run(RetentionTurn(new_id(), clock() + timedelta(minutes=10)))


async def summarise(database: Database, user_id: str, url: str = "") -> None:
    """A summary, by the model at this address or on this machine."""
    options = SummaryOptions(api_key="key", base_url=url) if url else SummaryOptions()
    await SummaryWriter(database, MovableClock(), options).make(UserId(UUID(user_id)))


async def begin_import(database: Database, user_id: str, file: str) -> None:
    """An OPML file that was uploaded."""
    await Importer(database, MovableClock()).begin(UserId(UUID(user_id)), "feeds.opml", file.encode())


async def work_on_import(database: Database, user_id: str, import_id: str) -> None:
    """The lines of an OPML file, one after another."""
    await Importer(database, MovableClock()).work(UserId(UUID(user_id)), UUID(import_id))


OPERATIONS: dict[str, Callable[..., Awaitable[None]]] = {
    one.__name__: one for one in (retain, summarise, begin_import, work_on_import)
}


async def main(operation: str, conninfo: str, *arguments: str) -> None:
    async with Database(conninfo, pool_size=2, wait=WAIT) as database:
        await OPERATIONS[operation](database, *arguments)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
