"""Runs functions on hostile bytes in processes that are killed when they exceed a limit of time or memory (`Overrun`).

    async with Sandbox(processes=2, time_limit=timedelta(seconds=10), memory_limit=512_000_000) as sandbox:
        feed = await sandbox.run(parse_feed, body, url=url)

A result has the type of the function's return annotation, built by msgspec from MessagePack (`codec.py`); any other
answer is an `Overrun`. Without an annotation it is plain data: numbers, text, bytes, lists, dicts.

The child runs under the same account: it contains errors and excessive use, and refuses forged answers, but does not
confine code that already runs in it. macOS enforces no memory limit: there only time is limited, and a process that has
grown is replaced after its task.
"""

from typing import TYPE_CHECKING

from headwater.sandbox.types import Overrun, SandboxClosed, SandboxError

if TYPE_CHECKING:
    from headwater.sandbox.pool import Sandbox

__all__ = ["Overrun", "Sandbox", "SandboxClosed", "SandboxError"]


def __getattr__(name: str) -> object:
    """Import Sandbox on first use: a child imports this module too, and asyncio would triple its start time."""
    if name == "Sandbox":
        from headwater.sandbox.pool import Sandbox  # noqa: PLC0415

        return Sandbox
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
