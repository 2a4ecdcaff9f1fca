"""Who gets a process when: order, concurrency, cancellation, replacement, closing."""

import asyncio
import gc
import os
import random
import signal
import sys
import tracemalloc
from contextlib import suppress

import pytest

from headwater.sandbox import Overrun, Sandbox, SandboxClosed
from tests.sandbox import work
from tests.sandbox.conftest import new_sandbox
from tests.sandbox.processes import ends, is_running


async def test_callers_are_served_in_the_order_in_which_they_came(single: Sandbox) -> None:
    served: list[int] = []

    async def call(number: int) -> None:
        await single.run(abs, number)
        served.append(number)

    await asyncio.gather(*(call(number) for number in range(20)))

    assert served == list(range(20))


async def test_as_many_tasks_run_at_once_as_there_are_processes_and_no_more(sandbox: Sandbox) -> None:
    await asyncio.gather(*(sandbox.run(work.echo, None, wait=0.05) for _ in range(2)))

    times = await asyncio.gather(*(sandbox.run(work.started_at_and_ended_at, 0.5) for _ in range(6)))

    at_once = [sum(start <= moment < end for start, end in times) for moment, _ in times]
    assert max(at_once) == 2


async def test_a_cancelled_caller_ends_the_work_at_once(single: Sandbox) -> None:
    pid = await single.run(os.getpid)
    call = asyncio.create_task(single.run(work.loop_in_c))
    await asyncio.sleep(0.02)

    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert await ends(pid)
    assert await single.run(work.echo, "next") == "next"


async def test_a_caller_cancelled_in_the_queue_costs_no_process(single: Sandbox) -> None:
    pid = await single.run(os.getpid)
    first = asyncio.create_task(single.run(work.echo, 1, wait=0.5))
    second = asyncio.create_task(single.run(work.echo, 2))
    await asyncio.sleep(0.02)

    second.cancel()

    assert await first == 1
    assert await single.run(os.getpid) == pid


async def test_no_answer_goes_to_another_caller_however_many_are_cancelled(sandbox: Sandbox) -> None:
    chance = random.Random(7)

    async def call(number: int) -> bool:
        try:
            async with asyncio.timeout(chance.random() / 4 if number % 10 == 0 else 300):
                return await sandbox.run(work.echo, number, wait=chance.random() / 500) == number
        except TimeoutError:
            return True

    assert all(await asyncio.gather(*(call(number) for number in range(300))))


async def test_a_process_is_replaced_after_its_number_of_tasks() -> None:
    async with new_sandbox(processes=1, tasks_per_process=2) as sandbox:
        pids = [await sandbox.run(os.getpid) for _ in range(5)]

        assert [pids.index(pid) for pid in pids] == [0, 0, 2, 2, 4]
        assert await ends(pids[0])


async def test_a_process_that_keeps_memory_is_replaced() -> None:
    async with new_sandbox(processes=1, memory_limit=80_000_000) as sandbox:
        first = await sandbox.run(work.leak, 1_000)
        second = await sandbox.run(work.leak, 30_000_000)
        third = await sandbox.run(work.leak, 1_000)

    assert first == second != third


async def test_a_process_that_died_while_idle_is_replaced_unnoticed(single: Sandbox) -> None:
    pid = await single.run(os.getpid)
    os.kill(pid, signal.SIGKILL)
    while single._idle[0].is_fit:
        await asyncio.sleep(0.01)

    assert await single.run(os.getpid) != pid


async def test_each_of_many_crashes_at_once_is_raised_to_its_caller() -> None:
    async with new_sandbox(processes=4) as sandbox:
        calls = (sandbox.run(work.exit_at_once, code) for code in range(1, 21))
        ends = await asyncio.gather(*calls, return_exceptions=True)

    assert [str(end) for end in ends] == [f"Its process ended by itself, with exit code {n}." for n in range(1, 21)]


async def test_warm_processes_start_before_the_first_call_and_are_replaced_at_once() -> None:
    async with new_sandbox(warm=True, preload=["html.parser"]) as sandbox:
        assert len(sandbox._idle) == 2

        assert await sandbox.run(work.has_imported, "html.parser")
        with pytest.raises(Overrun, match="exit code"):
            await sandbox.run(work.exit_at_once, 1)

        assert len(sandbox._idle) == 2


async def test_closing_waits_for_no_task_and_leaves_no_process_whatever_is_under_way() -> None:
    async with new_sandbox() as sandbox:
        pids = {*await asyncio.gather(*(sandbox.run(work.leak, 1) for _ in range(20)))}
        calls = [asyncio.create_task(sandbox.run(work.loop_in_c)) for _ in range(5)]
        await asyncio.sleep(0.05)

    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(result) for result in results] == [SandboxClosed] * 5
    assert not any(is_running(pid) for pid in pids)


@pytest.mark.parametrize("function", [len, work.wait_with, work.exit_with, int, work.leave_it])
async def test_no_body_is_kept_after_a_call_however_it_ended(hasty: Sandbox, function) -> None:
    body = bytes(100_000)
    gc.collect()
    gc.disable()
    before = sys.getrefcount(body)

    with suppress(Exception):
        async with asyncio.timeout(0.1 if function is work.leave_it else 300):
            await hasty.run(function, body)
    await asyncio.sleep(0)

    gc.enable()
    assert sys.getrefcount(body) == before


async def test_the_parent_keeps_nothing_of_past_calls(sandbox: Sandbox) -> None:
    async def calls(count: int) -> int:
        for number in range(count):
            await sandbox.run(work.echo, {"number": number})
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    before = await calls(200)
    after = await calls(1_000)
    tracemalloc.stop()

    assert after - before < 50_000
