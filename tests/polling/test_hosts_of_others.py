"""A feed that one user enters cannot pause a host whose feeds others read."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from headwater.db import Database, fetch_value
from headwater.net import Client
from headwater.polling.worker import Poller
from headwater.sandbox import Sandbox
from tests.builders import a_source
from tests.clock import MovableClock
from tests.polling.histories import OPTIONS
from tests.ports import closed_port
from tests.site import Site, a_site, rss

pytestmark = pytest.mark.database

QUICK = replace(OPTIONS, host_delay=timedelta(0), timeout=timedelta(seconds=20))
HOST = "shared.example"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with a_site() as site:
        site.answers[f"{HOST}/good"] = rss("Good", "a")
        yield site


@pytest.fixture
async def poller(database: Database, clock: MovableClock) -> AsyncIterator[Poller]:
    async with (
        Client(user_agent="Test/1", allow_loopback=True, resolve={"example": "127.0.0.1"}) as client,
        Sandbox(processes=1, time_limit=timedelta(seconds=20), memory_limit=1_000_000_000) as sandbox,
    ):
        yield Poller(database, client, sandbox, clock, QUICK)


class Readers:
    def __init__(self, database: Database, poller: Poller, clock: MovableClock) -> None:
        self._database, self._poller, self._clock = database, poller, clock

    async def follow(self, *urls: str) -> Sequence[str]:
        """Add these feeds and poll all that are due, one after another. Returns how each poll ended."""
        async with self._database.transaction() as conn:
            for url in urls:
                await a_source(conn, url=url, now=self._clock())
        ended: list[str] = []
        while feeds := await self._poller.claim(1):
            ended.append((await self._poller.work(feeds[0])).outcome_name)
        return ended

    async def host_is_paused(self) -> bool:
        async with self._database.transaction() as conn:
            statement = "SELECT paused_until IS NOT NULL FROM hosts WHERE name = %(name)s"
            return await fetch_value(conn, statement, {"name": HOST})


@pytest.fixture
def readers(database: Database, poller: Poller, clock: MovableClock) -> Readers:
    return Readers(database, poller, clock)


@pytest.fixture
def unused_port() -> Iterator[int]:
    with closed_port() as port:
        yield port


async def test_feeds_that_never_existed_do_not_pause_a_host_whose_feeds_work(
    readers: Readers, site: Site, unused_port: int
) -> None:
    assert await readers.follow(site.url(f"{HOST}/good")) == ["polled"]

    missing = await readers.follow(*(site.url(f"{HOST}/missing{number}") for number in range(4)))
    unreachable = await readers.follow(*(f"http://{HOST}:{unused_port}/{number}" for number in range(4)))

    assert (missing, unreachable) == (["not_found"] * 4, ["network"] * 4)
    assert not await readers.host_is_paused()


async def test_a_bot_challenge_of_the_host_that_a_feed_redirects_to_does_not_pause_its_own(
    readers: Readers, site: Site
) -> None:
    site.answers[f"{HOST}/away"] = (302, "text/plain", site.url("other.example/feed").encode())
    site.answers["other.example/feed"] = (403, "text/html", b"<title>Just a moment...</title>")

    assert await readers.follow(site.url(f"{HOST}/away")) == ["bot_challenge"]
    assert not await readers.host_is_paused()


async def test_feeds_that_worked_and_fail_alike_pause_their_host(
    readers: Readers, site: Site, clock: MovableClock
) -> None:
    urls = [f"{HOST}/{number}" for number in range(4)]
    site.answers |= dict.fromkeys(urls, rss("Good", "a"))
    await readers.follow(*map(site.url, urls))
    site.answers.clear()
    clock.move(days=2)

    assert await readers.follow() == ["not_found"] * 3
    assert await readers.host_is_paused()
