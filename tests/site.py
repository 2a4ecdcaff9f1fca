"""A site on loopback that answers as a test says, under any name below `.example`, and an inspector of it."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from html import escape

from aiohttp import web

from headwater.db import Database
from headwater.hosts.turns import Turns
from headwater.net import Client
from headwater.sandbox import Sandbox
from headwater.sources.custom.inspect import Inspector
from headwater.types import Clock

Answer = tuple[int, str, bytes]  # status, type, body


def rss(title: str, *entries: str, link: str = "https://good.example/") -> Answer:
    """A feed with these entries."""
    items = "".join(
        f"<item><guid>{n}</guid><title>{escape(entry)}</title><link>{link}{n}</link></item>"
        for n, entry in enumerate(entries)
    )
    body = f"<rss version='2.0'><channel><title>{escape(title)}</title><link>{link}</link>{items}</channel></rss>"
    return 200, "application/rss+xml", body.encode()


def page(html: str) -> Answer:
    """A web page."""
    return 200, "text/html", html.encode()


@dataclass
class Site:
    """Answers by host and path, such as `good.example/feed`; `asked` has every request, HEADs among them, and
    `asked_at` when it came."""

    port: int
    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])
    headers: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])  # besides the usual ones
    refuses_head: bool = False
    asked: list[str] = field(default_factory=list[str])
    asked_at: list[float] = field(default_factory=list[float])

    def url(self, place: str) -> str:
        host, _, path = place.partition("/")
        return f"http://{host}:{self.port}/{path}"

    async def answer(self, request: web.Request) -> web.Response:
        place = (request.host.partition(":")[0] or "") + request.path_qs
        self.asked.append(f"{request.method} {place}")
        self.asked_at.append(time.monotonic())
        status, kind, body = self.answers.get(place, (404, "text/plain", b"no"))
        if request.method == "HEAD" and self.refuses_head:
            status, kind, body = 405, "text/plain", b""
        headers = {"Content-Type": kind, **self.headers.get(place, {})}
        if status in {301, 302, 303, 307, 308}:
            headers["Location"] = body.decode()
        return web.Response(status=status, body=body, headers=headers)


@asynccontextmanager
async def a_site() -> AsyncIterator[Site]:
    """A site of the test's own."""
    app, sites = web.Application(), list[Site]()

    async def answer(request: web.Request) -> web.Response:
        return await sites[0].answer(request)

    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        sites.append(Site(runner.addresses[0][1]))
        yield sites[0]
    finally:
        await runner.cleanup()


MakeInspector = Callable[[Database, Clock], Inspector]


@asynccontextmanager
async def inspectors(within: timedelta = timedelta(seconds=20)) -> AsyncIterator[MakeInspector]:
    """Inspectors that reach nothing but this machine, and keep no delay."""
    async with (
        Client(user_agent="Test/1", allow_loopback=True, resolve={"example": "127.0.0.1"}) as client,
        Sandbox(processes=1, time_limit=timedelta(seconds=20), memory_limit=1_000_000_000) as sandbox,
    ):

        def make(database: Database, clock: Clock) -> Inspector:
            turns = Turns(database, clock, delay=timedelta(0), lease=timedelta(minutes=1))
            return Inspector(client, sandbox, turns, max_bytes=1_000_000, within=within)

        yield make
