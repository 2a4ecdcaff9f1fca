"""Headwater as a person runs it: a process of its own, its settings in its environment."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from tests.fork_server import ForkedProcess, can_run, run_forked

# A busy machine may take this long for what a quiet one does in a second. Only a failing test waits to the end.
PATIENCE_S = 300.0
STARTED = re.compile(r"http://[\d.]+:\d+")


class Headwater:
    """Runs commands against one folder, or one DATABASE_URL."""

    def __init__(self, folder: Path, python: str = sys.executable, **settings: str) -> None:
        self.folder = folder
        self.python = python
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "HEADWATER_DATA_DIR": str(folder / "data"),
            "HEADWATER_PORT": "0",
            "COLUMNS": "200",
            **settings,
        }

    def run(self, *arguments: str, typed: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
        """A command, to its end."""
        return run_headwater(arguments, {**self.environment, **settings}, self.folder, typed=typed, python=self.python)

    def json(self, *arguments: str, **settings: str) -> Any:
        """What a command prints with --json."""
        done = self.run(*arguments, "--json", **settings)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def start(self, *arguments: str, **settings: str) -> "Running":
        """A command that goes on."""
        return Running(arguments, {**self.environment, **settings}, self.folder, self.python)


def run_headwater(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    *,
    typed: str = "",
    python: str = sys.executable,
) -> subprocess.CompletedProcess[str]:
    """A command in an environment of its own, to its end; from another Python it is started, from ours forked."""
    if python == sys.executable and can_run(environment):
        return run_forked(arguments, env=environment, cwd=folder, typed=typed, timeout=PATIENCE_S)
    return subprocess.run(
        [python, "-m", "headwater", *arguments],
        env=environment, cwd=folder, input=typed, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip


class Running:
    """A command that goes on; use as a context manager."""

    def __init__(
        self, arguments: tuple[str, ...], environment: Mapping[str, str], folder: Path, python: str = sys.executable
    ) -> None:
        self._log = (folder / f"{arguments[0]}-{time.monotonic_ns()}.log").open("w+")
        if python == sys.executable and can_run(environment):
            file = self._log.fileno()
            self.process: subprocess.Popen[bytes] | ForkedProcess = ForkedProcess(
                arguments, env=environment, cwd=folder, stdin=file, stdout=file, stderr=file, start_new_session=True
            )
            return
        self.process = subprocess.Popen(
            [python, "-m", "headwater", *arguments],
            env=environment, cwd=folder, stdout=self._log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.stop()
        self._log.close()

    @property
    def output(self) -> str:
        return Path(self._log.name).read_text()

    @property
    def url(self) -> str:
        """Where it serves, once it says so."""
        return wait_for(lambda: match[0] if (match := STARTED.search(self.output)) else None, self)

    def get(self, path: str, accept: str = "text/html") -> tuple[int, str]:
        request = urllib.request.Request(self.url + path, headers={"Accept": accept})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read().decode()

    def stop(self, how: signal.Signals = signal.SIGINT) -> int:
        """Ctrl-C in its terminal: the signal goes to the whole group. Returns the exit code."""
        assert self.process.poll() is None, self.output
        os.killpg(self.process.pid, how)
        return self.process.wait(PATIENCE_S)


def wait_for(what: Any, running: Running | None = None, seconds: float = PATIENCE_S) -> Any:
    """The first value that is true."""
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert running is None or running.process.poll() is None, running.output
        assert time.monotonic() < deadline, f"waited in vain: {running.output if running else ''}"
        time.sleep(0.05)
    return found
