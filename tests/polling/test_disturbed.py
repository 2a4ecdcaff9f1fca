"""Polls under rare conditions: ids too long for an index, and users who change a feed during its poll."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from headwater.db import Database
from headwater.net import Client
from headwater.polling.types import PollReport
from headwater.polling.worker import Poller
from headwater.runtime import utc_now
from headwater.sandbox import Sandbox
from headwater.sources import follow
from headwater.sources.store.sources import remove as remove_source
from headwater.sources.types import Source
from tests.builders import a_source
from tests.clock import START, MovableClock
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


async def poll_one(poller: Poller) -> PollReport:
    (feed,) = await poller.claim(1)
    return await poller.work(feed)


async def asked(database: Database, sql: str) -> list[tuple[object, ...]]:
    async with database.transaction() as conn:
        cur = await conn.execute(sql.encode())
        return list(await cur.fetchall())


async def test_an_id_too_long_for_an_index_is_stored_as_its_digest(
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


async def test_an_entry_without_a_link_has_no_link_to_its_feed(database: Database, poller: Poller, site: Site) -> None:
    item = "<item><guid isPermaLink='false'>1</guid><title>Said in passing</title></item>"
    site.answers["words.example/feed"] = (200, "text/xml", f"<rss><channel>{item}</channel></rss>".encode())
    await a_feed(database, site.url("words.example/feed"))

    report = await poll_one(poller)

    assert report.new_articles == 1
    assert await asked(database, "SELECT count(*) FROM frontier_url") == [(0,)]


async def test_hosts_whose_feeds_were_all_deleted_are_no_lag(
    database: Database, poller: Poller, clock: MovableClock
) -> None:
    source = await a_feed(database, "https://left.example/feed")
    async with database.transaction() as conn:
        await remove_source(conn, source_id=source.id)

    assert await poller.lag() == timedelta(0)


async def test_a_url_that_is_changed_during_a_poll_is_not_judged_by_what_the_old_one_answered(
    database: Database, poller: Poller, site: Site, clock: MovableClock
) -> None:
    site.answers["old.example/feed"] = (410, "text/plain", b"gone")
    site.answers["new.example/feed"] = rss("New", "a")
    source = await a_feed(database, site.url("old.example/feed"))
    (under_way,) = await poller.claim(1)
    async with database.transaction() as conn:
        await follow.move(conn, source, url=site.url("new.example/feed"), now=clock())

    with capture_logs() as logs:
        await poller.work(under_way)
    report = await poll_one(poller)

    assert "feed disabled" not in {line["event"] for line in logs}
    assert (report.feed_url, report.outcome_name) == (site.url("new.example/feed"), "polled")


async def test_a_feed_that_is_enabled_during_a_poll_is_polled_again_at_once(
    database: Database, poller: Poller, site: Site, clock: MovableClock
) -> None:
    site.answers["old.example/feed"] = (410, "text/plain", b"gone")
    source = await a_feed(database, site.url("old.example/feed"))
    await poll_one(poller)
    clock.move(hours=73)
    (probe,) = await poller.claim(1)
    async with database.transaction() as conn:
        await follow.enable(conn, source, clock())

    await poller.work(probe)
    clock.move(seconds=3)
    site.answers["old.example/feed"] = rss("Old", "a")

    assert (await poll_one(poller)).outcome_name == "polled"


async def test_a_feed_disabled_during_its_poll_stays_disabled_and_other_feeds_are_not_changed(
    database: Database, poller: Poller, site: Site, clock: MovableClock
) -> None:
    site.answers["one.example/a"] = site.answers["one.example/b"] = rss("One", "a")
    neighbour = await a_feed(database, site.url("one.example/a"))
    (under_way,) = await poller.claim(1)
    other = await a_feed(database, site.url("one.example/b"))
    async with database.transaction() as conn:
        await follow.disable(conn, other, "It repeats what the other says.", clock())

    await poller.work(under_way)
    clock.move(seconds=3)

    assert under_way.source_id == neighbour.id
    assert await poller.claim(2) == []
    states = await asked(database, "SELECT last_polled_at IS NULL, disable_reason FROM feed_state ORDER BY feed_url")
    assert states == [(False, None), (True, "It repeats what the other says.")]


async def test_a_source_that_is_left_during_its_poll_leaves_no_articles_behind(
    database: Database, poller: Poller, site: Site, clock: MovableClock
) -> None:
    site.answers["left.example/feed"] = rss("Left", "a", "b")
    source = await a_feed(database, site.url("left.example/feed"))
    (under_way,) = await poller.claim(1)
    async with database.transaction() as conn:
        await remove_source(conn, source_id=source.id)

    await poller.work(under_way)

    assert await asked(database, "SELECT count(*) FROM articles") == [(0,)]
    assert await asked(database, "SELECT count(*) FROM frontier_url") == [(0,)]


async def test_a_poll_that_waits_for_a_process_longer_than_its_lease_keeps_its_host(
    database: Database, sandbox: Sandbox, site: Site
) -> None:
    site.answers["late.example/feed"] = rss("Late", "a")
    await a_feed(database, site.url("late.example/feed"))
    short = replace(OPTIONS, lease=timedelta(seconds=3), timeout=timedelta(seconds=3), host_delay=timedelta(0))
    async with Client(user_agent="Test/1", allow_loopback=True, resolve={"example": "127.0.0.1"}) as client:
        one, other = (Poller(database, client, sandbox, utc_now, short) for _ in range(2))
        busy = asyncio.create_task(sandbox.run(time.sleep, 4))
        await asyncio.sleep(0)
        (feed,) = await one.claim(1)
        under_way = asyncio.create_task(one.work(feed))
        while not busy.done():
            assert await other.claim(1) == []
            await asyncio.sleep(0.05)
        report = await under_way

    assert report.outcome_name == "polled"
    assert site.asked == ["GET late.example/feed"]


async def known_to_answer(database: Database) -> None:
    """All hosts there are have answered a moment ago."""
    async with database.transaction() as conn:
        await conn.execute("UPDATE hosts SET answered_at = %s", (START,))


async def test_while_our_own_network_is_gone_no_feed_counts_as_polled(database: Database, poller: Poller) -> None:
    for number in range(12):
        await a_feed(database, f"http://h{number}.invalid/feed")
    await known_to_answer(database)

    for feed in await poller.claim(12):
        await poller.work(feed)

    counted = "SELECT count(last_polled_at), count(last_succeeded_at) FROM feed_state"
    assert await asked(database, counted) == [(4, 0)]  # it takes five hosts to tell


async def test_a_feed_that_is_enabled_on_a_paused_host_is_polled_at_once_and_tests_it(
    database: Database, poller: Poller, site: Site, clock: MovableClock
) -> None:
    feeds = [await a_feed(database, site.url(f"lost.example/{number}")) for number in range(3)]
    for _ in feeds:
        await poll_one(poller)
        clock.move(seconds=3)
    site.answers["lost.example/1"] = rss("Found", "a")
    paused = await poller.claim(1)
    async with database.transaction() as conn:
        await follow.enable(conn, feeds[1], clock())

    report = await poll_one(poller)

    assert paused == []
    assert (report.source_id, report.host.resumed) == (feeds[1].id, True)


async def test_a_user_who_polls_feeds_of_a_paused_host_keeps_its_delay_too(
    database: Database, poller: Poller, site: Site, clock: MovableClock
) -> None:
    feeds = [await a_feed(database, site.url(f"lost.example/{number}")) for number in range(3)]
    for _ in feeds:
        await poll_one(poller)
        clock.move(seconds=3)

    first = await poller.claim_one(feeds[0].id)
    assert first is not None
    await poller.work(first)

    assert await poller.claim_one(feeds[1].id) is None
    clock.move(seconds=3)
    assert await poller.claim_one(feeds[1].id) is not None


async def test_a_captive_portal_is_our_own_outage(database: Database, sandbox: Sandbox, clock: MovableClock) -> None:
    for number in range(12):
        await a_feed(database, f"http://h{number}.example/feed")
    await known_to_answer(database)
    async with Client(user_agent="Test/1", resolve={"example": "10.0.0.1"}) as client:
        poller = Poller(database, client, sandbox, clock, OPTIONS)
        with capture_logs() as logs:
            for feed in await poller.claim(12):
                await poller.work(feed)

    assert "own network is down" in {line["event"] for line in logs}
    off = "SELECT count(disabled_at), count(feed_disabled_at) FROM feed_state JOIN sources ON sources.id = source_id"
    assert await asked(database, off) == [(0, 0)]


async def test_articles_of_a_poll_that_was_overtaken_are_counted(
    database: Database, poller: Poller, site: Site, clock: MovableClock
) -> None:
    site.answers["one.example/feed"] = rss("One", "a", "b")
    source = await a_feed(database, site.url("one.example/feed"))
    (under_way,) = await poller.claim(1)
    async with database.transaction() as conn:
        await follow.enable(conn, source, clock())

    await poller.work(under_way)

    assert await asked(database, "SELECT article_count FROM feed_state") == [(2,)]
