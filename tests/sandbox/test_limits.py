"""A task that exceeds a limit is killed, its caller gets an Overrun, and others continue."""

import asyncio
import os
import signal
import sys
from datetime import timedelta

import pytest

from headwater.sandbox import Overrun, Sandbox
from tests.sandbox import work
from tests.sandbox.conftest import new_sandbox
from tests.sandbox.processes import ends

enforced = pytest.mark.skipif(sys.platform == "darwin", reason="macOS enforces no limit on memory")


@pytest.mark.parametrize("function", [work.loop_in_c, work.match_for_ever])
async def test_c_code_that_never_returns_is_killed_at_the_time_limit(hasty: Sandbox, function) -> None:
    pid = await hasty.run(os.getpid)

    with pytest.raises(Overrun, match=r"not done after 2 s") as caught:
        await hasty.run(function)

    assert caught.value.limit == "time"
    assert await ends(pid)


@enforced
@pytest.mark.parametrize(("function", "args"), [(bytearray, (10**10,)), (work.fill_memory, ())])
async def test_a_task_that_needs_too_much_memory_raises_overrun(sandbox: Sandbox, function, args) -> None:
    with pytest.raises(Overrun, match="more than 512 MB") as caught:
        await sandbox.run(function, *args)

    assert caught.value.limit == "memory"


@enforced
async def test_a_body_that_does_not_fit_is_a_memory_overrun() -> None:
    async with new_sandbox(processes=1, memory_limit=20_000_000) as sandbox:
        with pytest.raises(Overrun) as caught:
            await sandbox.run(len, bytes(30_000_000))

        assert caught.value.limit == "memory"
        assert await sandbox.run(abs, -1) == 1


@pytest.mark.parametrize(
    ("function", "args", "limit", "reason"),
    [
        (work.exit_at_once, (3,), "crash", "exit code 3"),
        (work.touch_nothing, (), "crash", "SIGSEGV"),
        (os.abort, (), "crash", "SIGABRT"),
        (work.die_of, (int(signal.SIGKILL),), "memory", "killed by the system"),
        (work.die_of, (int(signal.SIGXCPU),), "time", "not done after"),
    ],
    ids=["exit", "segfault", "abort", "out of memory", "out of processor time"],
)
async def test_the_error_of_a_process_that_died_names_the_cause(
    sandbox: Sandbox, function, args, limit, reason
) -> None:
    with pytest.raises(Overrun, match=reason) as caught:
        await sandbox.run(function, *args)

    assert caught.value.limit == limit
    assert caught.value.reason == str(caught.value)


async def test_a_crash_leaves_a_note_of_where_it_was(sandbox: Sandbox) -> None:
    with pytest.raises(Overrun) as caught:
        await sandbox.run(work.touch_nothing)

    assert "in touch_nothing" in caught.value.__notes__[0]


async def test_those_who_wait_behind_an_overrun_get_their_answers(hasty: Sandbox) -> None:
    calls = [hasty.run(work.echo, None, wait=600), *(hasty.run(work.echo, number) for number in range(5))]

    first, *others = await asyncio.gather(*calls, return_exceptions=True)

    assert isinstance(first, Overrun)
    assert others == [0, 1, 2, 3, 4]


async def test_starting_does_not_count_towards_the_time_limit() -> None:
    async with new_sandbox(time_limit=timedelta(seconds=2), preload=["tests.sandbox.slow_to_import"]) as sandbox:
        assert await sandbox.run(abs, -1) == 1
