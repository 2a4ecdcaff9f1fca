import asyncio
from collections.abc import Sequence

import pytest

from headwater.db import WriteBatch
from headwater.db.batch import GATHER_S
from headwater.errors import DatabaseUnavailable, Deadlock


class Book:
    """Writes numbers with a delay, and keeps the batches."""

    def __init__(self, *, fails_on: int | None = None, error: Exception | None = None) -> None:
        self.batches: list[list[int]] = []
        self._fails_on = fails_on
        self._error = error or ZeroDivisionError()

    async def write(self, numbers: Sequence[int]) -> Sequence[int]:
        await asyncio.sleep(0.01)
        if self._fails_on in numbers:
            raise self._error
        self.batches.append(list(numbers))
        return [number * 10 for number in numbers]


async def test_who_comes_while_a_write_is_under_way_goes_with_the_next() -> None:
    book = Book()
    batch = WriteBatch[int, int](book.write, most=100)

    results = await asyncio.gather(*(batch.add(number) for number in range(20)))

    assert results == [number * 10 for number in range(20)]
    assert [number for numbers in book.batches for number in numbers] == list(range(20))
    assert len(book.batches) <= 2


async def test_who_comes_a_moment_after_the_first_goes_with_it() -> None:
    book = Book()
    batch = WriteBatch[int, int](book.write, most=100, lanes=2)

    async def add_later(number: int) -> int:
        await asyncio.sleep(0.0002 * number)
        return await batch.add(number)

    await asyncio.gather(*(add_later(number) for number in range(5)))

    assert len(book.batches) < 5


async def test_no_batch_is_larger_than_allowed() -> None:
    book = Book()
    batch = WriteBatch[int, int](book.write, most=7)

    await asyncio.gather(*(batch.add(number) for number in range(20)))

    assert max(len(numbers) for numbers in book.batches) == 7


async def test_one_bad_item_does_not_take_the_others_with_it() -> None:
    batch = WriteBatch[int, int](Book(fails_on=3).write, most=100)

    results = await asyncio.gather(*(batch.add(number) for number in range(6)), return_exceptions=True)

    assert [result for result in results if isinstance(result, int)] == [0, 10, 20, 40, 50]
    assert isinstance(results[3], ZeroDivisionError)


async def test_an_outage_fails_all_items_without_retrying_each() -> None:
    book = Book(fails_on=3, error=DatabaseUnavailable("away"))
    batch = WriteBatch[int, int](book.write, most=100)

    results = await asyncio.gather(*(batch.add(number) for number in (3, 4, 5)), return_exceptions=True)

    assert isinstance(results[0], DatabaseUnavailable)
    assert await batch.add(7) == 70


@pytest.mark.parametrize("leaver", [0, 3])
async def test_a_caller_that_leaves_does_not_disturb_the_others(leaver: int) -> None:
    batch = WriteBatch[int, int](Book().write, most=100)
    tasks = [asyncio.create_task(batch.add(number)) for number in range(5)]
    await asyncio.sleep(GATHER_S + 0.005)

    tasks[leaver].cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)

    assert [results[number] for number in range(5) if number != leaver] == [
        number * 10 for number in range(5) if number != leaver
    ]
    with pytest.raises(asyncio.CancelledError):
        tasks[leaver].result()


@pytest.mark.parametrize("leaver", [0, 3])
async def test_what_its_bringer_no_longer_waits_for_is_written_all_the_same(leaver: int) -> None:
    book = Book()
    batch = WriteBatch[int, int](book.write, most=100)
    tasks = [asyncio.create_task(batch.add(number)) for number in range(5)]
    await asyncio.sleep(GATHER_S + 0.005)

    tasks[leaver].cancel()
    await asyncio.wait(tasks)

    assert sorted(number for numbers in book.batches for number in numbers) == list(range(5))


async def test_nothing_is_never_written() -> None:
    book = Book()
    batch = WriteBatch[int, int](book.write, most=3, lanes=2)

    await asyncio.gather(*(batch.add(number) for number in range(20)))

    assert min(len(numbers) for numbers in book.batches) > 0


async def test_as_many_writes_are_under_way_as_there_are_lanes() -> None:
    under_way, most = 0, 0

    async def write(numbers: Sequence[int]) -> Sequence[int]:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.001)
        under_way -= 1
        return numbers

    batch = WriteBatch[int, int](write, most=3, lanes=2)

    results = await asyncio.gather(*(batch.add(number) for number in range(20)))

    assert results == list(range(20))
    assert most == 2


async def test_who_was_undone_for_another_tries_again_at_once() -> None:
    book, undone = Book(), [Deadlock("two waited for each other")]

    async def write(numbers: Sequence[int]) -> Sequence[int]:
        if undone:
            raise undone.pop()
        return await book.write(numbers)

    results = await asyncio.gather(*(WriteBatch[int, int](write, most=100).add(number) for number in (1,)))

    assert results == [10]
    assert book.batches == [[1]]
