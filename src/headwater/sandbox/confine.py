"""In the child: limits of the process, enforced by the kernel.

The parent's clock kills at the time limit. What is set here holds when the parent is busy, or gone.
"""

import contextlib
import ctypes
import math
import os
import resource
import signal
import sys
import time
from datetime import timedelta

from headwater.sandbox.types import STOP_SIGNALS

PR_SET_PDEATHSIG = 1
WRITTEN_MAX_BYTES = 1_000_000  # to any file: enough for last words on standard error


def die_with_parent(parent: int) -> None:
    """End with the parent, even in C code that never returns. If the parent has died already, exit."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(0)


def leave_stopping_to_parent() -> None:
    """Ctrl-C goes to all of a terminal, a service's stop to all its processes; the parent drains, and needs us."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)  # blocked since before the start, see `spawn.py`


def limit_resources(memory: int, gauge: "MemoryGauge") -> None:
    """So much memory more than now, no core files, no big files."""
    if size := gauge.address_space():
        _lower(resource.RLIMIT_AS, size + memory)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, WRITTEN_MAX_BYTES)


def limit_processor_time(limit: timedelta) -> None:
    """Bound what the next task may burn. It is the parent's clock that counts, so this is twice the limit: for a child
    that its parent's death did not reach, as on macOS."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    allowed = math.ceil(time.process_time() + 2 * limit.total_seconds()) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (_at_most(allowed, most), most))


class MemoryGauge:
    """How big this process is. Asked after every task, so it keeps its file open: 2 µs instead of 40."""

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


def _lower(kind: int, value: int) -> None:
    _, most = resource.getrlimit(kind)
    value = _at_most(value, most)
    resource.setrlimit(kind, (value, value))


def _at_most(value: int, most: int) -> int:
    return value if most == resource.RLIM_INFINITY else min(value, most)
