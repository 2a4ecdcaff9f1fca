"""Limits the concurrent requests of one user. Further ones wait here, without a database connection.

Without this, one user with many requests takes every connection of the pool from the others and the stages.
"""

import asyncio
from datetime import timedelta
from weakref import WeakValueDictionary

from headwater.errors import TooManyRequests
from headwater.types import UserId

CONCURRENT = 5
WAITING_MAX = 50
LONGEST_WAIT = timedelta(seconds=30)


class RequestLimiter:
    """The concurrent requests of all users of this process."""

    def __init__(
        self, *, concurrent: int = CONCURRENT, waiting_max: int = WAITING_MAX, longest_wait: timedelta = LONGEST_WAIT
    ) -> None:
        self._concurrent = concurrent
        self._waiting_max = waiting_max
        self._longest_wait = longest_wait
        self._queues: WeakValueDictionary[UserId, _UserQueue] = WeakValueDictionary()

    async def acquire(self, user_id: UserId) -> "RequestSlot":
        """Wait for a slot. Raises TooManyRequests."""
        queue = self._queues.setdefault(user_id, _UserQueue(self._concurrent))
        if queue.waiting >= self._waiting_max:
            raise TooManyRequests(self._longest_wait)
        queue.waiting += 1
        try:
            async with asyncio.timeout(self._longest_wait.total_seconds()):
                await queue.semaphore.acquire()
        except TimeoutError as error:
            raise TooManyRequests(self._longest_wait) from error
        finally:
            queue.waiting -= 1
        return RequestSlot(queue)


class RequestSlot:
    """The right to process one request, until it is released."""

    def __init__(self, queue: "_UserQueue") -> None:
        self._queue: _UserQueue | None = queue

    def release(self) -> None:
        """Let the next request begin. A second call has no effect."""
        if self._queue is not None:
            self._queue.semaphore.release()
            self._queue = None


class _UserQueue:
    def __init__(self, concurrent: int) -> None:
        self.semaphore = asyncio.Semaphore(concurrent)
        self.waiting = 0
