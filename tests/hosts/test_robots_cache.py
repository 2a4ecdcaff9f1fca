"""A long robots.txt takes a second to read: the event loop goes on meanwhile, and only one is read at a time."""

import asyncio
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from multidict import CIMultiDict

from headwater.hosts import robots_cache as module
from headwater.hosts.robots import Rules
from headwater.hosts.robots_cache import QUICKLY_READ, Gate
from headwater.net import Response
from tests.clock import MovableClock

LINES = [b"User-agent: *\n", *(b"Allow: /%d*a*b$\n" % number for number in range(5_000)), b"Disallow: /private\n"]
LONG, SHORT = b"".join(LINES), LINES[0] + LINES[-1]


class Called:
    """Which functions read a robots.txt, in the order of their calls, and in which threads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        self.threads: set[int] = set()
        for owner, name in ((module, "stripped"), (module, "sitemaps_in"), (module, "rules_of"), (Rules, "allow")):
            monkeypatch.setattr(owner, name, self._noted(name, getattr(owner, name)))

    def _noted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any) -> Any:
            self.names.append(name)
            self.threads.add(threading.get_ident())
            return function(*args)

        return noted


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Called:
    return Called(monkeypatch)


def a_gate(body: bytes) -> Gate:
    async def peek(url: str) -> Response:
        return Response(url, 200, CIMultiDict(), body)

    return Gate({}, peek, MovableClock(), robot="headwater", crawl_delay_max=timedelta(seconds=30))


async def allowed(gate: Gate, origin: str) -> list[bool]:
    robots = await gate.robots(origin)
    return [await gate.allows(robots, f"{origin}/{path}") for path in ("a", "private")]


async def test_many_long_files_are_read_in_one_thread_that_is_not_the_event_loop_s(called: Called) -> None:
    assert len(LONG) > QUICKLY_READ
    gates = [a_gate(LONG) for _ in range(8)]

    found = await asyncio.gather(*(allowed(gate, f"https://h{n}.example") for n, gate in enumerate(gates)))

    assert found == [[True, False]] * 8
    assert len(called.threads) == 1
    assert threading.get_ident() not in called.threads
    assert all(gate.reading_s > 0 for gate in gates)


async def test_a_long_file_is_parsed_once_for_all_urls_of_a_turn(called: Called) -> None:
    gate = a_gate(LONG)

    assert [await allowed(gate, "https://a.example") for _ in range(3)] == [[True, False]] * 3

    assert called.names.count("rules_of") == 1


async def test_a_short_file_is_read_at_once(called: Called) -> None:
    gate = a_gate(SHORT)

    assert await allowed(gate, "https://a.example") == [True, False]

    assert called.threads == {threading.get_ident()}
    assert gate.reading_s == 0
