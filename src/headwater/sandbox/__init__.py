"""Work on hostile bytes, in processes that can be killed: a function and its arguments go in, its result comes out.

What a function may do is bounded in time and memory; what goes past that is killed, and the caller gets `Overrun`.

    async with Sandbox(processes=2, time_limit=timedelta(seconds=10), memory_limit=512_000_000) as sandbox:
        feed = await sandbox.run(parse_feed, body, url=url)

A result is of the type that the function's return annotation names, built by msgspec from MessagePack (`codec.py`); an
answer of any other shape is an `Overrun`. Without an annotation it is plain data: numbers, text, bytes, lists, dicts.

What it is not: the child runs under the same account, so it keeps mistakes and greed inside, and forged answers out; it
is not a jail for code that already runs in it. macOS enforces no memory limit on a process: there only
time is bounded, and a process that has grown is replaced after its task.
"""

from typing import TYPE_CHECKING

from headwater.sandbox.types import Overrun, SandboxClosed, SandboxError

if TYPE_CHECKING:
    from headwater.sandbox.pool import Sandbox

__all__ = ["Overrun", "Sandbox", "SandboxClosed", "SandboxError"]


def __getattr__(name: str) -> object:
    """Sandbox is imported when asked for: a child passes through here too, and asyncio would triple its start."""
    if name == "Sandbox":
        from headwater.sandbox.pool import Sandbox  # noqa: PLC0415

        return Sandbox
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
