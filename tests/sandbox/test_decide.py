"""How the end of a process is reported."""

import signal
from datetime import timedelta

import pytest

from headwater.sandbox.decide import cause_of_death, forged
from headwater.sandbox.types import Setup, TaskRefused

SETUP = Setup(timedelta(seconds=10), 512_000_000, 128_000_000)


@pytest.mark.parametrize(
    ("return_code", "last_words", "limit", "reason"),
    [
        (
            -signal.SIGABRT,
            b"memory allocation of 4096 bytes failed\n",
            "memory",
            "It needed more than 512 MB of memory.",
        ),
        (-signal.SIGABRT, b"what():  std::bad_alloc\n", "memory", "It needed more than 512 MB of memory."),
        (1, b"MemoryError\n", "memory", "It needed more than 512 MB of memory."),
        (1, b"fatal: out of memory\n", "memory", "It needed more than 512 MB of memory."),
        (-signal.SIGABRT, b"free(): invalid pointer\n", "crash", "Its process died of SIGABRT."),
        (-signal.SIGXCPU, b"", "time", "It was not done after 10 s, and was killed."),
        (-signal.SIGKILL, b"", "memory", "Its process was killed by the system, as happens when memory runs out."),
        (-signal.SIGSEGV, b"", "crash", "Its process died of SIGSEGV."),
        (-63, b"", "crash", "Its process died of signal 63."),
        (0, b"", "crash", "Its process ended by itself, with exit code 0."),
        (1, b"", "crash", "Its process ended by itself, with exit code 1."),
    ],
)
def test_a_death_is_put_down_to_its_limit(return_code: int, last_words: bytes, limit: str, reason: str) -> None:
    cause = cause_of_death(return_code, last_words, SETUP)

    assert (cause.limit, cause.reason) == (limit, reason)


@pytest.mark.parametrize(("size", "kept"), [(199, 199), (200, 200), (201, 200)])
def test_an_invalid_answer_is_quoted_in_short(size: int, kept: int) -> None:
    cause = forged(TaskRefused("x" * size))

    assert (cause.limit, cause.reason) == ("crash", f"Its answer was refused: {'x' * kept}.")
