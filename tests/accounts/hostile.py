"""A server on loopback that does to its clients what a broken or hostile one does."""

import asyncio
import gzip
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from aiohttp import web
from aiohttp.test_utils import TestServer

MEGABYTE = 1_000_000
HUGE = 100 * MEGABYTE
BLOCKED_URL = "http://internal.example/"  # resolves to a private address, which gets no request


class Hostile:
    """A path for each way to behave badly: see ANSWERS."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: Counter[str] = Counter()
        self.sent = 0  # bytes that a client let us send

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked[request.path] += 1
        with suppress(ConnectionError):
            return await ANSWERS[request.path](self, request)
        return web.Response()

    async def hang(self, _request: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    async def trickle(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.01)

    async def huge(self, request: web.Request) -> web.StreamResponse:
        """A hundred megabytes, with the status of the query."""
        status = int(request.query.get("status", "200"))
        response = web.StreamResponse(status=status, headers={"Content-Type": "application/json"})
        await response.prepare(request)
        while self.sent < HUGE:
            await response.write(b" " * 64_000)
            self.sent += 64_000
        return response

    async def bomb(self, request: web.Request) -> web.StreamResponse:
        """Ten kilobytes that unpack to ten megabytes, again and again."""
        body = gzip.compress(b" " * 10 * MEGABYTE)
        headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
        return web.Response(status=int(request.query.get("status", "200")), body=body * 10, headers=headers)

    async def html(self, _request: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>Please wait</html>", content_type="text/html")

    async def deep(self, _request: web.Request) -> web.StreamResponse:
        return web.Response(text="[" * 100_000, content_type="application/json")

    async def inside(self, _request: web.Request) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": BLOCKED_URL})

    async def circle(self, request: web.Request) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": request.path})

    async def broken(self, _request: web.Request) -> web.StreamResponse:
        return web.Response(status=500, text="no")


ANSWERS: dict[str, Callable[[Hostile, web.Request], Awaitable[web.StreamResponse]]] = {
    "/hang": Hostile.hang,
    "/trickle": Hostile.trickle,
    "/huge": Hostile.huge,
    "/bomb": Hostile.bomb,
    "/html": Hostile.html,
    "/deep": Hostile.deep,
    "/inside": Hostile.inside,
    "/circle": Hostile.circle,
    "/500": Hostile.broken,
}


@asynccontextmanager
async def open_hostile() -> AsyncIterator[Hostile]:
    hostile = Hostile()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", hostile.answer)
    async with TestServer(app, host="127.0.0.1") as server:
        hostile.url = str(server.make_url("")).rstrip("/")
        yield hostile
