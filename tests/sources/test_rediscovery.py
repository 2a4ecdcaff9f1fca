from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from headwater.db import Database
from headwater.hosts.robots_cache import PageRequests
from headwater.hosts.turns import Turns
from headwater.net import Client
from headwater.sandbox import Sandbox
from headwater.sources.follow import move
from headwater.sources.rediscovery import RediscoveryWorker
from headwater.sources.store.suggestions import list_all
from headwater.sources.types import Suggestion
from headwater_lab.zoo import DOMAIN, Zoo
from tests.builders import a_source
from tests.clock import MovableClock

pytestmark = pytest.mark.database


@pytest.fixture
async def worker(database: Database, clock: MovableClock) -> AsyncIterator[RediscoveryWorker]:
    async with (
        Client(user_agent="Test/1", allow_loopback=True, resolve={DOMAIN: "127.0.0.1"}) as client,
        Sandbox(processes=1, time_limit=timedelta(seconds=10), memory_limit=1_000_000_000) as sandbox,
    ):
        turns = Turns(database, clock, delay=timedelta(0), lease=timedelta(minutes=1))
        pages = PageRequests(client, turns, clock, "test", timedelta(seconds=30))
        yield RediscoveryWorker(database, pages, sandbox, clock, turns, max_bytes=1_000_000)


async def search(database: Database, worker: RediscoveryWorker) -> list[Suggestion]:
    async with database.transaction() as conn:
        await conn.execute("UPDATE feed_state SET needs_rediscovery = true")
    for lost in await worker.claim(10):
        await worker.work(lost)
    assert await worker.claim(10) == []
    async with database.transaction() as conn:
        return await list_all(conn)


async def test_a_lost_feed_is_looked_for_and_a_person_confirms_what_is_found(
    database: Database, worker: RediscoveryWorker, clock: MovableClock
) -> None:
    async with Zoo() as zoo:
        async with database.transaction() as conn:
            source = await a_source(conn, url=zoo.url("lobby", "/feed.xml"), name="Lobby")

        (suggested,) = await search(database, worker)

        async with database.transaction() as conn:
            moved = await move(conn, source, url=suggested.feed_url, now=clock())
            left = await list_all(conn)
    assert (suggested.source_name, suggested.feed_url) == ("Lobby", zoo.url("lobby", "/upstairs.xml"))
    assert suggested.entry_count > 0
    assert moved.feed_url == suggested.feed_url
    assert left == []


async def test_a_feed_that_cannot_be_found_suggests_nothing(database: Database, worker: RediscoveryWorker) -> None:
    async with database.transaction() as conn:
        await a_source(conn, url="http://nowhere.invalid/feed.xml")

    assert await search(database, worker) == []
