"""Starts one child: takes nothing, leaves a running process and our end of its only connection.

A plain `python -m`, not multiprocessing: nothing of our __main__ is run again, nothing of our memory is copied, and no
descriptor but its socket is inherited. Of the environment it gets what Python needs: passwords and keys stay here.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from headwater.sandbox.types import STOP_SIGNALS

ENVIRONMENT = frozenset(
    {
        *("PATH", "HOME", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE"),
        *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"),
        *("PYTHONHOME", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"),
    }
)


@dataclass(frozen=True, slots=True)
class Spawned:
    """A child that was just started."""

    process: subprocess.Popen[bytes]
    sock: socket.socket
    stderr: IO[bytes]


def spawn() -> Spawned:
    """Start a child, in the thread of the event loop, which must live on: Linux kills it when that thread ends."""
    ours, theirs = socket.socketpair()
    stderr = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
    try:
        with theirs:
            process = _popen(theirs, stderr)
    except BaseException:
        ours.close()
        stderr.close()
        raise
    return Spawned(process, ours, stderr)


def _popen(sock: socket.socket, stderr: IO[bytes]) -> subprocess.Popen[bytes]:
    module = ["-m", "headwater.sandbox.child", str(sock.fileno()), str(os.getpid())]
    # Blocked signals stay so in the child until it can ignore them: there is no moment at which Ctrl-C kills it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        return subprocess.Popen(  # noqa: S603  our own interpreter and module
            [sys.executable, "-P", *module],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            pass_fds=(sock.fileno(),),
            env=_environment(),
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in ENVIRONMENT}  # noqa: TID251  none is a setting
    # What can be imported here can be imported there. An empty entry means the current folder.
    return kept | {"PYTHONPATH": os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)}
