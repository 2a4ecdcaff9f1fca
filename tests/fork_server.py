"""Runs `headwater` commands as processes of their own, forked from one that has imported everything.

Importing takes most of a second of processor time, and the tests run hundreds of commands. Each is still a real process
with its own environment, folder, standard streams and exit code. As a program (`python -m tests.fork_server FD`) this
module is the process that forks.
"""

import io
import json
import os
import random
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# What modules read when they are imported: as it is for every command of a test.
COLUMNS = "200"


def can_run(environment: Mapping[str, str]) -> bool:
    """Whether a forked process is the same as a started one; not where Python itself is configured otherwise."""
    return hasattr(os, "pidfd_open") and environment.get("COLUMNS") == COLUMNS


class ForkedProcess:
    """A command under way, with the part of `subprocess.Popen` that tests use."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        stdin: int,
        stdout: int,
        stderr: int,
        start_new_session: bool = False,
    ) -> None:
        self._status, given = os.pipe()
        request = {"arguments": arguments, "env": dict(env), "cwd": str(cwd), "session": start_new_session}
        self.pid = _server().fork(request, (stdin, stdout, stderr, given))
        os.close(given)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self._read(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._read(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("headwater", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _read(self, timeout: float | None) -> int | None:
        if self.returncode is None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._status, selectors.EVENT_READ)
                if not selector.select(timeout):
                    return None
            self.returncode = int(os.read(self._status, 100))
            os.close(self._status)
        return self.returncode


def run_forked(
    arguments: Sequence[str], *, env: Mapping[str, str], cwd: Path, typed: str, timeout: float
) -> subprocess.CompletedProcess[str]:
    """A command, to its end; its output may be larger than a pipe holds."""
    with _unnamed(typed.encode()) as stdin, _unnamed() as stdout, _unnamed() as stderr:
        process = ForkedProcess(
            arguments, env=env, cwd=cwd, stdin=stdin.fileno(), stdout=stdout.fileno(), stderr=stderr.fileno()
        )
        code = process.wait(timeout)
        texts = [_read_all(file) for file in (stdout, stderr)]
    return subprocess.CompletedProcess(["headwater", *arguments], code, *texts)


def _unnamed(content: bytes = b"") -> io.FileIO:
    file = io.FileIO(os.memfd_create("stream"), "r+")
    file.write(content)
    file.seek(0)
    return file


def _read_all(file: io.FileIO) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")


class _Server:
    """The process that forks, as seen by a test."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fork_server", str(theirs.fileno())],
            env={**environment, "COLUMNS": COLUMNS}, cwd=ROOT, pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        theirs.close()

    def fork(self, request: object, files: tuple[int, ...]) -> int:
        line = json.dumps(request).encode("utf-8", "surrogateescape")
        socket.send_fds(self._socket, [len(line).to_bytes(4, "big")], files)
        self._socket.sendall(line)
        return int.from_bytes(self._socket.recv(4, socket.MSG_WAITALL), "big")


_running: list[_Server] = []


def _server() -> _Server:
    if not _running:
        _running.append(_Server())
    return _running[0]


# The process that forks.


def serve(requests: socket.socket) -> None:
    """Fork a child for each request, and report its exit code to who asked for it."""
    waiting: dict[int, tuple[int, int]] = {}  # by the file that becomes readable when the child ends
    with selectors.DefaultSelector() as selector:
        selector.register(requests, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is requests:
                    started = _start(requests)
                    if started is None:
                        return
                    pid, status = started
                    ended = os.pidfd_open(pid)
                    waiting[ended] = pid, status
                    selector.register(ended, selectors.EVENT_READ)
                else:
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    pid, status = waiting.pop(key.fd)
                    _report(status, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def _start(requests: socket.socket) -> tuple[int, int] | None:
    size, files, _, _ = socket.recv_fds(requests, 4, 4)
    if not size:
        return None
    request = json.loads(requests.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
    pid = os.fork()
    if pid == 0:
        _become(request, files)
    for file in files[:3]:
        os.close(file)
    requests.sendall(pid.to_bytes(4, "big"))
    return pid, files[3]


def _report(status: int, code: int) -> None:
    with suppress(BrokenPipeError):
        os.write(status, str(code).encode())
    os.close(status)


def _become(request: dict[str, Any], files: Sequence[int]) -> None:
    """Be the command: never returns."""
    code = 70
    try:
        if request["session"]:
            os.setsid()
        for number, file in enumerate(files[:3]):
            os.dup2(file, number)
        os.closerange(3, 256)
        os.environ.clear()
        os.environ.update(request["env"])
        os.chdir(request["cwd"])
        random.seed()
        _open_streams()
        code = _main(request["arguments"])
    except BaseException:  # noqa: BLE001  as Python itself would end
        sys.excepthook(*sys.exc_info())  # pyright: ignore[reportArgumentType]
        code = 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                code = code or 120
        os._exit(code)


def _open_streams() -> None:
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "utf-8").partition(":")
    sys.stdin = open(0, encoding=encoding, errors=errors or "surrogateescape", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding=encoding, errors=errors or "strict", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding=encoding, errors="backslashreplace", closefd=False, buffering=1)  # noqa: SIM115


def _main(arguments: Sequence[str]) -> int:
    from headwater.cli import main

    sys.argv = ["headwater", *arguments]
    try:
        main()
    except SystemExit as left:
        if left.code is None or isinstance(left.code, int):
            return left.code or 0
        sys.stderr.write(f"{left.code}\n")
        return 1
    return 0


if __name__ == "__main__":
    from headwater.cli import make_app

    make_app()  # imports every command, and with it all of Headwater
    for module in ("headwater.extraction.extract", "headwater.feeds"):
        import_module(module)
    serve(socket.socket(fileno=int(sys.argv[1])))
