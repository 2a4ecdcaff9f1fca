"""The options of a sandbox, and its errors. Pure; parent and child share it."""

from dataclasses import dataclass
from datetime import timedelta
from signal import SIGINT, SIGTERM
from typing import Literal

STOP_SIGNALS = frozenset({SIGINT, SIGTERM})

Limit = Literal["time", "memory", "crash"]


class Overrun(Exception):
    """The work exceeded a limit, or crashed its process; `reason` says which."""

    def __init__(self, limit: Limit, reason: str) -> None:
        super().__init__(limit, reason)
        self.limit: Limit = limit
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class SandboxError(RuntimeError):
    """An exception that cannot be rebuilt in the parent: the name of its type, and its text."""

    def __init__(self, type_name: str, text: str) -> None:
        super().__init__(type_name, text)
        self.type_name = type_name
        self.text = text

    def __str__(self) -> str:
        return f"{self.type_name}: {self.text}"


class SandboxClosed(RuntimeError):
    """The sandbox was not open, or was closed while the work was under way."""

    def __init__(self) -> None:
        super().__init__("The sandbox is not open.")


class TaskRefused(Exception):
    """An invalid answer, perhaps forged. The caller gets an Overrun."""


@dataclass(frozen=True, slots=True)
class Setup:
    time_limit: timedelta
    memory_limit: int
    growth_limit: int
    preload: tuple[str, ...] = ()
