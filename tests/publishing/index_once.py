"""One turn of the indexing stage in a process of its own, to be killed: CONNINFO URL."""

import asyncio
import sys
from datetime import timedelta

from headwater.db import Database
from headwater.publishing.elasticsearch import SearchIndex
from headwater.publishing.worker import Indexer
from tests.clock import MovableClock
from tests.publishing.conftest import OPTIONS

SECONDS = timedelta(seconds=30)


async def main(conninfo: str, url: str) -> None:
    async with (
        Database(conninfo, pool_size=2, wait=SECONDS) as database,
        SearchIndex(url, alias="raw_content", timeout=SECONDS) as index,
    ):
        indexer = Indexer(database, index, MovableClock(), OPTIONS)
        for batch in await indexer.claim(2):
            await indexer.work(batch)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
