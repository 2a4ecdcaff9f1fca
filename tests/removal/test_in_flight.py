"""Work that was under way for a source when it was deleted: nothing of it is kept, whichever stage had it."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from headwater.articles.store.content import search
from headwater.db import Database
from headwater.extraction.types import ExtractionOptions
from headwater.extraction.worker import Extractor
from headwater.polling.worker import Poller
from headwater.sources.store import sources
from headwater.sources.types import Source
from headwater_lab.zoo import DOMAIN
from tests.clock import MovableClock
from tests.polling.histories import OPTIONS
from tests.removal.builders import count, tables_with
from tests.removals import remove_all
from tests.sitemaps.world import FRONTIER, World, a_world

pytestmark = pytest.mark.database


@pytest.fixture
async def world(database: Database, clock: MovableClock) -> AsyncIterator[World]:
    async with a_world(database, clock) as world:
        yield world


@pytest.fixture
def poller(world: World) -> Poller:
    return Poller(world.database, world.client, world.sandbox, world.clock, OPTIONS, FRONTIER)


@pytest.fixture
def extractor(world: World) -> Extractor:
    options = ExtractionOptions(concurrency=4, lease=timedelta(minutes=1))
    return Extractor(world.database, world.sandbox, world.clock, options, FRONTIER)


async def delete(world: World, source: Source) -> None:
    """Delete a source, and remove its rows, before the worker in progress returns."""
    async with world.database.as_system() as conn:
        await sources.remove(conn, source_id=source.id)
    await remove_all(world.database, world.clock)


async def assert_nothing_is_left(world: World, source: Source) -> None:
    await remove_all(world.database, world.clock)
    async with world.database.as_system() as conn:
        assert await tables_with(conn, source.id) == set()
        assert await search(conn, words="the") == []
    for table in ("articles", "content", "article_sources", "article_urls", "bodies", "frontier_url", "sitemaps"):
        assert await count(world.database, table) == 0, table


async def a_polled_feed(world: World, poller: Poller) -> Source:
    source = await world.follow(feed=world.zoo.url("daily", "/feed.xml"))
    (feed,) = await poller.claim(1)
    report = await poller.work(feed)
    assert report.new_articles > 0
    world.clock.move(seconds=5)
    return source


async def test_pages_that_are_claimed_when_their_source_is_deleted_become_no_articles(
    world: World, poller: Poller, extractor: Extractor
) -> None:
    source = await a_polled_feed(world, poller)
    await world.fetch()
    claimed = await extractor.claim(100)
    async with world.database.as_system() as conn:  # not removed yet: the pages are still there
        await sources.remove(conn, source_id=source.id)

    await asyncio.gather(*(extractor.work(page) for page in claimed))

    assert claimed
    assert await count(world.database, "content") == 0
    await assert_nothing_is_left(world, source)


async def test_pages_that_are_claimed_when_all_of_their_source_is_removed_become_no_articles(
    world: World, poller: Poller, extractor: Extractor
) -> None:
    source = await a_polled_feed(world, poller)
    await world.fetch()
    claimed = await extractor.claim(100)
    await delete(world, source)

    await asyncio.gather(*(extractor.work(page) for page in claimed))

    assert claimed
    await assert_nothing_is_left(world, source)


@pytest.mark.parametrize("is_removed", [False, True])
async def test_urls_that_are_being_fetched_when_their_source_is_deleted_leave_no_pages(
    is_removed: bool, world: World, poller: Poller, extractor: Extractor
) -> None:
    source = await a_polled_feed(world, poller)
    world.clock.move(seconds=1)
    hosts = await world.fetcher.claim(100)
    async with world.database.as_system() as conn:
        await sources.remove(conn, source_id=source.id)
    if is_removed:
        await remove_all(world.database, world.clock)

    harvests = await asyncio.gather(*(world.fetcher.work(host) for host in hosts))

    assert sum(len(harvest.pages) for harvest in harvests) > 0, "they were fetched"
    assert await count(world.database, "bodies") == 0
    assert await extractor.claim(100) == []
    await assert_nothing_is_left(world, source)


async def test_urls_that_wait_when_their_source_is_deleted_are_not_fetched(world: World, poller: Poller) -> None:
    source = await a_polled_feed(world, poller)
    async with world.database.as_system() as conn:  # not removed yet: the URLs are still there
        await sources.remove(conn, source_id=source.id)

    await world.fetch()

    assert await count(world.database, "bodies") == 0
    await assert_nothing_is_left(world, source)


@pytest.mark.parametrize("is_removed", [False, True])
async def test_a_poll_that_is_under_way_when_its_source_is_deleted_brings_nothing(
    is_removed: bool, world: World, poller: Poller
) -> None:
    source = await world.follow(feed=world.zoo.url("daily", "/feed.xml"))
    (feed,) = await poller.claim(1)
    async with world.database.as_system() as conn:
        await sources.remove(conn, source_id=source.id)
    if is_removed:
        await remove_all(world.database, world.clock)

    await poller.work(feed)

    await assert_nothing_is_left(world, source)


@pytest.mark.parametrize("is_removed", [False, True])
async def test_a_sitemap_that_is_being_read_when_its_source_is_deleted_queues_nothing(
    is_removed: bool, world: World
) -> None:
    source = await world.follow(sitemap=f"http://atlas.{DOMAIN}:{world.zoo.port}/sitemap_index.xml")
    await world.fetch()
    claimed = await world.sitemap_reader.claim(100)
    async with world.database.as_system() as conn:
        await sources.remove(conn, source_id=source.id)
    if is_removed:
        await remove_all(world.database, world.clock)

    for page in claimed:
        await world.sitemap_reader.work(page)

    assert claimed
    await assert_nothing_is_left(world, source)


@pytest.mark.parametrize("is_removed", [False, True])
async def test_a_page_whose_links_are_being_read_when_its_source_is_deleted_queues_nothing(
    is_removed: bool, world: World
) -> None:
    source = await world.follow(site=f"http://village.{DOMAIN}:{world.zoo.port}/", mode="spider")
    await world.fetch()
    claimed = await world.spider.claim(100)
    async with world.database.as_system() as conn:
        await sources.remove(conn, source_id=source.id)
    if is_removed:
        await remove_all(world.database, world.clock)

    for page in claimed:
        await world.spider.work(page)

    assert claimed
    await assert_nothing_is_left(world, source)


async def test_a_feed_of_the_zoo_that_is_deleted_in_the_middle_of_everything_is_gone(
    world: World, poller: Poller, extractor: Extractor
) -> None:
    """Seed audit 1: 40 s after the deletion there were 20 articles again, without an owner."""
    source = await a_polled_feed(world, poller)
    await world.fetch()
    in_hands = await extractor.claim(3)
    async with world.database.as_system() as conn:
        await conn.execute("UPDATE frontier_url SET status = 'p', next_fetch_at = '2026-01-01'")
        await conn.execute("UPDATE hosts SET free_at = '2026-01-01', page_due_at = '2026-01-01'")
        await conn.execute("UPDATE feed_state SET next_poll_at = '2026-01-01'")
        await conn.execute("UPDATE hosts SET feed_due_at = '2026-01-01'")
    hosts, feeds = await world.fetcher.claim(100), await poller.claim(1)
    async with world.database.as_system() as conn:
        await sources.remove(conn, source_id=source.id)

    await asyncio.gather(
        *(extractor.work(page) for page in in_hands),
        *(world.fetcher.work(host) for host in hosts),
        *(poller.work(feed) for feed in feeds),
        remove_all(world.database, world.clock, rows_at_once=5),
    )
    while pages := await extractor.claim(100):
        await asyncio.gather(*(extractor.work(page) for page in pages))

    assert in_hands
    assert hosts
    await assert_nothing_is_left(world, source)
