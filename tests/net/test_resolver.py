"""Lookups of names: slow ones do not delay others, and none leads to a blocked address."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from threading import Event
from typing import Any

import pytest

from headwater.net import Client, FetchError
from headwater.net.guard import BlockedAddress
from headwater.net.resolver import MOST_LOOKUPS, Resolver
from headwater.settings import Settings
from tests.net.raw_site import a_raw_site, answer


@pytest.fixture
def slow_dns(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A DNS that does not answer for names beginning with `slow` until the test ends, and resolves all others."""
    is_over = Event()

    def getaddrinfo(host: str, port: int, *_: object, **__: object) -> list[tuple[Any, ...]]:
        if host.startswith("slow"):
            is_over.wait(300)
            raise socket.gaierror(socket.EAI_AGAIN, "no answer")
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield
    is_over.set()


@asynccontextmanager
async def asking_in_vain(client: Client, names: int) -> AsyncIterator[None]:
    """So many requests that wait for their names meanwhile."""

    async def ask(number: int) -> None:
        with suppress(FetchError):
            await client.get(f"http://slow{number}.test/", within=timedelta(seconds=20), max_bytes=1_000)

    tasks = [asyncio.create_task(ask(number)) for number in range(names)]
    await asyncio.sleep(0.1)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.usefixtures("slow_dns")
async def test_names_that_are_slow_hold_up_no_others() -> None:
    async with (
        Client(user_agent="Test/1", allow_loopback=True) as client,
        a_raw_site({"/": answer("200 OK", body=b"<rss/>")}) as site,
        asking_in_vain(client, names=60),
    ):
        url = site.replace("127.0.0.1", "quick.test")
        response = await client.get(url, within=timedelta(seconds=60), max_bytes=1_000)

    assert response.body == b"<rss/>"


def test_there_is_room_for_as_many_lookups_as_polls_can_be_under_way() -> None:
    (most,) = (part.le for part in Settings.model_fields["poll_concurrency"].metadata if hasattr(part, "le"))

    assert most < MOST_LOOKUPS


@pytest.mark.parametrize(("address", "scope"), [("fe80::1", 2), ("fe80::1%lo", 2), ("2606:4700::1111", 1)], ids=str)
async def test_an_address_bound_to_one_network_is_never_given(
    address: str, scope: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = (socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, 80, 0, scope))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [info])

    with pytest.raises(BlockedAddress, match="bound to one network"):
        await Resolver({}, allow_loopback=True).resolve("bound.test", 80)
