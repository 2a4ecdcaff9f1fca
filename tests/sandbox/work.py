"""What the tests have done in a sandbox: functions that a child can import, good ones and bad ones."""

import ctypes
import os
import pickle
import re
import socket
import stat
import sys
import time
from pathlib import Path

from headwater.errors import InvalidUrl
from headwater.sandbox.frames import ANSWER, FrameKind

_kept: list[bytearray] = []


class StrangeError(Exception):
    """Not of headwater, so it does not come back as itself."""


class ForgedCall:
    """Unpickled by a careless parent, it runs a command."""

    def __init__(self, command: str) -> None:
        self._command = command

    def __reduce__(self) -> tuple[object, ...]:
        return os.system, (self._command,)


def echo(value: object, *, wait: float = 0) -> object:
    time.sleep(wait)
    return value


def loop_in_c() -> int:
    return sum(range(10**12))


def wait_with(body: bytes) -> int:
    time.sleep(600)
    return len(body)


def leave_it(body: bytes) -> int:
    return wait_with(body)


def exit_at_once(code: int) -> None:
    os._exit(code)


def exit_with(body: bytes) -> None:
    os._exit(len(body) % 7)


def match_for_ever() -> bool:
    return re.match(r"(a+)+$", "a" * 64 + "b") is not None


def fill_memory() -> int:
    return len([bytes(1_000_000) for _ in range(5_000)])


def leak(size: int) -> int:
    _kept.append(bytearray(os.urandom(1) * size))
    return os.getpid()


def touch_nothing() -> None:
    ctypes.string_at(0)


def die_of(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(10)


def raise_ours() -> None:
    raise InvalidUrl("gopher://x", "wrong scheme")


def raise_strange() -> None:
    raise StrangeError("odd")


def raise_missing() -> None:
    Path("/does/not/exist").read_bytes()


def has_imported(name: str) -> bool:
    return name in sys.modules


def started_at_and_ended_at(lasts: float) -> tuple[float, float]:
    start = time.monotonic()
    time.sleep(lasts)
    return start, time.monotonic()


def open_sockets() -> list[int]:
    return [number for number in range(512) if _is_socket(number)]


def say_it_raw(data: bytes) -> None:
    """Speak to the parent past all our code, as code that took over the child could."""
    (descriptor,) = open_sockets()
    socket.socket(fileno=os.dup(descriptor)).sendall(data)
    time.sleep(10)


def pickled_call(command: str) -> bytes:
    return pickle.dumps(ForgedCall(command), 5)


def forged_answer(body: bytes) -> bytes:
    return ANSWER.pack(len(body), FrameKind.RESULT, False) + body


def _is_socket(number: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError:
        return False
