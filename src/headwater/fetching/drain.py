"""The way out: who waits is woken, and who asks is given a little longer, so that every host is given back in time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta


class CutShort(Exception):
    """A request that there was no more time for."""


class Drain:
    """Told once that no more work comes."""

    def __init__(self) -> None:
        self._begun = asyncio.Event()
        self._requests: set[asyncio.Timeout] = set()

    @property
    def has_begun(self) -> bool:
        """Whether nothing new may be begun."""
        return self._begun.is_set()

    def begin(self, patience: timedelta) -> None:
        """Begin nothing new; what is being asked for is waited for no longer than this."""
        self._begun.set()
        asyncio.get_running_loop().call_later(patience.total_seconds(), self._cut)

    async def sleep(self, seconds: float) -> None:
        """Wait, but not beyond the beginning of the drain."""
        if seconds <= 0 or self.has_begun:
            return
        try:
            async with asyncio.timeout(seconds):
                await self._begun.wait()
        except TimeoutError:
            return

    @asynccontextmanager
    async def request(self) -> AsyncIterator[None]:
        """Around a request. Raises CutShort when the drain has no more patience."""
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
