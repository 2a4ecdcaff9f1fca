"""A Headwater whose rows a test fills itself: pages only, in a thread of their own, beside the browser's."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from psycopg.conninfo import make_conninfo

from headwater.db import Database
from headwater.db.migrate import migrate_up
from headwater.server import address_of, create_app, listen, serve
from tests.databases import new_database
from tests.headwater_process import PATIENCE_S

T = TypeVar("T")


@dataclass(frozen=True)
class Served:
    """Where it is, and how to reach its rows."""

    url: str
    database: Database
    loop: asyncio.AbstractEventLoop

    def run(self, work: Callable[[Database], Awaitable[T]]) -> T:
        """Something with its database, from the test's own thread."""

        async def working() -> T:
            return await work(self.database)

        return asyncio.run_coroutine_threadsafe(working(), self.loop).result(PATIENCE_S)


@contextmanager
def serve_pages(server_conninfo: str) -> Iterator[Served]:
    """Until the end of the block."""
    started: list[Served] = []
    ready, done = threading.Event(), asyncio.Event()

    async def live() -> None:
        try:
            async with new_database(server_conninfo) as name:
                conninfo = make_conninfo(server_conninfo, dbname=name)
                await migrate_up(conninfo)
                async with Database(conninfo, pool_size=5, wait=timedelta(seconds=30)) as database:
                    with listen("127.0.0.1", 0) as listener:
                        app = create_app(database, lambda: datetime.now(UTC))
                        started.append(Served(address_of(listener), database, asyncio.get_running_loop()))
                        ready.set()
                        await serve(app, listener, done, timedelta(seconds=1))
        finally:
            ready.set()

    thread = threading.Thread(target=lambda: asyncio.run(live()))
    thread.start()
    ready.wait(PATIENCE_S)
    assert started, "the pages did not start; see above"
    try:
        yield started[0]
    finally:
        started[0].loop.call_soon_threadsafe(done.set)
        thread.join()
