"""The owner of the tables, for what a test sets up or looks at and the application's roles may not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg

from headwater.db import Connection, Database


@asynccontextmanager
async def as_owner(database: Database) -> AsyncIterator[Connection]:
    """One transaction on a connection of its own."""
    async with await psycopg.AsyncConnection.connect(database.conninfo) as conn:
        yield conn


async def until_waiting(database: Database, count: int = 1) -> None:
    """Until so many sessions wait for a lock. Only the owner sees what the sessions of others do."""
    async with asyncio.timeout(300), as_owner(database) as conn:
        await conn.set_autocommit(True)  # within one transaction, the view does not change
        while True:
            cur = await conn.execute(
                "SELECT count(*) >= %(count)s FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event_type = 'Lock'",
                {"count": count},
            )
            if await cur.fetchone() == (True,):
                return
            await asyncio.sleep(0.01)
