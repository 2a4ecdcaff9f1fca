"""Polls that meet what nobody foresaw: rows no index can hold, and people who change a feed while it is asked for."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from headwater.db import Database
from headwater.net import Client
from headwater.polling.worker import Poller
from headwater.sandbox import Sandbox
from headwater.sources import follow
from headwater.sources.types import Source
from tests.builders import a_source
from tests.clock import MovableClock
from tests.polling.histories import OPTIONS
from tests.site import Site, a_site, rss

pytestmark = pytest.mark.database


@pytest.fixture(scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox(processes=1, time_limit=timedelta(seconds=10), memory_limit=1_000_000_000) as sandbox:
        yield sandbox


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with a_site() as site:
        yield site


@pytest.fixture
async def poller(database: Database, sandbox: Sandbox, clock: MovableClock) -> AsyncIterator[Poller]:
    async with Client(user_agent="Test/1", allow_loopback=True, resolve={"example": "127.0.0.1"}) as client:
        yield Poller(database, client, sandbox, clock, OPTIONS)


async def a_feed(database: Database, url: str) -> Source:
    async with database.transaction() as conn:
        return await a_source(conn, url=url)


async def asked(database: Database, sql: str) -> list[tuple[object, ...]]:
    async with database.transaction() as conn:
        cur = await conn.execute(sql.encode())
        return list(await cur.fetchall())


async def test_an_id_that_no_index_could_hold_is_kept_as_its_digest_and_harms_nobody(
    database: Database, poller: Poller, site: Site
) -> None:
    wide = "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(1200))
    item = f"<item><guid isPermaLink='false'>{wide}</guid><title>x</title><link>http://wide.example/1</link></item>"
    site.answers["wide.example/feed"] = (
        200,
        "text/xml; charset=utf-8",
        f"<rss><channel>{item}</channel></rss>".encode(),
    )
    site.answers["good.example/feed"] = rss("Good", "a")
    for place in ("wide.example/feed", "good.example/feed"):
        await a_feed(database, site.url(place))

    reports = await asyncio.gather(*(poller.work(feed) for feed in await poller.claim(2)))

    assert [(report.outcome_name, report.new_articles) for report in reports] == [("polled", 1)] * 2
    assert await asked(database, "SELECT count(*) FROM article_sources WHERE entry_id LIKE 'sha256:%%'") == [(1,)]


async def test_hosts_whose_feeds_were_all_deleted_are_no_lag(
    database: Database, poller: Poller, clock: MovableClock
) -> None:
    source = await a_feed(database, "https://left.example/feed")
    async with database.transaction() as conn:
        await follow.leave(conn, source, clock())

    assert await poller.lag() == timedelta(0)
