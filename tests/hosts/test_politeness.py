"""Everything that asks a site waits for its host: at no time two requests, and none within the host's delay."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from headwater.db import Database
from headwater.errors import HostBusy
from headwater.fetching.worker import Fetcher
from headwater.frontier.store import queue
from headwater.frontier.types import FrontierOptions, Origin, Submission
from headwater.hosts.robots_cache import PageRequests
from headwater.hosts.turns import USER_WAIT, Turns
from headwater.net import Client
from headwater.polling.worker import Poller
from headwater.runtime import utc_now
from headwater.sandbox import Sandbox
from headwater.sources import follow
from headwater.sources.custom.inspect import Inspector
from headwater.sources.custom.types import Inspected
from headwater.sources.discovery import discover
from headwater.sources.trial import Trials, Unread
from headwater.sources.types import Source, SourceOverrides
from headwater_lab.zoo import DOMAIN, Zoo
from headwater_lab.zoo.visits import impolite
from tests.builders import a_source
from tests.fetching.claims import OPTIONS as FETCHING
from tests.headwater_process import run_headwater
from tests.polling.histories import OPTIONS as POLLING
from tests.site import Site, a_site, page, rss

pytestmark = pytest.mark.database

DELAY = timedelta(seconds=0.2)
LEASE = timedelta(seconds=30)


@dataclass(frozen=True)
class Askers:
    """All that makes requests to sites, on one database."""

    database: Database
    client: Client
    sandbox: Sandbox

    @property
    def turns(self) -> Turns:
        return Turns(self.database, utc_now, delay=DELAY, lease=LEASE)

    @property
    def poller(self) -> Poller:
        options = replace(POLLING, host_delay=DELAY, timeout=timedelta(seconds=5))
        return Poller(self.database, self.client, self.sandbox, utc_now, options)

    @property
    def fetcher(self) -> Fetcher:
        return Fetcher(self.database, self.client, utc_now, FETCHING, FrontierOptions(min_delay=DELAY))

    @property
    def trials(self) -> Trials:
        options = replace(POLLING, host_delay=DELAY)
        return Trials(self.database, self.client, self.sandbox, self.sandbox, utc_now, options, FETCHING, self.turns)

    async def poll(self) -> int:
        poller = self.poller
        return len([await poller.work(feed) for feed in await poller.claim(5)])

    async def fetch(self) -> int:
        fetcher = self.fetcher
        harvests = [await fetcher.work(host) for host in await fetcher.claim(5)]
        return sum(len(harvest.answered) for harvest in harvests)

    async def follow(self, url: str) -> Source:
        async with self.database.transaction() as conn:
            return await a_source(conn, url=url, now=utc_now())

    async def queue(self, *urls: str) -> None:
        async with self.database.transaction() as conn:
            submissions = [Submission(url, Origin.MANUAL) for url in urls]
            await queue.submit(conn, submissions=submissions, now=utc_now())


@pytest.fixture
async def askers(database: Database) -> AsyncIterator[Askers]:
    names = {DOMAIN: "127.0.0.1", "example": "127.0.0.1"}
    async with (
        Client(user_agent="Test/1", allow_loopback=True, resolve=names) as client,
        Sandbox(processes=2, time_limit=timedelta(seconds=20), memory_limit=1_000_000_000) as sandbox,
    ):
        yield Askers(database, client, sandbox)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with a_site() as site:
        yield site


async def repeat(times: int, ask: Callable[[], Awaitable[object]]) -> None:
    while times:
        with suppress(HostBusy):  # on a busy machine often: only requests that had their turn count
            await ask()
            times -= 1
        await asyncio.sleep(0.05)


async def test_everything_at_once_on_one_host_keeps_its_delay(askers: Askers) -> None:
    async with Zoo() as zoo:
        sources = [await askers.follow(zoo.url("h1.crowd", f"/feed/{number}.xml")) for number in range(3)]
        await askers.queue(*(zoo.url("h1.crowd", f"/article/{number}.html") for number in range(20)))
        inspector = Inspector(askers.client, askers.sandbox, askers.turns, max_bytes=1_000_000)

        async def search() -> None:
            async with askers.turns.borrow(wait=USER_WAIT) as turn:
                pages = PageRequests(askers.client, askers.turns, utc_now, "test", timedelta(seconds=30))
                front = zoo.url("h1.crowd", "/")
                await discover(
                    pages, askers.sandbox, front, within=timedelta(seconds=9), max_bytes=1_000_000, turn=turn
                )

        story = zoo.url("h1.crowd", "/article/1.html")
        async with asyncio.TaskGroup() as group:
            group.create_task(repeat(30, askers.poll))
            group.create_task(repeat(30, askers.fetch))
            group.create_task(repeat(3, search))
            group.create_task(repeat(3, lambda: askers.trials.attempt(sources[0])))
            group.create_task(repeat(3, lambda: askers.trials.read_page(sources[0], story)))
            group.create_task(repeat(3, lambda: inspector.inspect(zoo.url("h1.crowd", "/feed/9.xml"))))
        visits = list(zoo.visits)

    paths = {visit.path for visit in visits}
    assert {"/robots.txt", "/feed/0.xml", "/feed/9.xml", "/article/1.html"} <= paths
    assert len(visits) > 15
    assert impolite(visits, DELAY.total_seconds() - 0.01) == []


async def test_after_a_429_on_a_feed_no_page_and_no_other_feed_of_the_host_is_asked_for(
    askers: Askers, site: Site
) -> None:
    site.answers["busy.example/1"] = (429, "text/plain", b"Less.")
    site.answers["busy.example/2"] = rss("Two", "a")
    site.answers["busy.example/page"] = page("A page")
    site.headers["busy.example/1"] = {"Retry-After": "600"}
    await askers.follow(site.url("busy.example/1"))
    await askers.poll()
    source = await askers.follow(site.url("busy.example/2"))
    await askers.queue(site.url("busy.example/page"))
    asked = len(site.asked)

    await asyncio.sleep(2 * DELAY.total_seconds())
    polled, fetched = await askers.poll(), await askers.fetch()
    with pytest.raises(HostBusy, match=r"busy\.example is busy; try again after"):
        await askers.trials.attempt(source)

    assert (polled, fetched, len(site.asked)) == (0, 0, asked)


async def test_after_a_429_on_a_page_no_feed_of_the_host_is_asked_for(askers: Askers, site: Site) -> None:
    site.answers["busy.example/page"] = (429, "text/plain", b"Less.")
    site.answers["busy.example/feed"] = rss("Feed", "a")
    await askers.queue(site.url("busy.example/page"))
    for _ in range(3):
        await askers.fetch()
        await asyncio.sleep(1.5 * DELAY.total_seconds())
    asked = len(site.asked)
    await askers.follow(site.url("busy.example/feed"))

    assert await askers.poll() == 0
    assert any("busy.example/page" in one for one in site.asked)
    assert len(site.asked) == asked


async def test_a_page_that_robots_txt_disallows_is_not_tested(askers: Askers, site: Site) -> None:
    site.answers["hermit.example/robots.txt"] = (200, "text/plain", b"User-agent: *\nDisallow: /\n")
    site.answers["hermit.example/page"] = page("A page")
    source = await askers.follow(site.url("elsewhere.example/feed"))

    trial = await askers.trials.read_page(source, site.url("hermit.example/page"))

    assert isinstance(trial, Unread)
    assert "robots.txt disallows" in trial.reason
    assert [one for one in site.asked if "/page" in one] == []


async def test_a_crawl_delay_holds_for_feeds_too(askers: Askers, site: Site) -> None:
    site.answers["slow.example/robots.txt"] = (200, "text/plain", b"User-agent: *\nCrawl-delay: 4\n")
    site.answers["slow.example/page"] = page("A page")
    site.answers["slow.example/feed"] = rss("Feed", "a")
    await askers.queue(site.url("slow.example/page"))
    fetcher = Fetcher(
        askers.database,
        askers.client,
        utc_now,
        replace(FETCHING, crawl_delay_max=timedelta(seconds=4)),
        FrontierOptions(min_delay=DELAY),
    )
    for host in await fetcher.claim(1):
        await fetcher.work(host)
    await askers.follow(site.url("slow.example/feed"))
    at_once = await askers.poll()
    while not (claimed := await askers.poller.claim(1)):
        await asyncio.sleep(0.1)

    assert at_once == 0
    assert claimed[0].host_delay == timedelta(seconds=4)


async def test_a_crawl_delay_holds_from_the_test_of_a_page_that_read_it_on(askers: Askers, site: Site) -> None:
    site.answers["slow.example/robots.txt"] = (200, "text/plain", b"User-agent: *\nCrawl-delay: 3\n")
    site.answers["slow.example/page"] = page("A page")
    await askers.follow(site.url("slow.example/feed"))
    trials = replace(askers.trials, fetching=replace(FETCHING, crawl_delay_max=timedelta(seconds=3)))
    await trials.fetch(site.url("slow.example/page"))
    robots_at, page_at = site.asked_at
    polled = await askers.poll()

    assert site.asked == ["GET slow.example/robots.txt", "GET slow.example/page"]
    assert page_at - robots_at >= 3
    assert polled == 0


async def test_a_test_of_a_page_says_busy_when_the_crawl_delay_it_reads_is_longer_than_it_waits(
    askers: Askers, site: Site
) -> None:
    site.answers["slow.example/robots.txt"] = (200, "text/plain", b"User-agent: *\nCrawl-delay: 60\n")
    site.answers["slow.example/page"] = page("A page")
    trials = replace(askers.trials, fetching=replace(FETCHING, crawl_delay_max=timedelta(seconds=60)))

    with pytest.raises(HostBusy):
        await trials.fetch(site.url("slow.example/page"))

    assert site.asked == ["GET slow.example/robots.txt"]


async def test_a_feed_on_a_host_with_a_long_crawl_delay_can_be_suggested(askers: Askers, site: Site) -> None:
    site.answers["slow.example/robots.txt"] = (200, "text/plain", b"User-agent: *\nCrawl-delay: 3\n")
    site.answers["slow.example/feed"] = rss("Feed", "a")
    site.answers["slow.example/moved"] = (301, "text/plain", site.url("slow.example/feed").encode())
    trials = replace(askers.trials, fetching=replace(FETCHING, crawl_delay_max=timedelta(seconds=3)))
    await trials.fetch(site.url("slow.example/page"))
    del site.asked[:]
    hasty = timedelta(seconds=2.5)  # less than the delay
    inspector = Inspector(askers.client, askers.sandbox, askers.turns, max_bytes=1_000_000, within=hasty)

    found = await inspector.inspect(site.url("slow.example/moved"))

    assert isinstance(found, Inspected), found
    assert site.asked == ["GET slow.example/moved", "GET slow.example/feed"]
    assert site.asked_at[-1] - site.asked_at[-2] >= 3


async def test_a_turn_of_several_requests_waits_for_a_stored_crawl_delay(askers: Askers, site: Site) -> None:
    site.answers["slow.example/robots.txt"] = (200, "text/plain", b"User-agent: *\nCrawl-delay: 1\n")
    for name in ("page", "one", "two"):
        site.answers[f"slow.example/{name}"] = page(name)
    trials = replace(askers.trials, fetching=replace(FETCHING, crawl_delay_max=timedelta(seconds=1)))
    await trials.fetch(site.url("slow.example/page"))
    await asyncio.sleep(1.1)

    async with askers.turns.borrow(site.url("slow.example/one"), wait=timedelta(seconds=0.5)) as turn:
        for name in ("one", "two"):
            url = site.url(f"slow.example/{name}")
            await turn.ask(askers.client.get, url, within=timedelta(seconds=5), max_bytes=100_000)

    one, two = site.asked_at[-2:]
    assert two - one >= 1


async def test_a_crawl_delay_holds_for_the_host_whose_robots_txt_is_at_another(askers: Askers, site: Site) -> None:
    site.answers["slow.example/robots.txt"] = (301, "text/plain", site.url("rules.example/robots.txt").encode())
    site.answers["rules.example/robots.txt"] = (200, "text/plain", b"User-agent: *\nCrawl-delay: 60\n")
    site.answers["slow.example/page"] = page("A page")
    trials = replace(askers.trials, fetching=replace(FETCHING, crawl_delay_max=timedelta(seconds=60)))

    await trials.fetch(site.url("slow.example/page"))

    async with askers.turns.borrow(site.url("rules.example/"), wait=USER_WAIT):
        pass
    with pytest.raises(HostBusy):
        async with askers.turns.borrow(site.url("slow.example/"), wait=USER_WAIT):
            pass


async def test_a_robots_txt_at_another_host_waits_for_a_turn_there(askers: Askers, site: Site) -> None:
    site.answers["one.example/robots.txt"] = (301, "text/plain", site.url("rules.example/robots.txt").encode())
    site.answers["rules.example/robots.txt"] = (200, "text/plain", b"User-agent: *\nAllow: /\n")
    site.answers["one.example/page"] = page("A page")
    await askers.queue(site.url("one.example/page"))
    async with askers.turns.borrow(site.url("rules.example/"), wait=USER_WAIT):
        fetching = asyncio.create_task(askers.fetch())
        while not site.asked:
            await asyncio.sleep(0.02)
        await asyncio.sleep(1)
        during = list(site.asked)

    assert await fetching == 1
    assert during == ["GET one.example/robots.txt"]
    assert site.asked == ["GET one.example/robots.txt", "GET rules.example/robots.txt", "GET one.example/page"]


@pytest.mark.parametrize("command", ["parse", "extract", "source discover"])
async def test_a_command_waits_for_its_turn_where_a_database_is_in_use(
    askers: Askers, site: Site, tmp_path: Path, command: str
) -> None:
    site.answers["held.example/feed"] = rss("Feed", "a")
    environment = {
        **os.environ,
        "COLUMNS": "200",
        "DATABASE_URL": askers.database.conninfo,
        "HEADWATER_ALLOW_LOOPBACK": "true",
        "HEADWATER_RESOLVE": "example=127.0.0.1",
    }
    async with askers.turns.borrow(site.url("held.example/"), wait=USER_WAIT):
        asked = (*command.split(), site.url("held.example/feed"))
        done = await asyncio.to_thread(run_headwater, asked, environment, tmp_path)

    assert done.returncode != 0
    assert "held.example is busy; try again" in done.stdout + done.stderr
    assert site.asked == []


@pytest.mark.parametrize("has_database", [True, False])
@pytest.mark.parametrize("command", ["extract {}", "source test {} --body p"])
async def test_a_command_fetches_no_page_that_robots_txt_disallows(
    askers: Askers, site: Site, tmp_path: Path, command: str, has_database: bool
) -> None:
    site.answers["hermit.example/robots.txt"] = (200, "text/plain", b"User-agent: *\nDisallow: /page\n")
    site.answers["hermit.example/open"] = (302, "text/plain", site.url("hermit.example/page").encode())
    site.answers["hermit.example/page"] = page("<p>A page</p>")
    environment = {
        **os.environ,
        "COLUMNS": "200",
        "HEADWATER_ALLOW_LOOPBACK": "true",
        "HEADWATER_RESOLVE": "example=127.0.0.1",
        "HEADWATER_FETCH_HOST_DELAY": "0s",
        "HEADWATER_DATA_DIR": str(tmp_path / "data"),
    }
    environment.pop("DATABASE_URL", None)
    if has_database:
        environment["DATABASE_URL"] = askers.database.conninfo

    for name in ("page", "open"):
        asked = command.format(site.url(f"hermit.example/{name}")).split()
        done = await asyncio.to_thread(run_headwater, asked, environment, tmp_path)
        assert done.returncode == 1, done.stderr
        assert "robots.txt disallows" in done.stdout + done.stderr
    assert "GET hermit.example/page" not in site.asked
    assert "GET hermit.example/open" in site.asked


async def test_two_sources_with_crossed_hosts_are_changed_at_once_without_a_deadlock(database: Database) -> None:
    """One has its feed at the host of the other's sitemap: transactions lock hosts in the order of their keys."""
    names = ["a.example", "b.example"]
    async with database.transaction() as conn:
        crossed = [
            await follow.follow(
                conn,
                url=f"https://{feed}/feed",
                name=None,
                now=utc_now(),
                overrides=SourceOverrides(sitemap=f"https://{pages}/sitemap.xml"),
            )
            for feed, pages in (names, names[::-1])
        ]

    async def change(source: Source) -> None:
        for deed in (follow.refresh, follow.enable, follow.disable_source, follow.enable_source) * 15:
            async with database.transaction() as conn:
                await deed(conn, source, utc_now())

    async with asyncio.timeout(300), asyncio.TaskGroup() as group:
        for source in crossed * 2:
            group.create_task(change(source))
