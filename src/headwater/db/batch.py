"""Many small writes as few large ones: items added during a write go with the next."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from headwater.errors import Deadlock, HeadwaterError

GATHER_S = 0.02  # wait for more items: a transaction for many costs little more than one for a few

Item = TypeVar("Item")
Result = TypeVar("Result")


class WriteBatch(Generic[Item, Result]):
    """Collects items for a function that writes many in one transaction; `lanes` transactions at a time."""

    def __init__(
        self, write: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]], *, most: int, lanes: int = 1
    ) -> None:
        self._write = write
        self._most = most
        self._free_lanes = lanes
        self._waiting: list[tuple[Item, asyncio.Future[Result]]] = []
        self._writing: set[asyncio.Task[None]] = set()

    async def add(self, item: Item) -> Result:
        """The result of this item once it is written. Raises what writing it raised."""
        written: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, written))
        if self._free_lanes:
            self._free_lanes -= 1
            lane = asyncio.create_task(self._write_all())
            self._writing.add(lane)
            lane.add_done_callback(self._writing.discard)
        return await written

    async def _write_all(self) -> None:
        """In a task of its own: the caller that started it may be cancelled."""
        try:
            while self._waiting:
                if len(self._waiting) < self._most:
                    await asyncio.sleep(GATHER_S)
                taken, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
                if taken:  # else another lane took them
                    await self._write_some(taken)
        finally:
            self._free_lanes += 1

    async def _write_some(self, taken: Sequence[tuple[Item, asyncio.Future[Result]]]) -> None:
        items = [item for item, _ in taken]
        try:
            try:
                results = await self._write(items)
            except Deadlock:  # the other transaction has ended now
                results = await self._write(items)
            for (_, written), result in zip(taken, results, strict=True):
                if not written.done():
                    written.set_result(result)
        except HeadwaterError as error:
            self._fail(taken, error)
        except asyncio.CancelledError as error:
            self._fail(taken, error)
            raise
        except Exception as error:  # noqa: BLE001  one bad item must not fail the others
            if len(taken) == 1:
                self._fail(taken, error)
                return
            for pair in taken:
                await self._write_some([pair])

    def _fail(self, taken: Sequence[tuple[Item, asyncio.Future[Result]]], error: BaseException) -> None:
        for _, written in taken:
            if not written.done():
                written.set_exception(error)
