"""Connections that a client holds without using them are closed."""

import asyncio
import select
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
import uvloop
from litestar import Litestar, Response, get

from headwater.asgi.connections import Progress, WatchedConnection
from headwater.server import listen, serve
from tests.headwater_process import PATIENCE_S

LARGE = 50_000_000  # bytes: more than the kernel holds for a client that does not read
LEAST = 20_000
IDLE = Progress(3, is_answering=False, is_full=False, pauses=1, unread=0)
BUSY = IDLE._replace(is_answering=True)
FULL = BUSY._replace(is_full=True, unread=1_000_000)
SENT = FULL._replace(is_answering=False)  # all of the response waits for the client


@pytest.mark.parametrize(
    ("before", "now", "is_stuck"),
    [
        (IDLE, IDLE, True),
        (IDLE, BUSY, False),
        (BUSY, IDLE, False),
        (BUSY, BUSY, False),  # its handler takes long
        (IDLE, IDLE._replace(requests=4), False),
        (FULL, FULL, True),
        (SENT, SENT, True),
        (SENT, SENT._replace(unread=1_000_000 - LEAST + 1), True),
        (SENT, SENT._replace(unread=1_000_000 - LEAST), False),
        (FULL, FULL._replace(pauses=2), False),  # a stream: it was read, and more was sent
        (BUSY, FULL, False),
        (FULL, BUSY, False),
        (SENT, IDLE._replace(requests=4), False),
    ],
)
def test_a_connection_is_stuck_when_nothing_is_asked_or_too_little_is_read(
    before: Progress, now: Progress, *, is_stuck: bool
) -> None:
    assert now.is_stuck_since(before, LEAST) is is_stuck


@get("/large", sync_to_thread=False)
def send_much() -> Response[bytes]:
    return Response(b"x" * LARGE)


@get("/slow")
async def wait_long() -> str:
    await asyncio.sleep(3 * WatchedConnection.PERIOD_S)
    return "done"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WatchedConnection, "PERIOD_S", 0.5)


@asynccontextmanager
async def served() -> AsyncIterator[int]:
    """A server, by its port."""
    listener, stop = listen("127.0.0.1", 0), asyncio.Event()
    app = Litestar([send_much, wait_long], openapi_config=None, logging_config=None)
    server = asyncio.create_task(serve(app, listener, stop, timedelta(seconds=5)))
    try:
        yield listener.getsockname()[1]
    finally:
        stop.set()
        async with asyncio.timeout(PATIENCE_S):
            await server


def connected(port: int, sent: bytes) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    client.connect(("127.0.0.1", port))
    client.sendall(sent)
    return client


async def wait_until_closed(client: socket.socket) -> None:
    """Without reading: a client that does not read learns it by the reset."""
    poller = select.poll()
    poller.register(client, select.POLLRDHUP)
    async with asyncio.timeout(PATIENCE_S):
        while not poller.poll(0):
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize(
    "sent",
    [b"", b"GET /large HTTP/1.1\r\nHost: x\r\nX-Slow: ", b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n"],
    ids=["no request", "a part of a request", "a response that is not read"],
)
def test_a_connection_that_is_not_used_is_closed(sent: bytes, run: Callable[..., None]) -> None:
    async def main() -> None:
        async with served() as port:
            with connected(port, sent) as client:
                await wait_until_closed(client)

    run(main())


async def test_a_response_that_takes_long_to_make_is_sent() -> None:
    async with served() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        async with asyncio.timeout(PATIENCE_S):
            assert (await reader.read()).endswith(b"done")
        writer.close()
