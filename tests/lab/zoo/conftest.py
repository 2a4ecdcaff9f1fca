"""A zoo whose clock the test moves, and a client that can reach nothing but it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import aiohttp
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from headwater_lab.zoo import DOMAIN, Zoo

LOOPBACK = "127.0.0.1"


@dataclass
class MovedClock:
    """Stands still until a test moves it."""

    now: float = 1_767_225_600.0  # 2026-01-01

    def __call__(self) -> float:
        return self.now


class ZooResolver(AbstractResolver):
    """Knows the hosts of the zoo and no others."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        if host != DOMAIN and not host.endswith((f".{DOMAIN}", ".localhost")):
            raise OSError(f"no such host: {host}")
        return [ResolveResult(hostname=host, host=LOOPBACK, port=port, family=family, proto=0, flags=0)]

    async def close(self) -> None:
        """Holds nothing."""


def loopback_socket(info: tuple[int, int, int, str, tuple[str | int, ...]]) -> socket.socket:
    """Some faults redirect into private networks: the client must not be able to reach them."""
    family, kind, protocol, _, address = info
    if address[0] != LOOPBACK:
        raise PermissionError(f"a zoo test tried to leave the zoo: {address[0]}")
    return socket.socket(family, kind, protocol)


def zoo_client() -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(resolver=ZooResolver(), socket_factory=loopback_socket, limit=0)
    return aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=60))


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(60_000):
        if holds():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("waited five minutes in vain")


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


@pytest.fixture
async def zoo(clock: MovedClock) -> AsyncIterator[Zoo]:
    async with Zoo(clock=clock) as opened:
        yield opened


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with zoo_client() as session:
        yield session
