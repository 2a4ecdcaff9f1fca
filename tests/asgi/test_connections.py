"""Connections that a client holds without using them are closed."""

import asyncio
import resource
import select
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import pytest
import uvloop
from litestar import Litestar, Response, get

from headwater.asgi.connections import NetworkConnections, Progress, WatchedConnection
from headwater.server import listen, serve
from tests.headwater_process import PATIENCE_S

LARGE = 50_000_000  # bytes: more than the kernel holds for a client that does not read
LEAST = 20_000
HELD = b"GET /held HTTP/1.1\r\nHost: x\r\n\r\n"
SMALL = b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"
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
async def served(*, per_network: int = 100, proxies: Sequence[str] = ()) -> AsyncIterator[int]:
    """A server, by its port."""
    listener, stop, gate = listen("127.0.0.1", 0), asyncio.Event(), asyncio.Event()

    @get("/held")
    async def hold() -> str:
        await gate.wait()
        return "done"

    app = Litestar([send_much, wait_long, hold], openapi_config=None, logging_config=None)
    server = asyncio.create_task(
        serve(app, listener, stop, timedelta(seconds=5), per_network=per_network, proxies=proxies)
    )
    try:
        yield listener.getsockname()[1]
    finally:
        gate.set()
        stop.set()
        async with asyncio.timeout(PATIENCE_S):
            await server


def connected(port: int, sent: bytes, address: str = "127.0.0.1") -> socket.socket:
    client = socket.socket()
    client.bind((address, 0))
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


async def answer_of(client: socket.socket) -> bytes:
    """The beginning of the response; empty when the connection was closed instead."""
    client.setblocking(False)
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await asyncio.get_running_loop().sock_recv(client, 8)
    except ConnectionResetError:
        return b""


async def wait_for_answer(port: int, address: str) -> None:
    """Until a connection is not refused any more: the server notices a closed one a moment later."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with suppress(ConnectionError), connected(port, SMALL, address) as client:
                if await answer_of(client) == b"HTTP/1.1":
                    return


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_one_network_has_a_limited_number_of_connections_and_others_are_served(run: Callable[..., None]) -> None:
    async def main() -> None:
        async with served(per_network=3) as port:
            first, *others = [connected(port, HELD, "127.0.0.2") for _ in range(3)]
            with suppress(ConnectionError), connected(port, SMALL, "127.0.0.2") as fourth:
                assert await answer_of(fourth) == b""
            with connected(port, SMALL, "127.0.0.3") as other:
                assert await answer_of(other) == b"HTTP/1.1"

            first.close()
            await wait_for_answer(port, "127.0.0.2")
            for one in others:
                one.close()

    run(main())


async def test_a_trusted_proxy_has_as_many_connections_as_it_needs() -> None:
    async with served(per_network=3, proxies=["127.0.0.0/30"]) as port:
        held = [connected(port, HELD, "127.0.0.2") for _ in range(10)]
        with connected(port, SMALL, "127.0.0.2") as client:
            assert await answer_of(client) == b"HTTP/1.1"
        for one in held:
            one.close()


def test_connections_are_counted_by_network_and_forgotten_when_they_end() -> None:
    networks = NetworkConnections(most=2)
    same_network = ["2001:db8::1", "2001:db8::2", "2001:db8::3"]

    assert [networks.add(one) for one in same_network] == [True, True, False]
    assert networks.add("2001:db8:0:1::1")
    for one in same_network:
        networks.remove(one)
    assert [networks.add(one) for one in same_network] == [True, True, False]


def test_one_network_never_has_more_than_a_quarter_of_the_files_that_may_be_open() -> None:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)

    assert NetworkConnections(most=files).most == files // 4
