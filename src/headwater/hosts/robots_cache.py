"""The robots.txt of a host: requested when no worker has in a day, by the holder of the host's lease only."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any, ParamSpec, TypeVar

from headwater.hosts.decide import have_changed, is_closed, robots_read, robots_unreachable
from headwater.hosts.robots import FIRST_BYTES, Rules, origin_of, rules_of, sitemaps_in, stripped
from headwater.hosts.store import robots as store
from headwater.hosts.turns import USER_WAIT, Turn, Turns
from headwater.hosts.types import Robots
from headwater.net import Client, FetchError, FetchFailure, Response
from headwater.net.client import redirect_of
from headwater.net.responses import retry_after
from headwater.observability.log import get_logger
from headwater.types import Clock
from headwater.urls import host_of, parse_url

log = get_logger()

MOST_REDIRECTS = 5
QUICKLY_READ = 20_000  # characters: a longer robots.txt is read in a thread
# One thread for all: reading 500 kB takes a second, and several threads would leave the event loop no time.
_READER = ThreadPoolExecutor(1, thread_name_prefix="robots")
# Failures that mean that there is no robots.txt; after all others the rules are unknown.
NO_ROBOTS = frozenset({FetchFailure.REDIRECT_LOOP, FetchFailure.BLOCKED})

P = ParamSpec("P")
R = TypeVar("R")
Peek = Callable[[str], Awaitable[Response]]
Ask = Callable[..., Awaitable[Response]]


class Closed(Exception):
    """No page of an origin may be fetched, since its robots.txt cannot be read."""

    def __init__(self, robots: Robots) -> None:
        super().__init__(f"{robots.origin}/robots.txt cannot be read; until it can, no page is fetched.")
        self.robots = robots


class Disallowed(FetchError):
    """robots.txt disallows this page."""


class Gate:
    was_rate_limited = False
    asked_wait: timedelta | None = None  # its Retry-After
    reading_s = 0.0  # how long the reading of long files took, with the wait for others

    def __init__(
        self, known: Mapping[str, Robots], peek: Peek, clock: Clock, *, robot: str, crawl_delay_max: timedelta
    ) -> None:
        self._known, self._robots = known, dict(known)
        self._peek, self._clock = peek, clock
        self._robot, self._crawl_delay_max = robot, crawl_delay_max
        self._rules: dict[str, Rules] = {}  # of long files, by their text

    async def robots(self, origin: str) -> Robots:
        """The current robots.txt. Raises Closed, and FetchError when the host has no address."""
        robots = self._robots.get(origin)
        if robots is None or robots.expires_at <= self._clock():
            robots = self._robots[origin] = await self._ask(origin, robots)
        if is_closed(robots, self._clock()):
            raise Closed(robots)
        return robots

    async def allows(self, robots: Robots, url: str) -> bool:
        """Whether a robots.txt allows this URL of its origin."""
        rules = await self._parsed(robots)
        return await self._read(len(robots.body or ""), rules.allow, url)

    async def _parsed(self, robots: Robots) -> Rules:
        text = robots.body or ""
        if len(text) <= QUICKLY_READ:
            return rules_of(text, self._robot)
        if text not in self._rules:
            self._rules[text] = await self._read(len(text), rules_of, text, self._robot)
        return self._rules[text]

    async def _read(self, size: int, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a function that reads so many bytes or characters of a robots.txt."""
        if size <= QUICKLY_READ:
            return function(*args, **kwargs)
        began_at = time.monotonic()
        try:
            return await asyncio.get_running_loop().run_in_executor(_READER, partial(function, *args, **kwargs))
        finally:
            self.reading_s += time.monotonic() - began_at

    @property
    def asked(self) -> Sequence[Robots]:
        return [robots for origin, robots in self._robots.items() if robots is not self._known.get(origin)]

    @property
    def has_changed(self) -> bool:
        return any(have_changed(self._known.get(robots.origin), robots) for robots in self.asked)

    async def _ask(self, origin: str, before: Robots | None) -> Robots:
        url = f"{origin}/robots.txt"
        try:
            for _ in range(MOST_REDIRECTS + 1):
                response = await self._peek(url)
                target = redirect_of(response)
                if target is None:
                    return await self._judged(origin, before, response)
                url = target
        except FetchError as error:
            if error.kind is FetchFailure.DNS and host_of(url) == host_of(origin):
                raise
            if error.kind not in NO_ROBOTS:
                found = robots_unreachable(origin, before, None, self._clock())
                _log_unreachable(found, error_type=error.kind.value, error=error.detail)
                return found
        return robots_read(origin, None, None, self._clock())

    async def _judged(self, origin: str, before: Robots | None, response: Response) -> Robots:
        now, status = self._clock(), response.status
        if status == 429 or status >= 500:
            self.was_rate_limited |= status == 429
            self.asked_wait = retry_after(response.headers, now)
            found = robots_unreachable(origin, before, status, now, self.asked_wait)
            _log_unreachable(found, status_code=status)
            return found
        if not 200 <= status < 300:
            return robots_read(origin, None, status, now)
        text = await self._read(len(response.body), stripped, response.body)
        sitemaps = await self._read(len(text), sitemaps_in, text, origin)
        found = robots_read(origin, text, status, now, sitemaps=sitemaps)
        rules = await self._parsed(found)
        return replace(found, crawl_delay=rules.crawl_delay(self._crawl_delay_max))


def _log_unreachable(robots: Robots, **fields: object) -> None:
    log.warning("robots unreachable", origin=robots.origin, **fields, next_try=robots.expires_at.isoformat())


@dataclass(frozen=True, slots=True)
class PageRequests:
    """Pages for users, as robots.txt and their hosts allow. Without a database `turns` is None: hosts have no delay."""

    client: Client
    turns: Turns | None
    clock: Clock
    robot: str
    crawl_delay_max: timedelta
    known: dict[str, Robots] = field(default_factory=dict[str, Robots])  # without a database

    async def get(self, url: str, *, within: timedelta, **limits: Any) -> Response:  # noqa: ANN401
        """The page at the end of its redirects. Raises FetchError, Closed, HostBusy, Unavailable."""
        self.client.check(url)
        async with self.turns.borrow(wait=USER_WAIT) if self.turns else nullcontext() as turn:
            return await self.get_in(turn, turn.ask if turn else _send, url, within=within, **limits)

    async def get_in(self, turn: Turn | None, ask: Ask, url: str, *, within: timedelta, **limits: Any) -> Response:  # noqa: ANN401
        """As `get`, in a turn that is held already; `ask` sends each request in its time."""
        url = parse_url(url)
        peek = partial(ask, self.client.peek, within=within, first_bytes=FIRST_BYTES)
        known = await self._find(origin_of(url))
        gate = Gate(known, peek, self.clock, robot=self.robot, crawl_delay_max=self.crawl_delay_max)
        try:
            return await _get(partial(ask, self.client.get), gate, turn, url, within=within, **limits)
        finally:
            await self._keep(gate.asked)

    async def _find(self, origin: str) -> Mapping[str, Robots]:
        if self.turns is None:
            return self.known
        async with self.turns.database.transaction() as conn:
            return await store.find(conn, origins=[origin])

    async def _keep(self, asked: Sequence[Robots]) -> None:
        if self.turns is None:
            self.known.update({robots.origin: robots for robots in asked})
        elif asked:  # for all workers
            async with self.turns.database.transaction() as conn:
                for robots in asked:
                    await store.keep(conn, robots=robots)


async def _send(send: Ask, url: str, **more: Any) -> Response:  # noqa: ANN401
    return await send(url, **more)


async def _get(get: Ask, gate: Gate, turn: Turn | None, url: str, **limits: Any) -> Response:  # noqa: ANN401
    async def allow(address: str) -> None:
        robots = await gate.robots(origin_of(address))
        if turn is not None:
            turn.slow_down(address, robots.crawl_delay)
        if not await gate.allows(robots, address):
            raise Disallowed(address, FetchFailure.BLOCKED, f"robots.txt disallows {address}")

    async def hop(address: str, redirect: Response) -> None:
        if turn is not None:
            await turn.hop(address, redirect)
        await allow(address)
        if turn is not None:
            await turn.to(address)

    await allow(url)
    return await get(url, turn=hop, **limits)
