"""The time of a turn: the host's delay between requests, and the end of the turn when Headwater stops."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta


class RequestClock:
    """The host's delay, from the end of each request to the beginning of the next, by a monotonic clock."""

    def __init__(self, delay: timedelta, earliest: float) -> None:
        self.delay = delay
        self.requests = 0
        self.last_at: datetime | None = None
        self._next = earliest

    def wait(self) -> float:
        """Seconds until the next request may be sent."""
        return self._next - time.monotonic()

    def slow_down(self, delay: timedelta | None) -> None:
        """The host asks for at least this delay from now on."""
        if delay is not None and delay > self.delay:
            self._next += (delay - self.delay).total_seconds() if self.requests else 0
            self.delay = delay

    def has_asked(self, now: datetime) -> None:
        self._next = max(self._next, time.monotonic() + self.delay.total_seconds())
        self.last_at = now
        self.requests += 1


class CutShort(Exception):
    """A request that was cancelled because Headwater stops."""


class Drain:
    """The stop of a fetcher: waits end at once, and requests within a time, so that every host is released."""

    def __init__(self) -> None:
        self._begun = asyncio.Event()
        self._requests: set[asyncio.Timeout] = set()

    @property
    def has_begun(self) -> bool:
        return self._begun.is_set()

    def begin(self, within: timedelta) -> None:
        """Start nothing new; requests under way have this time left."""
        self._begun.set()
        asyncio.get_running_loop().call_later(within.total_seconds(), self._cut)

    async def sleep(self, seconds: float) -> None:
        """Wait, at most until the drain begins."""
        if seconds > 0 and not self.has_begun:
            try:
                async with asyncio.timeout(seconds):
                    await self._begun.wait()
            except TimeoutError:
                return

    @asynccontextmanager
    async def request(self) -> AsyncIterator[None]:
        """Around a request. Raises CutShort when its time is over."""
        try:
            async with asyncio.timeout(None) as limit:
                self._requests.add(limit)
                try:
                    yield
                finally:
                    self._requests.discard(limit)
        except TimeoutError as error:
            raise CutShort from error

    def _cut(self) -> None:
        for limit in self._requests:
            limit.reschedule(asyncio.get_running_loop().time())
