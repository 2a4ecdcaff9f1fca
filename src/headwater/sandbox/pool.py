"""The sandbox: runs a function in one of its processes, and leaves nothing running when it is closed."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import ParamSpec, Self, TypeVar, cast

from headwater.sandbox.frames import write_task
from headwater.sandbox.process import Process
from headwater.sandbox.types import SandboxClosed, Setup

P = ParamSpec("P")
R = TypeVar("R")


class Sandbox:
    """A few processes for hostile bytes. Callers wait in order; a process has one task at a time.

    Processes start when they are first needed, `warm` ones at once and at each replacement; each first imports the
    modules of `preload`, outside any limit. One is replaced after `tasks_per_process`, or when it has grown by a
    quarter of `memory_limit`, so that leaks do not add up. An answer has at most `answer_limit` bytes.
    """

    def __init__(
        self, *, processes: int, time_limit: timedelta, memory_limit: int, preload: Sequence[str] = (),
        warm: bool = False, tasks_per_process: int = 10_000, answer_limit: int = 64_000_000,
    ) -> None:  # fmt: skip
        self._setup = Setup(time_limit, memory_limit, growth_limit=memory_limit // 4, preload=tuple(preload))
        self._answer_limit = answer_limit
        self._processes = processes
        self._is_warm = warm
        self._tasks_per_process = tasks_per_process
        self._turn = asyncio.Semaphore(processes)
        self._idle: deque[Process] = deque()
        self._living: set[Process] = set()
        self._dismissed: set[Process] = set()  # killed, and perhaps not yet gone
        self._is_open = False

    async def __aenter__(self) -> Self:
        self._is_open = True
        if self._is_warm:
            self._idle.extend(self._start() for _ in range(self._processes))
        return self

    async def __aexit__(self, *_: object) -> None:
        """Kill all processes; their callers get SandboxClosed."""
        self._is_open = False
        await asyncio.gather(*(process.gone() for process in self._living | self._dismissed))
        while self._idle:
            self._dismiss(self._idle.pop())
        self._forget_the_gone()

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """What the function returns, from another process. Raises what it raises, Overrun and SandboxClosed. When the
        caller is cancelled, the process is killed."""
        if getattr(function, "__module__", None) == "__main__":
            raise ValueError(f"{function} is defined in __main__, which no other process runs: move it into a module")
        async with self._turn:
            process = self._take()
            try:
                # Pickled this late, so that waiting callers hold no copy of their body.
                return cast("R", await process.ask(write_task(function, args, kwargs), function))
            finally:
                self._give_back(process)

    def _take(self) -> Process:
        if not self._is_open:
            raise SandboxClosed
        while self._idle:
            process = self._idle.pop()
            if process.is_fit:
                return process
            self._dismiss(process)  # died by itself while idle
        return self._start()

    def _give_back(self, process: Process) -> None:
        if process.is_fit and process.tasks < self._tasks_per_process:
            self._idle.append(process)
            return
        self._dismiss(process)
        if self._is_warm and self._is_open:
            self._idle.appendleft(self._start())  # others first, this one is still starting

    def _start(self) -> Process:
        process = Process(self._setup, answer_limit=self._answer_limit)
        self._living.add(process)
        return process

    def _dismiss(self, process: Process) -> None:
        process.kill()
        self._living.discard(process)
        self._dismissed.add(process)
        self._forget_the_gone()

    def _forget_the_gone(self) -> None:
        self._dismissed = {process for process in self._dismissed if not process.is_gone()}
