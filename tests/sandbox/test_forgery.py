"""An answer that was forged in a child does nothing in the parent but be refused."""

from pathlib import Path

import pytest

from headwater.sandbox import Overrun, Sandbox
from headwater.sandbox.frames import ANSWER
from tests.sandbox import work


async def test_a_forged_pickle_that_calls_os_system_is_refused_and_runs_nothing(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    forged = work.forged_answer(work.pickled_call(f"touch '{trace}'"))

    with pytest.raises(Overrun, match="refused") as caught:
        await sandbox.run(work.say_it_raw, forged)

    assert caught.value.limit == "crash"
    assert not trace.exists()
    assert await sandbox.run(abs, -1) == 1


@pytest.mark.parametrize(
    "said",
    [
        ANSWER.pack(2**60, 0, False),
        ANSWER.pack(1, 9, False) + b"\xc0",
        ANSWER.pack(1, 0, False) + b"\xc0" * 50,
        work.forged_answer(b"\xc1"),
        work.forged_answer(b"\xa4tex"),
        work.forged_answer(b"\xa4text"),
    ],
    ids=[
        "endless",
        "of an unknown kind",
        "with more behind it",
        "that is not MessagePack",
        "that is cut off",
        "of another type",
    ],
)
async def test_an_answer_that_breaks_the_rules_is_refused(sandbox: Sandbox, said: bytes) -> None:
    with pytest.raises(Overrun, match="refused"):
        await sandbox.run(work.say_it_raw, said)
