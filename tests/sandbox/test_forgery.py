"""An answer that was forged in a child does nothing in the parent but be refused."""

import pickle
from pathlib import Path

import pytest

from headwater.polling.types import FailureClass
from headwater.sandbox import Overrun, Sandbox
from headwater.sandbox.flatten import flatten
from headwater.sandbox.frames import ANSWER
from headwater.sandbox.rebuild import rebuild
from headwater.sandbox.types import Refused
from tests.sandbox import work


async def test_a_forged_pickle_that_calls_os_system_is_refused_and_runs_nothing(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    forged = work.forged_answer(work.ForgedCall(f"touch '{trace}'"))

    with pytest.raises(Overrun, match=r"refused.*it names posix\.system") as caught:
        await sandbox.run(work.say_it_raw, forged)

    assert caught.value.limit == "crash"
    assert not trace.exists()
    assert await sandbox.run(abs, -1) == 1


@pytest.mark.parametrize(
    "said",
    [
        ANSWER.pack(2**60, 0, False),
        ANSWER.pack(1, 9, False) + b"N",
        ANSWER.pack(1, 0, False) + b"N" * 50,
        work.forged_answer(None).replace(b"N.", b"\xff."),
        ANSWER.pack(5, 1, False) + pickle.dumps("text", 0)[:5],
    ],
    ids=["endless", "of an unknown kind", "with more behind it", "that is no pickle", "that is half a pickle"],
)
async def test_an_answer_that_breaks_the_rules_is_refused(sandbox: Sandbox, said: bytes) -> None:
    with pytest.raises(Overrun, match="refused"):
        await sandbox.run(work.say_it_raw, said)


def test_a_forged_pickle_can_not_change_a_class_or_a_member_of_ours() -> None:
    by_class = b"\x80\x05cheadwater.polling.types\nFailureClass\nN}\x8c\x01xK\x01s\x86b."
    by_member = pickle.dumps(FailureClass.GONE, 5)[:-1] + b"}\x8c\x07_value_\x8c\x01!sb."

    for forged in (by_class, by_member):
        with pytest.raises(Refused, match="it names"):
            rebuild(forged)

    assert not hasattr(FailureClass, "x")
    assert FailureClass.GONE.value == "gone"


@pytest.mark.parametrize(
    "plain",
    [
        ("dataclass", "tests.sandbox.work", "Stranger", ["x"]),
        ("dataclass", "headwater.sandbox.pool", "Sandbox", []),
        ("dataclass", "headwater.sandbox.pool", "asyncio.Semaphore", []),
        ("dataclass", "headwater.types", "UUID", []),
        ("dataclass", "headwater.__main__", "main", []),
        ("dataclass", "headwater.sandbox.frames", "Answer", [1]),
        ("dataclass", "headwater.nowhere", "Answer", [1]),
        ("enum", "headwater.polling.types", "FailureClass", "no such member"),
        ("enum", "enum", "Enum", "x"),
        ("exception", "builtins", "SystemExit", [], {}),
        ("exception", "builtins", "KeyboardInterrupt", [], {}),
        ("exception", "builtins", "eval", ["1"], {}),
        ("exception", "subprocess", "CalledProcessError", [1, "x"], {}),
        ("exception", "headwater.db.server", "subprocess.CalledProcessError", [1, "x"], {}),
        ("call", "os", "system", ["true"]),
        ("bytearray", 2**40),
        (),
        {"a": 1},
    ],
    ids=str,
)
def test_plain_data_that_names_what_may_not_come_back_is_refused(plain: object) -> None:
    with pytest.raises(Refused):
        rebuild(pickle.dumps(plain, 5))


def test_an_answer_that_doubles_at_every_level_is_refused() -> None:
    bomb: list[object] = []
    for _ in range(60):
        bomb = [bomb, bomb]

    with pytest.raises(Refused, match="more than was sent"):
        rebuild(pickle.dumps(bomb, 5))


def test_an_answer_that_is_too_deep_is_refused() -> None:
    deep = b"\x80\x05" + b"]" * 100_000 + b"a" * 99_999 + b"."

    with pytest.raises(Refused, match="RecursionError"):
        rebuild(deep)


def test_a_result_that_holds_itself_can_not_come_back() -> None:
    endless: list[object] = []
    endless.append(endless)

    with pytest.raises(RecursionError):
        flatten(endless)
