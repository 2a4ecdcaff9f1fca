"""The sandbox on asyncio's own event loop and on uvloop."""

import asyncio
import os
import time
from collections.abc import Callable, Coroutine
from datetime import timedelta

import pytest
import uvloop

from headwater.sandbox import Overrun
from tests.sandbox import work
from tests.sandbox.conftest import new_sandbox

Run = Callable[[Coroutine[None, None, None]], None]
either_loop = pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])


@either_loop
def test_bodies_overruns_crashes_and_cancellation_work_on_either_loop(run: Run) -> None:
    run(a_bit_of_everything())


@either_loop
def test_an_answer_in_time_counts_even_when_our_own_loop_is_late(run: Run) -> None:
    run(a_late_loop())


async def a_bit_of_everything() -> None:
    body = os.urandom(3_000_000)
    async with new_sandbox() as sandbox:
        assert await asyncio.gather(*(sandbox.run(bytes.hex, body) for _ in range(3))) == [body.hex()] * 3
        with pytest.raises(Overrun, match="exit code"):
            await sandbox.run(work.exit_at_once, 1)
        in_flight = asyncio.create_task(sandbox.run(work.loop_in_c))
        await asyncio.sleep(0.01)
        in_flight.cancel()
        assert await sandbox.run(abs, -1) == 1
    async with new_sandbox(processes=1, time_limit=timedelta(seconds=0.5)) as sandbox:
        with pytest.raises(Overrun, match="not done"):
            await sandbox.run(work.loop_in_c)


async def a_late_loop() -> None:
    async with new_sandbox(processes=1, time_limit=timedelta(seconds=2)) as sandbox:
        await sandbox.run(abs, 1)
        call = asyncio.create_task(sandbox.run(work.echo, "in time"))
        await asyncio.sleep(0)

        time.sleep(2.1)  # noqa: ASYNC251  the loop stands still for longer than the limit

        assert await call == "in time"
