"""Fetchers are killed at random moments, and the database under them: nothing is lost, and no host is hammered."""

import asyncio
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest

from headwater.db import Database
from headwater.db.embedded import EmbeddedServer
from headwater.db.migrate import migrate_up
from headwater.fetching.types import FetchingOptions
from headwater.frontier.store import queue
from headwater.frontier.types import FrontierOptions, Origin, Submission
from headwater.runtime import utc_now
from headwater_lab.zoo.visits import Visit, impolite
from tests.flows.fetcher_process import start_fetcher
from tests.flows.test_up import embedded_only
from tests.flows.zoo_thread import open_zoo
from tests.headwater_process import PATIENCE_S, wait_for

pytestmark = pytest.mark.soak

SECOND = timedelta(seconds=1)
FETCHERS, KILLED = 10, 3
HOSTS, URLS_PER_HOST = 250, 24
DELAY = SECOND / 5
OPTIONS = FetchingOptions(
    concurrency=10,
    timeout=8 * SECOND,
    idle=SECOND / 10,
    crawl_delay_max=SECOND,
    hold=5 * SECOND,
    lease=15 * SECOND,
    urls_per_host=6,
    max_bytes=6_000_000,
    sitemap_max_bytes=20_000_000,
    robot="headwater",
)
# What fails on a busy machine is tried again within the test.
FRONTIER = FrontierOptions(min_delay=DELAY, retry_span=8 * SECOND)


@pytest.fixture
def server(open_folder: Path) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(open_folder / "data")
    server.start()
    asyncio.run(migrate_up(server.conninfo))
    yield server
    server.leave()


@embedded_only
def test_fetchers_that_are_killed_lose_nothing_and_ask_no_host_within_its_delay(server: EmbeddedServer) -> None:
    chance = random.Random(7)
    with open_zoo() as zoo:
        urls = [
            zoo.url(f"h{host}.crowd", f"/article/{number}.html")
            for host in range(HOSTS)
            for number in range(URLS_PER_HOST)
        ]
        asyncio.run(submit(server, urls))
        with fetchers(server) as running:
            wait_for(lambda: len(zoo.visits) > 500)
            killed = chance.sample(running, KILLED)
            for victim in killed:
                victim.kill()
                time.sleep(chance.uniform(0.2, 1))
            wait_for(lambda: len(zoo.visits) > 3000)
            restart(server)
            wait_for(lambda: count(server, "SELECT count(*) FROM frontier_url WHERE status <> 'f'") == 0)
            for fetcher in running:
                fetcher.terminate()
            for fetcher in running:
                fetcher.join(PATIENCE_S)
        codes = Counter(fetcher.exitcode for fetcher in running)
        visits = list(zoo.visits)
    asked = Counter((visit.host, visit.path) for visit in visits if visit.path != "/robots.txt")
    again = asked.total() - len(asked)

    assert len(asked) == len(urls) == count(server, "SELECT count(DISTINCT url) FROM bodies")
    assert impolite(visits, DELAY.total_seconds() - 0.005) == []
    assert again <= KILLED * OPTIONS.concurrency * OPTIONS.urls_per_host
    assert in_vain(visits) <= {fetcher.name for fetcher in killed}
    assert codes == {0: FETCHERS - KILLED, -signal.SIGKILL: KILLED}


async def submit(server: EmbeddedServer, urls: list[str]) -> None:
    async with (
        Database(server.conninfo, pool_size=2, wait=5 * SECOND) as database,
        database.transaction() as conn,
    ):
        submissions = [Submission(url, Origin.FEED) for url in urls]
        await queue.submit(conn, submissions=submissions, now=utc_now(), options=FRONTIER)


@contextmanager
def fetchers(server: EmbeddedServer) -> Iterator[list[BaseProcess]]:
    running = [start_fetcher(f"Fetcher/{n}", server.conninfo, OPTIONS, FRONTIER) for n in range(FETCHERS)]
    try:
        yield running
    finally:
        for fetcher in running:
            fetcher.kill()


def restart(server: EmbeddedServer) -> None:
    """The whole database goes at once, as when its machine does, and comes back."""
    pid = server.pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: server.pid() is None)
    server.start()


def count(server: EmbeddedServer, statement: LiteralString) -> int:
    with psycopg.connect(server.conninfo) as conn:
        (found,) = conn.execute(statement).fetchone() or (0,)
        return found


def in_vain(visits: Sequence[Visit]) -> set[str | None]:
    """Who asked for a page that had to be asked for again."""
    last = {(visit.host, visit.path): visit for visit in visits}
    return {visit.user_agent for visit in visits if visit is not last[visit.host, visit.path]}
