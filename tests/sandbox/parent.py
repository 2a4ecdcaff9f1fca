# ruff: noqa: T201  a program that prints
"""A program with a sandbox, for tests that kill it or press Ctrl-C: `python -m tests.sandbox.parent busy|stopped`."""

import asyncio
import os
import signal
import sys
from datetime import timedelta

from headwater.sandbox import Sandbox
from tests.sandbox import work


async def main() -> None:
    async with Sandbox(processes=2, time_limit=timedelta(seconds=60), memory_limit=512_000_000) as sandbox:
        await (busy(sandbox) if sys.argv[1] == "busy" else stopped(sandbox))


async def busy(sandbox: Sandbox) -> None:
    """One child works in C for ever, one waits; tell their ids."""
    pids = await asyncio.gather(*(sandbox.run(work.leak, 1) for _ in range(2)))
    call = asyncio.create_task(sandbox.run(work.loop_in_c))
    await asyncio.sleep(0.05)
    print(*pids, flush=True)
    await call


async def stopped(sandbox: Sandbox) -> None:
    """Get a stop signal while a child starts and while it works, and drain."""
    received: asyncio.Queue[int] = asyncio.Queue()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, received.put_nowait, number)
    for moment in ("starting", "working"):
        call = asyncio.create_task(sandbox.run(work.echo, os.getpid(), wait=0.25))
        await asyncio.sleep(0)
        print(moment, flush=True)
        for _ in (signal.SIGINT, signal.SIGTERM):  # the test may be late to send them
            await received.get()
        print(await call, flush=True)


asyncio.run(main())
