"""Turns at hosts for requests outside the two queues: redirects of a poll, discovery, tests by a user.

    async with turns.borrow(url, wait=…) as turn:
        response = await turn.ask(client.get, url, turn=turn.hop, …)

A borrower holds one host at a time, keeps its delay, and releases it as a claim does.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from headwater.db import Database
from headwater.errors import HostBusy
from headwater.hosts.decide import LONGEST_WAIT, delay_of, pace_after, wait_of
from headwater.hosts.store import turns as store
from headwater.hosts.types import HeldHost, Pace, Release
from headwater.ids import new_id
from headwater.net import Client, Response
from headwater.net.responses import retry_after
from headwater.types import Clock
from headwater.urls import host_of

RETRY_EVERY_S = 0.5
USER_WAIT = timedelta(seconds=5)
"""How long a user waits for a host before the response is that it is busy."""
Check = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class OwnHost:
    """A host that the borrower holds already."""

    name: str
    delay: timedelta
    lease: UUID


class Turn:
    """The host that is held now; then the next, and so on."""

    def __init__(self, turns: "Turns", wait: timedelta, own: OwnHost | None, check: Check | None) -> None:
        self._turns, self._wait, self._own = turns, wait, own
        self._check = check
        self._lease = own.lease if own else new_id()
        self._held: HeldHost | None = None
        self._robots_delays: dict[str, timedelta] = {}  # by host, read in this turn
        self._forget()

    def _forget(self) -> None:
        self._asked_at: float | None = None  # when the last request ended
        self._answered_at: datetime | None = None
        self._asked_wait: timedelta | None = None
        self._successes = 0
        self._was_rate_limited = False

    @property
    def delay(self) -> timedelta:
        """Between two requests to the host that is held."""
        return self._delay(self._held) if self._held else self._turns.delay

    async def ask(self, ask: Callable[..., Awaitable[Response]], url: str, **more: object) -> Response:
        """Send a request when the host allows it. Raises what the request raises, HostBusy, DatabaseUnavailable."""
        await self.to(url)
        try:
            response = await ask(url, **more)
        finally:
            self._asked_at = asyncio.get_running_loop().time()
        self.note(response)
        return response

    async def hop(self, url: str, redirect: Response) -> None:
        """As `to`, for the target of a redirect, after its Retry-After, which is the wait before the redirected request
        (RFC 9110, 10.2.3). Raises also what `check` raises, before anything is waited for."""
        self._asked_at = asyncio.get_running_loop().time()
        if self._check is not None:
            await self._check(url)
        now = self._turns.clock()
        asked = min(retry_after(redirect.headers, now) or timedelta(0), LONGEST_WAIT)
        if asked > self._wait:
            raise HostBusy(host_of(redirect.url), now + asked)
        await asyncio.sleep(asked.total_seconds())
        await self.to(url)

    async def to(self, url: str) -> None:
        """Hold the host of this URL, once it is free. Raises HostBusy, DatabaseUnavailable."""
        host = host_of(url)
        if self._own is not None and host == self._own.name:
            await asyncio.sleep(self._own.delay.total_seconds())
            return
        if self._held is not None and host == self._held.name and await self._stay(self._held):
            return
        await self.end()
        self._held = await self._turns.take(host, self._lease, self._wait)

    def slow_down(self, url: str, robots_delay: timedelta | None) -> None:
        """Keep the Crawl-delay that the robots.txt of this URL asks for: it is stored only after the turn."""
        if robots_delay is not None:
            self._robots_delays[host_of(url)] = robots_delay

    def note(self, response: Response) -> None:
        """Keep what the response says about the host."""
        if self._held is None or host_of(response.url) != self._held.name:
            return
        now = self._turns.clock()
        self._answered_at = now
        self._asked_wait = retry_after(response.headers, now)
        self._was_rate_limited |= response.status == 429
        self._successes += response.status < 400

    async def end(self) -> None:
        """Release the host that is held, if any. Raises DatabaseUnavailable."""
        held, self._held = self._held, None
        if held is None:
            return
        not_before = self._turns.clock() + max(self._delay(held), self._asked(held) or timedelta(0))
        release = Release(held.name, self._lease, not_before, self._pace(held), self._answered_at)
        self._forget()
        async with self._turns.database.transaction() as conn:
            await store.release(conn, release=release)

    async def _stay(self, held: HeldHost) -> bool:
        """Wait for the delay; whether the lease still holds. Raises HostBusy when the wait is too long."""
        if (asked := self._asked(held)) is not None and asked > self._wait:
            raise HostBusy(held.name, self._turns.clock() + asked)
        if self._asked_at is None:
            return True
        delay = max(self._delay(held), asked or timedelta(0))
        # Read in this turn, and longer than it waits. Once it is stored, a turn begins when it has passed.
        if self._robots_delays.get(held.name, timedelta(0)) > max(self._wait, held.robots_delay or timedelta(0)):
            raise HostBusy(held.name, self._turns.clock() + delay)
        await asyncio.sleep(self._asked_at + delay.total_seconds() - asyncio.get_running_loop().time())
        self._asked_at = None
        return await self._turns.renew(held.name, self._lease)

    def _pace(self, held: HeldHost) -> Pace:
        return pace_after(held.pace, self._successes, was_rate_limited=self._was_rate_limited)

    def _delay(self, held: HeldHost) -> timedelta:
        read = self._robots_delays.get(held.name)
        return delay_of(self._turns.delay, held.robots_delay, read, slowed=self._pace(held).slowed)

    def _asked(self, held: HeldHost) -> timedelta | None:
        return wait_of(self._asked_wait, held.pace, was_rate_limited=self._was_rate_limited)


@dataclass(frozen=True, slots=True)
class Turns:
    """Lends hosts. `delay` is the minimum for this kind of request; `lease` covers one request and its delay."""

    database: Database
    clock: Clock
    delay: timedelta = field(kw_only=True)
    lease: timedelta = field(kw_only=True)

    @asynccontextmanager
    async def borrow(
        self, url: str | None = None, *, wait: timedelta, own: OwnHost | None = None, check: Check | None = None
    ) -> AsyncIterator[Turn]:
        """Hold the host of this URL until the end of the block or a turn elsewhere; wait for it at most `wait`. Raises
        HostBusy, DatabaseUnavailable."""
        turn = Turn(self, wait, own, check)
        try:
            if url is not None:
                await turn.to(url)
            yield turn
        finally:
            await turn.end()

    async def renew(self, host: str, lease: UUID, span: timedelta | None = None) -> bool:
        """Extend a lease. Returns whether it was still held. Raises DatabaseUnavailable."""
        until = self.clock() + (span or self.lease)
        async with self.database.transaction() as conn:
            return await store.renew(conn, host=host, lease=lease, leased_until=until)

    async def take(self, host: str, lease: UUID, wait: timedelta) -> HeldHost:
        """Hold this host as soon as it is free. Raises HostBusy, at once if the wait is known to be too short."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + wait.total_seconds()
        while True:
            now = self.clock()
            async with self.database.transaction() as conn:
                held = await store.take(conn, host=host, lease=lease, now=now, leased_until=now + self.lease)
                free_at = None if held else await store.reserve(conn, host=host)
            if held is not None:
                return held
            left = ends - loop.time()
            if left <= 0 or (free_at is not None and (free_at - now).total_seconds() > left):
                raise HostBusy(host, free_at)
            soon = RETRY_EVERY_S if free_at is None else (free_at - now).total_seconds()
            await asyncio.sleep(min(max(soon, 0.01), RETRY_EVERY_S, left))


async def get_in_turn(turns: Turns | None, client: Client, url: str, **more: Any) -> Response:  # noqa: ANN401
    """`client.get`, each redirect in its turn; without a database there is no clock to wait for. Raises FetchError,
    HostBusy, DatabaseUnavailable."""
    client.check(url)
    if turns is None:
        return await client.get(url, **more)
    async with turns.borrow(wait=USER_WAIT) as turn:
        return await turn.ask(client.get, url, turn=turn.hop, **more)
