"""Every page of the zoo ends in an answer; robots.txt is obeyed in every state; no host is asked within its delay."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any, LiteralString

import pytest
from structlog.testing import capture_logs

from headwater.accounts.changes import add_user
from headwater.accounts.quotas import Quotas
from headwater.accounts.types import Role, User
from headwater.bodies import store as bodies
from headwater.bodies.types import ClaimedBody, NewBody
from headwater.db import Database
from headwater.errors import DatabaseUnavailable
from headwater.fetching.report import outcome_name
from headwater.fetching.types import FetchingOptions, TurnResult
from headwater.fetching.worker import SLOW, UNREAD_MOST, Fetcher, in_parts
from headwater.frontier.keys import locate
from headwater.frontier.store import claims, listing, queue
from headwater.frontier.types import FrontierOptions, FrontierUrl, Origin, Status, Submission
from headwater.hosts import robots_cache
from headwater.hosts.robots import Rules, origin_of
from headwater.hosts.store import robots as robots_store
from headwater.hosts.store.outages import list_outages
from headwater.hosts.types import Robots
from headwater.ids import new_id
from headwater.library.saved.operate import save_page
from headwater.net import Client
from headwater.sources.store.custom import set_submitter
from headwater.types import PageKind, SourceId
from headwater.urls import host_of
from headwater_lab.zoo import DOMAIN, EXHIBITS, Zoo
from tests.builders import a_source
from tests.clock import START, MovableClock
from tests.fetching.claims import OPTIONS
from tests.site import a_site

pytestmark = pytest.mark.database

DELAY = timedelta(milliseconds=50)
FRONTIER = FrontierOptions(min_delay=DELAY, max_crawl_delay=OPTIONS.crawl_delay_max)
BY_NAME = {exhibit.name: exhibit for exhibit in EXHIBITS}


@pytest.fixture(scope="module")
async def zoo() -> AsyncIterator[Zoo]:
    async with Zoo() as zoo:
        yield zoo


class Crawl:
    """A fetcher, its frontier and its clock."""

    def __init__(self, database: Database, clock: MovableClock, client: Client, options: FetchingOptions) -> None:
        self.database = database
        self.clock = clock
        self.client = client
        self.fetcher = Fetcher(database, client, clock, options, FRONTIER)

    async def submit(
        self,
        *urls: str,
        kind: PageKind = PageKind.ARTICLE,
        source_id: SourceId | None = None,
    ) -> None:
        async with self.database.transaction() as conn:
            await queue.submit(
                conn,
                submissions=[Submission(url, Origin.FEED, source_id, kind=kind) for url in urls],
                now=self.clock(),
                options=FRONTIER,
            )

    async def turn(self) -> list[TurnResult]:
        """One turn with each host that is ready."""
        claimed = await self.fetcher.claim(100)
        return await asyncio.gather(*(self.fetcher.work(host) for host in claimed))

    async def outcomes(self) -> dict[str, str]:
        """What one turn came to, by URL."""
        return {one.url.url: outcome_name(one) for harvest in await self.turn() for one in harvest.answered}

    async def find(self, url: str) -> FrontierUrl | None:
        async with self.database.transaction() as conn:
            return await listing.find(conn, id=locate(url).key.id, now=self.clock())

    async def status_of(self, url: str) -> tuple[Status, str | None]:
        """Where a URL stands, and why."""
        found = await self.find(url)
        assert found is not None
        return found.status, found.last_error

    async def kept(self, kind: PageKind = PageKind.ARTICLE) -> list[ClaimedBody]:
        until = self.clock() + timedelta(minutes=1)
        async with self.database.transaction() as conn:
            return await bodies.claim(conn, kind=kind, lease=new_id(), now=self.clock(), leased_until=until, limit=100)


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Client(user_agent="Test/1", allow_loopback=True, resolve={DOMAIN: "127.0.0.1"}) as client:
        yield client


@pytest.fixture
def crawl(database: Database, clock: MovableClock, client: Client) -> Crawl:
    return Crawl(database, clock, client, replace(OPTIONS, timeout=timedelta(seconds=5)))


NAMES = {"example": "127.0.0.1"}
OUTCOMES = {
    "daily": "not_html",
    "bad-request": "bad_request",
    "unauthorized": "unauthorized",
    "forbidden": "forbidden",
    "missing": "not_found",
    "gone": "gone",
    "teapot": "bad_request",
    "legal": "bad_request",
    "busy-seconds": "rate_limited",
    "busy-until": "rate_limited",
    "busy": "rate_limited",
    "broken": "upstream_failure",
    "bad-gateway": "upstream_failure",
    "resting": "upstream_failure",
    "gateway-timeout": "upstream_failure",
    "challenge": "bot_challenge",
    "challenge-503": "bot_challenge",
    "silent": "timeout",
    "drip": "timeout",
    "slammed": "network",
    "dropped": "network",
    "short": "network",
    "mailman": "network",
    "shouting": "network",
    "nowhere": "dns",
    "picture": "not_html",
    "leaflet": "not_html",
    "parcel": "not_html",
    "lobby": "fetched",
    "login": "fetched",
    "prose": "fetched",
    "api": "not_html",
    "drawing": "not_html",
    "noise": "not_html",
    "empty": "empty",
    "blank": "empty",
    "laughs": "not_html",
    "abyss": "not_html",
    "moved": "redirected",
    "moved-308": "redirected",
    "merged": "redirected",
    "visiting": "not_html",  # followed: what is there is a feed
    "visiting-307": "not_html",
    "carousel": "redirect_loop",
    "mirror": "redirect_loop",
    "signpost": "unexpected",
    "tunnel-metadata": "ssrf_blocked",
    "tunnel-private": "ssrf_blocked",
    "tunnel-loopback": "ssrf_blocked",
    "tunnel-file": "ssrf_blocked",
    "tunnel-ftp": "ssrf_blocked",
    "elephant": "too_large",
    "whale": "too_large",
    "bomb-gzip": "too_large",
    "bomb-brotli": "too_large",
    "bomb-zstd": "too_large",
    "bomb-stacked": "too_large",
}
GIVEN_UP = {"not_found", "gone", "not_html", "too_large", "ssrf_blocked", "robots_blocked"}


def test_the_table_has_every_cage() -> None:
    unasked = {"plaintext", "too-many-hops", "hops", "flicker", "forgetful", "farewell", "mover"}

    assert {exhibit.name for exhibit in EXHIBITS if exhibit.fails} - set(OUTCOMES) <= unasked


async def test_every_cage_ends_in_its_answer_and_none_in_an_error(zoo: Zoo, crawl: Crawl) -> None:
    names = {zoo.url_of(BY_NAME[name]): name for name in OUTCOMES}
    await crawl.submit(*names)

    with capture_logs() as logs:
        outcomes = await crawl.outcomes()

    assert {names[url]: outcome for url, outcome in outcomes.items()} == OUTCOMES
    assert [line for line in logs if line["log_level"] in {"error", "critical"}] == []
    for url, name in names.items():
        if OUTCOMES[name] == "redirected":
            found = await crawl.find(url)  # where it led
            assert found is not None
            assert (name, found.url == url) == (name, False)
        elif OUTCOMES[name] == "fetched":
            assert await crawl.status_of(url) == (Status.FETCHED, None)
        else:
            status, why = await crawl.status_of(url)
            assert (name, status) == (name, Status.DEAD if OUTCOMES[name] in GIVEN_UP else Status.FAILED)
            assert (why or "").startswith(f"{OUTCOMES[name]}: ")


# Pages.


async def test_a_page_is_kept_as_it_came_and_asked_for_conditionally_the_next_time(zoo: Zoo, crawl: Crawl) -> None:
    url = zoo.url("h1.crowd", "/article/7.html")
    await crawl.submit(url)

    first = await crawl.outcomes()
    (page,) = await crawl.kept()
    crawl.clock.move(days=1)
    zoo.forget_visits()
    second = await crawl.outcomes()

    assert (first, second) == ({url: "fetched"}, {url: "unchanged"})
    assert (page.url, page.final_url, page.kind) == (url, url, PageKind.ARTICLE)
    assert page.content_type == "text/html; charset=utf-8"
    assert page.body.startswith(b"<!doctype html>")
    assert [visit.if_none_match for visit in zoo.visits_to("h1.crowd") if visit.path != "/robots.txt"] == ['"1-7"']
    assert [page.attempts for page in await crawl.kept()] == [1]  # the same page again, and no other


async def test_a_permanent_redirect_leaves_an_alias_and_its_target_is_fetched_once(zoo: Zoo, crawl: Crawl) -> None:
    old, new = zoo.url("moved", "/feed.xml"), zoo.url("moved", "/current.xml")
    await crawl.submit(old, new, kind=PageKind.SITEMAP)
    zoo.forget_visits()

    await crawl.turn()
    crawl.clock.move(minutes=5)
    await crawl.submit(old, kind=PageKind.SITEMAP)
    await crawl.turn()

    found = await crawl.find(old)
    assert found is not None
    assert (found.url, found.status) == (new, Status.FETCHED)
    assert [visit.path for visit in zoo.visits_to("moved")].count("/current.xml") == 1


async def test_a_temporary_redirect_on_the_same_host_is_followed(zoo: Zoo, crawl: Crawl) -> None:
    url = zoo.url("visiting", "/feed.xml")
    await crawl.submit(url, kind=PageKind.SITEMAP)

    outcomes = await crawl.outcomes()
    (page,) = await crawl.kept(PageKind.SITEMAP)

    assert outcomes == {url: "fetched"}
    assert (page.url, page.final_url) == (url, zoo.url("visiting", "/today.xml"))


async def test_a_redirect_with_retry_after_is_followed_when_that_has_passed(crawl: Crawl) -> None:
    async with a_site() as site, Client(user_agent="Test/1", allow_loopback=True, resolve=NAMES) as client:
        here, there = site.url("one.example/a"), site.url("one.example/b")
        site.answers["one.example/a"] = (302, "text/plain", there.encode())
        site.headers["one.example/a"] = {"Retry-After": "3600"}
        site.answers["one.example/b"] = (200, "text/html", b"<p>Hello</p>")
        crawl.fetcher = Fetcher(crawl.database, client, crawl.clock, OPTIONS, FRONTIER)
        await crawl.submit(here)
        first = await crawl.outcomes()
        crawl.clock.move(minutes=59)
        early = await crawl.outcomes()
        crawl.clock.move(minutes=2)

        assert (first, early, await crawl.outcomes()) == ({here: "redirected"}, {}, {there: "fetched"})


async def test_a_redirect_onto_another_host_waits_in_that_hosts_queue(zoo: Zoo, crawl: Crawl) -> None:
    url, there = zoo.url("merged", "/feed.xml"), zoo.url("daily", "/feed.xml")
    await crawl.submit(url, kind=PageKind.SITEMAP)
    zoo.forget_visits()

    first = await crawl.outcomes()
    asked_meanwhile = zoo.visits_to("daily")
    second = await crawl.outcomes()

    assert (first, asked_meanwhile, second) == ({url: "redirected"}, [], {there: "fetched"})


async def test_pages_of_spidered_sources_are_kept_for_their_links_too(zoo: Zoo, crawl: Crawl) -> None:
    source = await a_followed(crawl, "UPDATE sources SET ingestion_mode = 'both', max_depth = 1")
    await crawl.submit(zoo.url("h2.crowd", "/article/1.html"), source_id=source)

    await crawl.turn()

    (article,), (links,) = await crawl.kept(), await crawl.kept(PageKind.LIST)
    assert (article.source_id, links.source_id) == (source, source)
    assert (article.url, article.body) == (links.url, links.body)


async def a_followed(crawl: Crawl, change: LiteralString) -> SourceId:
    async with crawl.database.transaction() as conn:
        source = await a_source(conn)
        await conn.execute(change)
    return source.id


# robots.txt.


ROBOTS = {
    "sparrow": ("fetched", "fetched"),  # 404
    "daily": ("fetched", "fetched"),
    "gazette": ("fetched", "fetched"),
    "village": ("fetched", "robots_blocked"),
    "hermit": ("robots_blocked", "robots_blocked"),
    "robots-garbage": ("fetched", "fetched"),
}


@pytest.mark.parametrize(("host", "outcomes"), ROBOTS.items(), ids=ROBOTS)
async def test_robots_txt_is_obeyed_in_every_state(
    host: str, outcomes: tuple[str, str], zoo: Zoo, crawl: Crawl
) -> None:
    urls = zoo.url(host, "/about"), zoo.url(host, "/members/secrets")
    await crawl.submit(*urls)
    zoo.forget_visits()

    found = await crawl.outcomes()

    assert found == dict(zip(urls, outcomes, strict=True))
    asked = [visit.path for visit in zoo.visits_to(host)]
    assert asked[0] == "/robots.txt"
    assert asked.count("/robots.txt") == 1
    assert ("/members/secrets" in asked) == (outcomes[1] == "fetched")


async def test_a_robots_txt_is_asked_for_once_a_day_by_all_together(
    zoo: Zoo, crawl: Crawl, database: Database, client: Client
) -> None:
    other = Crawl(database, crawl.clock, client, OPTIONS)
    zoo.forget_visits()

    for number, one in enumerate((crawl, other, crawl)):
        await one.submit(zoo.url("village", f"/village/{number}"))
        await one.turn()
        crawl.clock.move(hours=8)
    asked_within_a_day = [visit.path for visit in zoo.visits_to("village")].count("/robots.txt")
    await other.submit(zoo.url("village", "/about"))
    await other.turn()

    assert asked_within_a_day == 1
    assert [visit.path for visit in zoo.visits_to("village")].count("/robots.txt") == 2


async def test_a_crawl_delay_holds_at_once_and_from_then_on_and_no_longer_than_our_most(zoo: Zoo, crawl: Crawl) -> None:
    urls = [zoo.url("gazette", path) for path in ("/about", "/guestbook", "/")]
    await crawl.submit(*urls)
    zoo.forget_visits()

    (harvest,) = await crawl.turn()
    await crawl.submit(zoo.url("gazette", "/archive/2"))
    crawl.clock.move(seconds=10)
    (claimed,) = await crawl.fetcher.claim(10)

    assert len(harvest.answered) == 3
    assert shortest_gap(zoo, "gazette") >= OPTIONS.crawl_delay_max.total_seconds()
    assert claimed.host.delay == OPTIONS.crawl_delay_max


async def test_a_robots_txt_that_fails_closes_the_host_until_it_has_failed_for_thirty_days(
    zoo: Zoo, crawl: Crawl
) -> None:
    url = zoo.url("robots-broken", "/about")
    await crawl.submit(url)
    zoo.forget_visits()

    first = await crawl.outcomes()
    at_once = await crawl.outcomes()
    crawl.clock.move(minutes=6)
    again = await crawl.outcomes()
    status = await crawl.status_of(url)
    asked = [visit.path for visit in zoo.visits_to("robots-broken")]
    crawl.clock.move(days=31)
    eased = await crawl.outcomes()

    assert (first, at_once, again, status) == ({}, {}, {}, (Status.PENDING, None))
    assert asked == ["/robots.txt", "/robots.txt"]
    assert eased == {url: "fetched"}


async def test_a_robots_txt_that_cannot_be_reached_closes_the_host_and_its_last_copy_comes_back(
    zoo: Zoo, crawl: Crawl
) -> None:
    url = zoo.url("plaintext", "/a").replace("http:", "https:")
    await keep_robots(crawl, url, "User-agent: *\nDisallow: /a\n")
    await crawl.submit(url)

    crawl.clock.move(days=2)
    first = await crawl.outcomes()
    crawl.clock.move(days=31)
    eased = await crawl.outcomes()

    assert (first, eased) == ({}, {url: "robots_blocked"})


async def test_urls_of_a_port_that_does_not_answer_do_not_close_their_host(
    zoo: Zoo, database: Database, clock: MovableClock, client: Client
) -> None:
    crawl = Crawl(database, clock, client, replace(OPTIONS, timeout=timedelta(seconds=5), urls_per_host=3))
    page = zoo.url_of(BY_NAME["prose"])
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        odd = [f"http://{host_of(page)}:{unused.getsockname()[1]}/{number}" for number in range(9)]
    await crawl.submit(*odd[:3])
    assert await crawl.outcomes() == {}  # the host has no other URLs: it is paused
    await crawl.submit(*odd)
    clock.move(minutes=5)
    await crawl.submit(page)

    ended: dict[str, str] = {}
    for _ in range(4):
        ended |= await crawl.outcomes()
        clock.move(seconds=1)

    assert ended == dict.fromkeys(odd, "robots_unreachable") | {page: "fetched"}


async def test_what_robots_txt_blocked_comes_back_when_it_changes(zoo: Zoo, crawl: Crawl) -> None:
    blocked, other = zoo.url("daily", "/about"), zoo.url("daily", "/guestbook")
    await keep_robots(crawl, blocked, "User-agent: *\nDisallow: /\n")
    await crawl.submit(blocked)

    first = await crawl.outcomes()
    dead = await crawl.status_of(blocked)
    crawl.clock.move(days=2)
    await crawl.submit(other)
    second = await crawl.outcomes()
    crawl.clock.move(minutes=1)
    third = await crawl.outcomes()

    assert first == {blocked: "robots_blocked"}
    assert dead == (Status.DEAD, "robots_blocked: The site's robots.txt disallows it.")
    assert (second, third) == ({other: "fetched"}, {blocked: "fetched"})


async def test_what_robots_txt_blocked_comes_back_even_where_nothing_else_waits(zoo: Zoo, crawl: Crawl) -> None:
    blocked = [zoo.url("daily", "/about"), zoo.url("daily", "/guestbook")]
    await keep_robots(crawl, blocked[0], "User-agent: *\nDisallow: /\n")
    await crawl.submit(*blocked)
    await crawl.turn()

    crawl.clock.move(hours=25)
    later = Crawl(crawl.database, crawl.clock, crawl.client, OPTIONS)
    first = await later.outcomes()
    crawl.clock.move(minutes=1)
    second = await later.outcomes()

    assert first | second == dict.fromkeys(blocked, "fetched")


async def test_a_host_that_goes_on_blocking_is_asked_for_its_robots_txt_once_a_day(zoo: Zoo, crawl: Crawl) -> None:
    await crawl.submit(zoo.url("hermit", "/a"), zoo.url("hermit", "/b"))
    zoo.forget_visits()

    for _ in range(4):
        await Crawl(crawl.database, crawl.clock, crawl.client, OPTIONS).turn()
        crawl.clock.move(hours=13)

    assert [visit.path for visit in zoo.visits_to("hermit")] == ["/robots.txt", "/robots.txt"]
    assert (await crawl.status_of(zoo.url("hermit", "/a")))[0] is Status.DEAD
    assert (await crawl.status_of(zoo.url("hermit", "/b")))[0] is Status.DEAD


async def keep_robots(crawl: Crawl, url: str, body: str) -> None:
    async with crawl.database.transaction() as conn:
        robots = Robots(origin_of(url), 200, body, crawl.clock(), crawl.clock() + timedelta(days=1))
        await robots_store.keep(conn, robots=robots)


@pytest.mark.parametrize(
    ("change", "wants"),
    [
        ("UPDATE sources SET sitemap_url = 'https://example.com/s.xml'", True),
        ("UPDATE sources SET feed_url = NULL, feed_url_key = NULL, url = 'https://example.com/', url_key = 'x'", True),
        ("UPDATE sources SET sitemap_url = 'https://example.com/s.xml', ingestion_mode = 'spider'", False),
        ("SELECT", False),
    ],
    ids=["a sitemap", "no feed", "spidered", "a feed alone"],
)
async def test_sitemaps_that_robots_txt_names_are_queued_for_sources_that_want_them(
    change: LiteralString, wants: bool, zoo: Zoo, crawl: Crawl
) -> None:
    source = await a_followed(crawl, change)
    await crawl.submit(zoo.url("daily", "/about"), source_id=source)

    await crawl.turn()

    found = await crawl.find(zoo.url("daily", "/sitemap.xml"))
    if not wants:
        assert found is None
        return
    assert found is not None
    assert (found.kind, found.origin, found.source_id) == (PageKind.SITEMAP, Origin.SITEMAP, source)
    assert await crawl.find(zoo.url("daily", "/news-sitemap.xml")) is not None


# The host's clock, and ours.


def shortest_gap(zoo: Zoo, host: str) -> float:
    visits = sorted(zoo.visits_to(host), key=lambda visit: visit.at)
    return min(later.at - (earlier.ended_at or later.at) for earlier, later in pairwise(visits))


async def test_requests_of_a_host_are_its_delay_apart_robots_txt_among_them(zoo: Zoo, crawl: Crawl) -> None:
    await crawl.submit(*(zoo.url("h3.crowd", f"/article/{number}.html") for number in range(5)))
    zoo.forget_visits()

    (harvest,) = await crawl.turn()

    assert (len(harvest.answered), harvest.requests) == (5, 6)
    assert shortest_gap(zoo, "h3.crowd") >= DELAY.total_seconds() - 0.005


async def test_after_a_429_a_host_is_paused_and_then_requested_half_as_often(zoo: Zoo, crawl: Crawl) -> None:
    urls = [zoo.url("busy-seconds", "/feed.xml"), zoo.url("busy-seconds", "/feed.xml?2")]
    await crawl.submit(*urls)

    (harvest,) = await crawl.turn()
    crawl.clock.move(seconds=119)
    too_early = await crawl.fetcher.claim(10)
    crawl.clock.move(seconds=1)
    (claimed,) = await crawl.fetcher.claim(10)

    assert len(harvest.answered) == 1
    assert list(too_early) == []
    assert (claimed.host.delay, claimed.host.pace.slowed) == (2 * DELAY, 1)


async def test_a_host_without_an_address_has_none_for_any_of_its_urls(crawl: Crawl) -> None:
    urls = [f"http://nowhere.invalid/{number}" for number in range(3)]
    await crawl.submit(*urls)

    assert await crawl.outcomes() == dict.fromkeys(urls, "dns")


async def known_to_answer(database: Database, crawl: Crawl, *urls: str) -> None:
    """The hosts of these URLs answered yesterday when they were asked for their robots.txt."""
    yesterday = crawl.clock() - timedelta(days=1)
    async with database.transaction() as conn:
        for url in urls:
            await robots_store.keep(
                conn, robots=Robots(origin_of(url), 404, None, yesterday, yesterday + timedelta(days=2))
            )
        await conn.execute("UPDATE hosts SET answered_at = %s", (yesterday,))


async def test_in_our_own_outage_no_failure_is_counted(zoo: Zoo, database: Database, crawl: Crawl) -> None:
    gone = [f"http://n{number}.invalid/a" for number in range(8)]
    await crawl.submit(*gone)
    await known_to_answer(database, crawl, *gone)

    with capture_logs() as logs:
        outcomes = await crawl.outcomes()
        async with database.transaction() as conn:
            during = await list_outages(conn, now=crawl.clock())
        crawl.clock.move(minutes=3)
        await crawl.submit(*(zoo.url(f"h{number}.crowd", "/article/1.html") for number in range(20, 40)))
        later = await crawl.outcomes()
        async with database.transaction() as conn:
            after = await list_outages(conn, now=crawl.clock())

    assert set(outcomes.values()) <= {"dns"}
    assert len(outcomes) == 4  # until five had failed
    assert [line["event"] for line in logs].count("own network is down") == 1
    assert [line["event"] for line in logs].count("own network is back") == 1
    assert [outage.stage for outage in during] == ["fetching"]  # every process can see it
    assert after == []
    assert "fetched" in later.values()
    for url in gone:
        status, _ = await crawl.status_of(url)
        assert status in {Status.PENDING, Status.FAILED}


async def test_a_host_is_given_back_after_its_time_with_what_was_not_come_to(
    zoo: Zoo, database: Database, clock: MovableClock, client: Client
) -> None:
    crawl = Crawl(database, clock, client, replace(OPTIONS, hold=2.5 * DELAY))
    urls = [zoo.url("h4.crowd", f"/article/{number}.html") for number in range(10)]
    await crawl.submit(*urls)

    first = await crawl.outcomes()
    clock.move(minutes=1)
    second = await crawl.outcomes()

    assert 0 < len(first) < 4
    assert 0 < len(second) < 6
    assert not first.keys() & second.keys()


async def test_a_host_with_a_long_delay_is_not_held_between_its_robots_txt_and_its_page(
    zoo: Zoo, database: Database, clock: MovableClock, client: Client
) -> None:
    crawl = Crawl(database, clock, client, replace(OPTIONS, hold=DELAY / 2))
    url = zoo.url("h12.crowd", "/article/1.html")
    await crawl.submit(url)

    first = await crawl.outcomes()
    clock.move(seconds=1)
    second = await crawl.outcomes()

    assert (first, second) == ({}, {url: "fetched"})


async def test_no_more_is_held_in_memory_than_one_page_may_have(
    zoo: Zoo, database: Database, clock: MovableClock, client: Client
) -> None:
    crawl = Crawl(database, clock, client, replace(OPTIONS, max_bytes=5_000))
    await crawl.submit(*(zoo.url("h5.crowd", f"/article/{number}.html") for number in range(10)))

    (harvest,) = await crawl.turn()

    assert 5_000 <= sum(len(page.body) for page in harvest.pages) < 10_000


async def test_a_turn_that_outlasts_its_lease_renews_it(zoo: Zoo, database: Database, client: Client) -> None:
    crawl = Crawl(database, MovableClock(), client, replace(OPTIONS, lease=timedelta(seconds=5.04)))
    await crawl.submit(*(zoo.url("h6.crowd", f"/article/{number}.html") for number in range(4)))
    (claimed,) = await crawl.fetcher.claim(1)

    harvest = await crawl.fetcher.work(claimed)

    assert len(harvest.answered) == 4
    assert harvest.ours_until > claimed.ours_until


async def test_a_host_that_was_lost_is_asked_no_more_and_what_was_found_is_kept(
    zoo: Zoo, database: Database, clock: MovableClock, client: Client
) -> None:
    crawl = Crawl(database, clock, client, replace(OPTIONS, lease=timedelta(seconds=5.1)))
    urls = [zoo.url("h7.crowd", f"/article/{number}.html") for number in range(4)]
    await crawl.submit(*urls)
    (claimed,) = await crawl.fetcher.claim(1)
    clock.move(minutes=5)
    (taken,) = await crawl.fetcher.claim(1)

    with capture_logs() as logs:
        harvest = await crawl.fetcher.work(claimed)
    still_held = await crawl.fetcher.claim(1)

    assert taken.host.host == claimed.host.host
    assert len(harvest.answered) < 4
    assert ("lease of a host was lost", "warning") in [(line["event"], line["log_level"]) for line in logs]
    assert list(still_held) == []


async def test_on_a_drain_hosts_are_given_back_as_soon_as_their_request_has_ended(zoo: Zoo, crawl: Crawl) -> None:
    await crawl.submit(*(zoo.url("h8.crowd", f"/article/{number}.html") for number in range(10)))
    (claimed,) = await crawl.fetcher.claim(1)
    zoo.forget_visits()

    working = asyncio.create_task(crawl.fetcher.work(claimed))
    while len(zoo.visits_to("h8.crowd")) < 3:
        await asyncio.sleep(0.005)
    crawl.fetcher.drain()
    harvest = await working

    assert 0 < len(harvest.answered) < 10
    assert list(await crawl.fetcher.claim(1)) == []
    crawl.clock.move(seconds=1)
    other = Crawl(crawl.database, crawl.clock, crawl.client, OPTIONS)
    (again,) = await other.fetcher.claim(1)
    assert again.host.host == claimed.host.host


async def test_on_a_drain_a_request_that_never_ends_is_cut_short(
    zoo: Zoo, crawl: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.fetching.worker.STOP_WITHIN", timedelta(milliseconds=50))
    crawl = Crawl(crawl.database, crawl.clock, crawl.client, replace(OPTIONS, timeout=timedelta(seconds=600)))
    url = zoo.url("silent", "/feed.xml")
    await crawl.submit(url)
    (claimed,) = await crawl.fetcher.claim(1)
    zoo.forget_visits()

    working = asyncio.create_task(crawl.fetcher.work(claimed))
    while len(zoo.visits_to("silent")) < 2:
        await asyncio.sleep(0.005)
    crawl.fetcher.drain()
    harvest = await working

    assert harvest.answered == []
    assert await crawl.status_of(url) == (Status.PENDING, None)


async def test_a_bug_is_an_outcome_and_logged_as_an_error(
    zoo: Zoo, crawl: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("headwater.fetching.turn.classify", broken)
    url = zoo.url("h9.crowd", "/article/1.html")
    await crawl.submit(url)

    with capture_logs() as logs:
        outcomes = await crawl.outcomes()

    assert outcomes == {url: "unexpected"}
    assert ("fetch broke", "error") in [(line["event"], line["log_level"]) for line in logs]


async def test_what_cannot_be_written_leaves_an_outcome_all_the_same(
    zoo: Zoo, crawl: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, bodies: Sequence[NewBody]) -> None:
        raise ZeroDivisionError(len(bodies))

    monkeypatch.setattr(bodies, "keep", broken)
    url = zoo.url("h13.crowd", "/article/1.html")
    await crawl.submit(url)

    with capture_logs() as logs:
        outcomes = await crawl.outcomes()

    assert outcomes == {url: "unexpected"}
    assert (await crawl.status_of(url))[0] is Status.FAILED
    assert ("turn broke", "error") in [(line["event"], line["log_level"]) for line in logs]


async def test_what_was_fetched_is_written_when_the_database_is_back(
    zoo: Zoo, crawl: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    outages = iter([True, True])
    answer = claims.answer

    async def sometimes(*args: Any, **more: Any) -> None:
        if next(outages, False):
            raise DatabaseUnavailable("it restarts")
        await answer(*args, **more)

    monkeypatch.setattr(claims, "answer", sometimes)
    url = zoo.url("h10.crowd", "/article/1.html")
    await crawl.submit(url)
    zoo.forget_visits()

    outcomes = await crawl.outcomes()

    assert outcomes == {url: "fetched"}
    assert len(await crawl.kept()) == 1
    assert len(zoo.visits_to("h10.crowd")) == 2


async def test_the_lag_is_how_long_the_first_host_has_been_ready(crawl: Crawl) -> None:
    nothing = await crawl.fetcher.lag()
    await crawl.submit("https://example.com/a")
    crawl.clock.move(minutes=3)

    assert (nothing, await crawl.fetcher.lag()) == (timedelta(0), timedelta(minutes=3))


async def test_a_sitemap_may_be_larger_than_a_page(zoo: Zoo, crawl: Crawl) -> None:
    options = replace(OPTIONS, max_bytes=1_000, sitemap_max_bytes=1_000_000)
    crawl = Crawl(crawl.database, crawl.clock, crawl.client, options)
    page, sitemap = zoo.url("h11.crowd", "/article/1.html"), zoo.url("h11.crowd", "/article/2.html")
    await crawl.submit(page)
    await crawl.submit(sitemap, kind=PageKind.SITEMAP)

    assert await crawl.outcomes() == {page: "too_large", sitemap: "fetched"}


@pytest.mark.parametrize(
    ("sizes", "parts"),
    [([], []), ([1, 2], [2]), ([9, 9, 9], [1, 1, 1]), ([50, 1, 1], [1, 2]), ([8, 8, 1], [2, 1])],
    ids=str,
)
def test_no_statement_carries_more_than_it_should(sizes: list[int], parts: list[int]) -> None:
    kept = [
        NewBody("u", "u", PageKind.ARTICLE, None, 0, "", b"x" * size * 1_000_000, MovableClock().now) for size in sizes
    ]

    assert [len(part) for part in in_parts(kept)] == parts


async def a_source_of(database: Database, name: str) -> SourceId:
    """A source that a reader of this name brought."""
    async with database.as_system() as conn:
        reader = await add_user(conn, f"{name}@example.com", None, Role.READER, START)
        source = await a_source(conn, url=f"https://{name}.example/feed")
        await set_submitter(conn, source_id=source.id, user_id=reader.id)
    return source.id


async def test_hosts_of_a_reader_whose_pages_are_slow_are_put_off_and_others_fetched(
    database: Database, clock: MovableClock, client: Client
) -> None:
    crawl = Crawl(database, clock, client, replace(OPTIONS, concurrency=4, timeout=SLOW + timedelta(seconds=0.5)))
    hers, his = await a_source_of(database, "eve"), await a_source_of(database, "bob")
    async with listening() as port:
        urls = [f"http://slow{number}.{DOMAIN}:{port}/1" for number in range(12)]
        await crawl.submit(*urls, source_id=hers)
        slow = await asyncio.gather(*(crawl.fetcher.work(host) for host in await crawl.fetcher.claim(2)))
        clock.move(seconds=1)
        await crawl.submit(f"http://quick.{DOMAIN}:{port}/1", source_id=his)

        claimed = await crawl.fetcher.claim(4)

    assert [harvest.was_silent for harvest in slow] == [True, True]
    assert [one.host.host for one in claimed] == [f"quick.{DOMAIN}"]
    found = [await crawl.find(url) for url in urls]
    assert sorted((one.status, one.retry_count) for one in found if one)[2:] == [(Status.PENDING, 0)] * 10


async def save_pages(crawl: Crawl, reader: User, *urls: str) -> None:
    for url in urls:
        await save_page(crawl.database, user_id=reader.id, address=url, quotas=Quotas(), now=crawl.clock())


async def test_slow_pages_that_a_reader_saved_are_put_off_and_those_of_others_fetched(
    database: Database, clock: MovableClock, client: Client
) -> None:
    crawl = Crawl(database, clock, client, replace(OPTIONS, concurrency=4, timeout=SLOW + timedelta(seconds=0.5)))
    async with listening() as port:
        urls = [f"http://slow{number}.{DOMAIN}:{port}/1" for number in range(12)]
        shared = f"http://shared.{DOMAIN}:{port}"
        async with database.as_system() as conn:
            eve, bob = [await add_user(conn, f"{one}@example.com", None, Role.READER, START) for one in ("eve", "bob")]
        await save_pages(crawl, eve, *urls)
        slow = await asyncio.gather(*(crawl.fetcher.work(host) for host in await crawl.fetcher.claim(2)))
        clock.move(seconds=1)
        await save_pages(crawl, eve, f"{shared}/hers")
        await save_pages(crawl, bob, f"http://quick.{DOMAIN}:{port}/1", f"{shared}/his", urls[11])

        claimed = await crawl.fetcher.claim(6)

    assert [harvest.was_silent for harvest in slow] == [True, True]
    assert {one.host.host for one in claimed} == {f"{one}.{DOMAIN}" for one in ("quick", "shared", "slow11")}
    found = [await crawl.find(url) for url in urls]
    assert sorted((one.status, one.retry_count) for one in found if one)[2:] == [(Status.PENDING, 0)] * 10


async def test_a_saved_page_is_read_in_the_turn_of_the_reader_who_saved_it(crawl: Crawl) -> None:
    async with a_site() as site, Client(user_agent="Test/1", allow_loopback=True, resolve=NAMES) as client:
        crawl.fetcher = Fetcher(crawl.database, client, crawl.clock, OPTIONS, FRONTIER)
        site.answers = {f"{name}.example/": (200, "text/html", b"<p>Hello</p>") for name in ("one", "two", "three")}
        async with crawl.database.as_system() as conn:
            eve, bob = [await add_user(conn, f"{one}@example.com", None, Role.READER, START) for one in ("eve", "bob")]
        await save_pages(crawl, eve, site.url("one.example/"), site.url("two.example/"))
        await save_pages(crawl, bob, site.url("three.example/"))
        await crawl.turn()
    async with crawl.database.transaction() as conn:
        rows = await (await conn.execute("SELECT owner FROM bodies ORDER BY split_part(url, '.', 1)")).fetchall()

    one, three, two = [owner for (owner,) in rows]
    assert one == two != three
    assert None not in {one, three}


async def test_hosts_of_a_reader_whose_robots_txt_takes_long_to_read_are_put_off_and_others_fetched(
    database: Database, clock: MovableClock, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = Crawl(database, clock, client, replace(OPTIONS, concurrency=4))
    hers, his = await a_source_of(database, "eve"), await a_source_of(database, "bob")
    text = "User-agent: *\n" + "Disallow: /private\n" * 2_000
    urls = [f"http://long{number}.{DOMAIN}:9/1" for number in range(6)]
    await crawl.submit(*urls, source_id=hers)
    day = clock() + timedelta(days=1)
    async with database.transaction() as conn:
        for url in urls:
            await robots_store.keep(conn, robots=Robots(origin_of(url), 200, text, clock(), day))

    def read_slowly(*_: object) -> Rules:
        time.sleep(SLOW.total_seconds() + 0.1)
        return Rules("", "headwater")

    monkeypatch.setattr(robots_cache, "rules_of", read_slowly)
    await asyncio.gather(*(crawl.fetcher.work(host) for host in await crawl.fetcher.claim(2)))
    clock.move(seconds=1)
    await crawl.submit(f"http://quick.{DOMAIN}/1", source_id=his)

    claimed = await crawl.fetcher.claim(4)

    assert [one.host.host for one in claimed] == [f"quick.{DOMAIN}"]


async def test_hosts_wait_while_their_owner_has_much_to_be_read(
    database: Database, clock: MovableClock, client: Client
) -> None:
    crawl = Crawl(database, clock, client, OPTIONS)
    hers, his = await a_source_of(database, "eve"), await a_source_of(database, "bob")
    await crawl.submit("http://hers.example/1", source_id=hers)
    await crawl.submit("http://his.example/1", source_id=his)
    page = NewBody("http://a.example/", "http://a.example/", PageKind.ARTICLE, hers, 0, "", b"<p>", clock())
    async with database.transaction() as conn:
        await bodies.keep(conn, bodies=[page])
        await conn.execute("UPDATE bodies SET turn_at = %s", (clock() + UNREAD_MOST + timedelta(seconds=1),))

    claimed = await crawl.fetcher.claim(4)
    async with database.transaction() as conn:
        await conn.execute("DELETE FROM bodies")  # they were read
    clock.move(minutes=16)
    later = await crawl.fetcher.claim(4)

    assert [one.host.host for one in claimed] == ["his.example"]
    assert "hers.example" in {one.host.host for one in later}


async def test_at_a_host_that_others_need_too_only_the_urls_of_the_busy_owner_wait(
    database: Database, clock: MovableClock, client: Client
) -> None:
    crawl = Crawl(database, clock, client, OPTIONS)
    hers, his = await a_source_of(database, "eve"), await a_source_of(database, "bob")
    await crawl.submit(*(f"http://shared.example/{number}" for number in range(12)), source_id=hers)
    page = NewBody("http://a.example/", "http://a.example/", PageKind.ARTICLE, hers, 0, "", b"<p>", clock())
    async with database.transaction() as conn:
        await bodies.keep(conn, bodies=[page])
        await conn.execute("UPDATE bodies SET turn_at = %s", (clock() + UNREAD_MOST + timedelta(hours=1),))
    clock.move(seconds=1)
    await crawl.submit("http://shared.example/his", "http://shared.example/two", source_id=his)
    await crawl.submit("http://shared.example/nobodys")

    (claimed,) = await crawl.fetcher.claim(4)

    assert sorted(url.url[-4:] for url in claimed.host.urls) == ["/his", "/two", "odys"]
    found = await crawl.find("http://shared.example/3")
    assert found is not None
    assert (found.status, found.next_fetch_at) == (Status.PENDING, clock() + timedelta(minutes=15))


@asynccontextmanager
async def listening() -> AsyncIterator[int]:
    """A server that never answers."""

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.read()
        writer.close()

    server = await asyncio.start_server(wait, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
