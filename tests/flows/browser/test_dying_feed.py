"""The life of a feed that dies and comes back: each step in the API, on its page, and in the log at its level.

Days pass as fast as the test moves the clock, which the zoo, the poller and the server share.
"""

import asyncio
import json
import re
import threading
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, timedelta
from typing import Any, TypeVar

import pytest
from playwright.sync_api import Browser, Page, expect
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr
from structlog.testing import capture_logs

from headwater.db import Database
from headwater.db.migrate import migrate_up
from headwater.net import Client
from headwater.polling.types import PollReport
from headwater.polling.worker import Poller
from headwater.sandbox import Sandbox
from headwater.server import address_of, create_app, listen, serve
from headwater.sources.follow import follow
from headwater.web.routes.admin.sources import DEFAULT_POLLING
from headwater_lab.zoo import DOMAIN, Zoo
from tests.clock import MovableClock
from tests.databases import new_database
from tests.flows.browser.person import Place, open_page, register

pytestmark = pytest.mark.database

T = TypeVar("T")
TOKEN = "the operator's own, and long enough"
DAY = timedelta(days=1)
WELL_FOR = ILL_FOR = 5 * DAY
TEMPO = 30 / WELL_FOR.total_seconds()  # the Forgetful Clerk is well for 30 s and then ill for 30 s, at tempo 1


class World:
    """A zoo, a poller and a server in a thread of their own, under one clock."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: MovableClock, poller: Poller, place: Place) -> None:
        self._loop = loop
        self._poller = poller
        self.clock = clock
        self.place = place
        self.path = ""

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        async def working() -> T:
            return await work()

        return asyncio.run_coroutine_threadsafe(working(), self._loop).result(300)

    def poll_at(self, at: datetime) -> PollReport | None:
        """Let time pass, and poll what is due then."""
        self.clock.now = at

        async def poll() -> PollReport | None:
            claimed = await self._poller.claim(1)
            return await self._poller.work(claimed[0]) if claimed else None

        return self.run(poll)

    def source(self) -> dict[str, Any]:
        """What the API says."""
        request = urllib.request.Request(
            f"{self.place.url}/api/v1/sources/{self.path.rpartition('/')[2]}",
            headers={"Authorization": f"Bearer {TOKEN}"},
        )
        with urllib.request.urlopen(request, timeout=300) as response:
            return json.load(response)


@pytest.fixture
def world(server_conninfo: str) -> Iterator[World]:
    with in_a_thread(lambda: open_world(server_conninfo)) as world:
        yield world


@asynccontextmanager
async def open_world(server_conninfo: str) -> AsyncIterator[World]:
    clock, stop = MovableClock(), asyncio.Event()
    async with (
        new_database(server_conninfo) as name,
        Zoo(clock=lambda: clock().timestamp(), tempo=TEMPO) as zoo,
        Client(user_agent="Test/1", allow_loopback=True, resolve={DOMAIN: "127.0.0.1"}) as client,
        Sandbox(processes=1, time_limit=timedelta(seconds=20), memory_limit=1_000_000_000) as sandbox,
    ):
        conninfo = make_conninfo(server_conninfo, dbname=name)
        await migrate_up(conninfo)
        async with Database(conninfo, pool_size=5, wait=timedelta(seconds=30)) as database:
            with listen("127.0.0.1", 0) as listener:
                app = create_app(database, clock, SecretStr(TOKEN))
                serving = asyncio.create_task(serve(app, listener, stop, timedelta(seconds=1)))
                poller = Poller(database, client, sandbox, clock, DEFAULT_POLLING)
                world = World(asyncio.get_running_loop(), clock, poller, Place(address_of(listener), zoo))
                async with database.as_system() as conn:
                    url = zoo.url("forgetful", "/feed.xml")
                    source = await follow(conn, url=url, name="The Forgetful Clerk", now=clock())
                world.path = f"/admin/sources/{source.id}"
                yield world
                stop.set()
                await serving


@contextmanager
def in_a_thread(open_it: Callable[[], Any]) -> Iterator[Any]:
    """What an async context manager opens in the loop of another thread, since this one's is the browser's."""
    opened: list[Any] = []
    ready, done = threading.Event(), threading.Event()

    async def keep_open() -> None:
        async with open_it() as value:
            opened.append(value)
            ready.set()
            await asyncio.to_thread(done.wait)

    def main() -> None:
        try:
            asyncio.run(keep_open())
        finally:
            ready.set()

    thread = threading.Thread(target=main)
    thread.start()
    ready.wait()
    try:
        yield opened[0]
    finally:
        done.set()
        thread.join()


@pytest.mark.soak
def test_a_feed_dies_and_comes_back_and_each_step_is_seen(world: World, browser: Browser) -> None:
    start = world.clock()
    with capture_logs() as logged, open_page(browser, world.place) as page:
        register(page)
        page.goto(world.path)
        expect_state(page, "Pending", "Not polled yet. Due now.")
        assert world.source()["status"] == "pending"

        first = world.poll_at(start)
        assert first is not None
        assert first.outcome_name == "polled"
        page.reload()
        expect_state(page, "Healthy", "Healthy. Last polled today at 12:00.")
        assert world.source()["status"] == "working"
        assert taken(logged) == [("info", "feed polled")]

        ill = start + WELL_FOR
        waits = fail_until_off(world, page, ill)
        assert waits == sorted(waits)  # backed off: never sooner than the time before
        assert waits[-1] > waits[0]
        off = world.source()
        assert (off["status"], off["feed_disable_reason"]) == ("auto_disabled", "not_found")
        disabled_at, probe_at = (datetime.fromisoformat(off[f"feed_disabled_{name}"]) for name in ("at", "until"))
        assert disabled_at - ill >= DAY  # a threshold also needs time
        assert probe_at - disabled_at == 2 * DAY
        page.reload()
        expect_state(
            page, "Auto-disabled", "Auto-disabled today at ", "with the reason not found", "One probe is sent "
        )
        failures = len(waits) + 1
        assert taken(logged) == [("warning", "feed poll failed")] * failures + [("warning", "feed disabled")]

        assert world.poll_at(probe_at - timedelta(minutes=1)) is None  # it cools down
        assert taken(logged) == []

        probe = world.poll_at(probe_at)  # still ill: it stays off, twice as long, and nobody is told again
        assert probe is not None
        assert probe.outcome_name == "not_found"
        again = world.source()
        assert (again["status"], datetime.fromisoformat(again["feed_disabled_until"]) - probe_at) == (
            "auto_disabled",
            4 * DAY,
        )
        page.reload()
        expect_state(page, "Auto-disabled", f"Failed {failures + 1} times since")
        assert taken(logged) == [("warning", "feed poll failed")]

        assert probe_at + 4 * DAY > start + WELL_FOR + ILL_FOR
        page.goto(world.path)
        back = world.poll_at(probe_at + 4 * DAY)
        assert back is not None
        assert back.outcome_name == "polled"
        expect_state(page, "Healthy", "Healthy.")  # by itself: the page asks every ten seconds
        well = world.source()
        assert (well["status"], well["consecutive_errors"], well["feed_disabled_at"]) == ("working", 0, None)
        assert taken(logged) == [("info", "feed polled"), ("info", "feed enabled")]
        expect(page.locator(".strip rect.lost")).to_have_count(failures + 1)
        expect(page.locator(".strip rect.polled")).to_have_count(2)


def fail_until_off(world: World, page: Page, at: datetime) -> list[timedelta]:
    """Poll when it is due until it is off; looked at after the first two. Returns how long each wait was."""
    waits: list[timedelta] = []
    while (report := world.poll_at(at)) is not None:
        assert report.outcome_name == "not_found"
        told = world.source()
        if told["status"] == "auto_disabled":
            return waits
        assert (told["status"], told["consecutive_errors"]) == ("failing", len(waits) + 1)
        waits.append(report.next_poll_at - at)
        if len(waits) <= 2:
            page.reload()
            times = "once, " if len(waits) == 1 else "twice since "
            expect_state(page, "Failing", f"Failed {times}today at ", "with 404, not found.", "Next poll ")
        at = report.next_poll_at
    raise AssertionError("it was not due when it was said to be")


def expect_state(page: Page, state: str, *words: str) -> None:
    now = page.locator("#source-now")
    expect(now.locator(".badge")).to_have_text(state)
    for some in words:
        expect(now.locator(".story")).to_contain_text(re.compile(re.escape(some)))


def taken(logged: list[MutableMapping[str, Any]]) -> list[tuple[str, str]]:
    """What was logged of feeds since the last time; nothing of anything is an error."""
    lines = [(line["log_level"], line["event"]) for line in logged]
    logged.clear()
    assert [line for line in lines if line[0] in {"error", "critical"}] == []
    return [line for line in lines if line[1].startswith(("feed", "host"))]
