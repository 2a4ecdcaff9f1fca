"""The child process: `python -m headwater.sandbox.child SOCKET PARENT`, started by `process.py`.

Answers questions (a function and its arguments) until the parent closes the socket. The parent kills it at the time
limit; the limits set here hold when the parent is busy or gone, too.
"""

import contextlib
import ctypes
import faulthandler
import gc
import math
import os
import resource
import signal
import socket
import sys
import time
from datetime import timedelta
from importlib import import_module
from pathlib import Path

from headwater.sandbox.codec import encode, encode_error
from headwater.sandbox.frames import AnswerFrame, FrameKind, Question, receive_question, send_answer
from headwater.sandbox.types import STOP_SIGNALS, Setup

PR_SET_PDEATHSIG = 1
WRITTEN_MAX_BYTES = 1_000_000  # to any file: enough for last words on standard error
NOTHING_LEFT = AnswerFrame(FrameKind.OUT_OF_MEMORY, is_last=True)  # created in advance: no memory is left then


class MemoryGauge:
    """The size of this process. The file stays open: 2 µs for each task instead of 40."""

    def __init__(self) -> None:
        self._statm = -1
        with contextlib.suppress(OSError):  # not on macOS
            self._statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)

    def address_space(self) -> int:
        """Bytes of address space; 0 where the system does not report it, and would not enforce a limit either."""
        return self._column(0) if self._statm >= 0 else 0

    def held(self) -> int:
        """Bytes of memory in use; where the system does not report it, the peak."""
        if self._statm >= 0:
            return self._column(1)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def _column(self, number: int) -> int:
        return int(os.pread(self._statm, 100, 0).split()[number]) * resource.getpagesize()


def main() -> None:
    sock = socket.socket(fileno=int(sys.argv[1]))
    die_with_parent(int(sys.argv[2]))
    # Ctrl-C and a service's stop reach all processes: the parent drains, and needs the child.
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)  # blocked since before the start, see `process.py`
    faulthandler.enable()  # last words of a crash, in the real standard error
    sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115  for as long as the process lives
    try:
        _serve(sock)
    except OSError:
        os._exit(1)  # the parent closed the socket
    os._exit(0)  # nothing to clean up


def _serve(sock: socket.socket) -> None:
    setup: Setup = receive_question(sock).read()
    gauge = MemoryGauge()
    answer = _start(setup, gauge)
    size_at_start = gauge.held()
    while True:
        is_last = answer.is_last or gauge.held() - size_at_start > setup.growth_limit
        send_answer(sock, answer.kind, answer.body, is_last=is_last)
        if is_last:
            return
        answer = _answer(sock, setup)


def _start(setup: Setup, gauge: MemoryGauge) -> AnswerFrame:
    try:
        for module in setup.preload:
            import_module(module)
        gc.freeze()  # modules stay: collections skip them
        if size := gauge.address_space():  # this much more memory than now
            _lower(resource.RLIMIT_AS, size + setup.memory_limit)
        _lower(resource.RLIMIT_CORE, 0)
        _lower(resource.RLIMIT_FSIZE, WRITTEN_MAX_BYTES)
    except Exception as error:  # noqa: BLE001  a failed preload is reported to the caller
        return AnswerFrame(FrameKind.RAISED, encode_error(error), is_last=True)
    return AnswerFrame(FrameKind.RESULT, encode(None))


def _answer(sock: socket.socket, setup: Setup) -> AnswerFrame:
    try:
        question = receive_question(sock)
        limit_processor_time(setup.time_limit)
        return _work(question)
    except MemoryError:
        return NOTHING_LEFT


def _work(question: Question) -> AnswerFrame:
    try:
        function, args, kwargs = question.read()
        return AnswerFrame(FrameKind.RESULT, encode(function(*args, **kwargs)))
    except MemoryError:
        raise
    except BaseException as error:  # noqa: BLE001  SystemExit too: it is the function's, not ours
        return AnswerFrame(FrameKind.RAISED, encode_error(error))


def die_with_parent(parent: int) -> None:
    """End with the parent, even in C code that never returns. If the parent has died already, exit."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(0)


def limit_processor_time(limit: timedelta) -> None:
    """Limit the next task to twice its time in processor time: for a child that outlives its parent, as on macOS."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    allowed = math.ceil(time.process_time() + 2 * limit.total_seconds()) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (_at_most(allowed, most), most))


def _lower(kind: int, value: int) -> None:
    _, most = resource.getrlimit(kind)
    value = _at_most(value, most)
    resource.setrlimit(kind, (value, value))


def _at_most(value: int, most: int) -> int:
    return value if most == resource.RLIM_INFINITY else min(value, most)


if __name__ == "__main__":
    main()
