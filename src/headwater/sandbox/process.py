"""One child process, as the parent holds it: takes a question and gives its answer, or says how the process ended."""

import asyncio
import os
from collections.abc import Callable
from typing import cast

from headwater.sandbox.channel import HungUp, PipeChannel
from headwater.sandbox.codec import decode, decode_error
from headwater.sandbox.decide import cause_of_death, forged, out_of_memory, out_of_time
from headwater.sandbox.frames import AnswerFrame, FrameKind, write_question
from headwater.sandbox.spawn import spawn
from headwater.sandbox.types import Overrun, SandboxClosed, SandboxError, Setup, TaskRefused

START_LIMIT_S = 60
LAST_WORDS_BYTES = 4_000


class Process:
    """Starts when it is made. Once it is not fit any more, kill it."""

    def __init__(self, setup: Setup, *, answer_limit: int) -> None:
        self._setup = setup
        self._spawned = spawn()
        self._channel = PipeChannel(self._spawned.sock, answer_limit)
        self._ready: asyncio.Future[AnswerFrame] | None = self._channel.ask(write_question(setup))
        self._ready.add_done_callback(_retrieve)
        self._is_free = True
        self.tasks = 0

    @property
    def is_fit(self) -> bool:
        """Whether it can be asked again: it lives, owes no answer, and gave the last one properly."""
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
        """End it now, whatever it does. SIGKILL: nothing else reaches C code that holds the interpreter's lock."""
        self._channel.close(SandboxClosed())
        self._spawned.process.kill()

    def is_gone(self) -> bool:
        """Whether nothing is left of a process that was killed; asking is what clears it away."""
        if self._spawned.process.poll() is None:
            return False
        self._spawned.stderr.close()
        return True

    async def gone(self) -> int:
        """Kill it, wait until it has ended, and return its exit code."""
        self.kill()
        return await asyncio.to_thread(self._spawned.process.wait)

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
        self._channel.read()  # our own loop may have been late: an answer that lies here was in time
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
        last_words = self._last_words()
        cause = cause_of_death(return_code, last_words, self._setup)
        if last_words:
            cause.add_note(last_words.decode(errors="backslashreplace"))
        return cause

    def _last_words(self) -> bytes:
        size = self._spawned.stderr.seek(0, os.SEEK_END)
        self._spawned.stderr.seek(max(0, size - LAST_WORDS_BYTES))
        return self._spawned.stderr.read()


def _not_started(cause: object, reason: str) -> SandboxError:
    return SandboxError(type(cause).__name__, f"A process of the sandbox did not start: {reason}")


def _retrieve(ready: asyncio.Future[AnswerFrame]) -> None:
    """Look at how the start went: a process may be killed before anyone else does, and asyncio would complain."""
    if not ready.cancelled():
        ready.exception()
