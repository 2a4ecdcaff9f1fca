"""One child process, seen from the parent: takes a question, returns its answer or how the process ended.

The child is a plain `python -m`, not multiprocessing: it does not run our __main__ again, copies none of our memory,
and inherits no descriptor but its socket. Of the environment it gets only what Python needs, no passwords and keys.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, cast

from headwater.sandbox.channel import HungUp, PipeChannel
from headwater.sandbox.codec import decode, decode_error
from headwater.sandbox.decide import cause_of_death, forged, out_of_memory, out_of_time
from headwater.sandbox.frames import AnswerFrame, FrameKind, write_question
from headwater.sandbox.types import STOP_SIGNALS, Overrun, SandboxClosed, SandboxError, Setup, TaskRefused

START_LIMIT_S = 60
LAST_WORDS_BYTES = 4_000
ENVIRONMENT = frozenset({
    "PATH", "HOME", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH", "PYTHONHOME", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX",
})  # fmt: skip


class Process:
    """Starts at once. When it is no longer fit, kill it."""

    def __init__(self, setup: Setup, *, answer_limit: int) -> None:
        self._setup = setup
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = _spawn(theirs, self._stderr)
        except BaseException:
            ours.close()
            self._stderr.close()
            raise
        self._channel = PipeChannel(ours, answer_limit)
        self._ready: asyncio.Future[AnswerFrame] | None = self._channel.ask(write_question(setup))
        self._ready.add_done_callback(_retrieve)
        self._is_free = True
        self.tasks = 0

    @property
    def is_fit(self) -> bool:
        """Whether it can take another question: it is alive, has answered, and the answer was valid."""
        return self._channel.is_open and self._is_free

    async def ask(self, question: list[memoryview], function: Callable[..., object]) -> object:
        """What the function returns. Raises what the function raises, and Overrun."""
        self._is_free = False
        await self._until_ready()
        self.tasks += 1
        try:
            answer = await self._within(self._channel.ask(question), self._setup.time_limit.total_seconds())
        except TimeoutError:
            raise out_of_time(self._setup.time_limit) from None
        except HungUp:
            raise await self._cause_of_death() from None
        except TaskRefused as error:
            raise forged(error) from error
        return self._open(answer, function)

    def kill(self) -> None:
        """End it now. SIGKILL: nothing else stops C code that holds the interpreter's lock."""
        self._channel.close(SandboxClosed())
        self._process.kill()

    def is_gone(self) -> bool:
        """Whether a killed process has ended; also reaps it."""
        if self._process.poll() is None:
            return False
        self._stderr.close()
        return True

    async def gone(self) -> int:
        """Kill it, wait until it has ended, and return its exit code."""
        self.kill()
        return await asyncio.to_thread(self._process.wait)

    async def _until_ready(self) -> None:
        if self._ready is None:
            return
        try:
            answer = await self._within(self._ready, START_LIMIT_S)
        except TimeoutError as error:
            raise _not_started(error, f"it was not ready after {START_LIMIT_S} s") from None
        except HungUp as error:
            raise _not_started(error, str(await self._cause_of_death())) from None
        if answer.kind is not FrameKind.RESULT:
            error = decode_error(answer.body)
            raise _not_started(error, str(error))
        self._ready = None

    async def _within(self, waiting: asyncio.Future[AnswerFrame], seconds: float) -> AnswerFrame:
        deadline = waiting.get_loop().call_later(seconds, self._expire, waiting)
        try:
            return await waiting
        finally:
            deadline.cancel()
            del waiting  # as in `_open`

    def _expire(self, waiting: asyncio.Future[AnswerFrame]) -> None:
        self._channel.read()  # our own loop may be late: an answer that has arrived was in time
        if not waiting.done():
            waiting.set_exception(TimeoutError())

    def _open(self, answer: AnswerFrame, function: Callable[..., object]) -> object:
        if answer.kind is FrameKind.OUT_OF_MEMORY:
            raise out_of_memory(self._setup.memory_limit)
        is_result = answer.kind is FrameKind.RESULT
        try:
            value = decode(answer.body, function) if is_result else decode_error(answer.body)
        except TaskRefused as error:
            raise forged(error) from error
        self._is_free = not answer.is_last
        if is_result:
            return value
        try:
            raise cast("Exception", value)
        finally:
            del value  # else exception and frame hold each other, and with them the body, until a collection

    async def _cause_of_death(self) -> Overrun:
        return_code = await self.gone()
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - LAST_WORDS_BYTES))
        last_words = self._stderr.read()
        cause = cause_of_death(return_code, last_words, self._setup)
        if last_words:
            cause.add_note(last_words.decode(errors="backslashreplace"))
        return cause


def _spawn(sock: socket.socket, stderr: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a child, in the thread of the event loop, which must live on: Linux kills it when that thread ends."""
    module = ["-m", "headwater.sandbox.child", str(sock.fileno()), str(os.getpid())]
    environment = {name: value for name, value in os.environ.items() if name in ENVIRONMENT}  # noqa: TID251  no settings
    # What can be imported here can be imported there. An empty entry means the current folder.
    environment["PYTHONPATH"] = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)
    # Blocked signals stay blocked in the child until it can ignore them: Ctrl-C can kill it at no moment.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        return subprocess.Popen(  # noqa: S603  our own interpreter and module
            [sys.executable, "-P", *module], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr,
            pass_fds=(sock.fileno(),), env=environment,
        )  # fmt: skip
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _not_started(cause: object, reason: str) -> SandboxError:
    return SandboxError(type(cause).__name__, f"A process of the sandbox did not start: {reason}")


def _retrieve(ready: asyncio.Future[AnswerFrame]) -> None:
    """Retrieve the exception: asyncio warns if nothing does, as when a process is killed before its first task."""
    if not ready.cancelled():
        ready.exception()
