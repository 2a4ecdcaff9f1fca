"""A few requests of one user are worked on at a time. Further ones wait here, where waiting takes no connection.

Without this, one user with many requests at once takes every connection of the pool from the others and the stages.
"""

import asyncio
from datetime import timedelta
from weakref import WeakValueDictionary

from headwater.errors import TooManyRequests
from headwater.types import UserId

AT_ONCE = 5
WAITING_MAX = 50
LONGEST_WAIT = timedelta(seconds=30)


class Turns:
    """The requests of all users of this process."""

    def __init__(
        self, *, at_once: int = AT_ONCE, waiting_max: int = WAITING_MAX, longest_wait: timedelta = LONGEST_WAIT
    ) -> None:
        self._at_once = at_once
        self._waiting_max = waiting_max
        self._longest_wait = longest_wait
        self._queues: WeakValueDictionary[UserId, _Queue] = WeakValueDictionary()

    async def take(self, user_id: UserId) -> "Turn":
        """Wait for a turn. Raises TooManyRequests."""
        queue = self._queues.setdefault(user_id, _Queue(self._at_once))
        if queue.waiting >= self._waiting_max:
            raise TooManyRequests(self._longest_wait)
        queue.waiting += 1
        try:
            async with asyncio.timeout(self._longest_wait.total_seconds()):
                await queue.free.acquire()
        except TimeoutError as error:
            raise TooManyRequests(self._longest_wait) from error
        finally:
            queue.waiting -= 1
        return Turn(queue)


class Turn:
    """The right to be worked on, until it is ended."""

    def __init__(self, queue: "_Queue") -> None:
        self._queue: _Queue | None = queue

    def end(self) -> None:
        """Let the next request begin. To end it twice does nothing."""
        if self._queue is not None:
            self._queue.free.release()
            self._queue = None


class _Queue:
    def __init__(self, at_once: int) -> None:
        self.free = asyncio.Semaphore(at_once)
        self.waiting = 0
