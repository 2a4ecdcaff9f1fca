"""`headwater source disable|refresh|reset`: what an operator does to a feed by hand. Each stands in the audit log."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated

import typer

from headwater.audit.types import COMMAND_LINE
from headwater.cli.terminal import load_quietly, run, say
from headwater.db import Connection
from headwater.runtime import open_runtime
from headwater.settings import Settings
from headwater.sources import follow, operate
from headwater.sources.types import Source

Wanted = Annotated[str, typer.Argument(metavar="ID|URL", help="A source, by id or by the URL of its feed or site.")]
Reason = Annotated[str, typer.Option(help="Why: a class of failure, such as gone, or words of your own.")]


def disable(wanted: Wanted, reason: Reason) -> None:
    """Disable a source's feed, for a reason: until its cooldown ends, or until somebody enables it.

    Example: headwater source disable https://example.com/feed.xml --reason "the paper was closed"
    """

    async def step(conn: Connection, source: Source, now: datetime) -> datetime | None:
        return await operate.disable(conn, source, reason=reason, actor=COMMAND_LINE, now=now)

    source, until = run(_do(load_quietly(), wanted, step))
    say(f"{source.name} is disabled until {f'{until:%Y-%m-%d %H:%M} UTC' if until else 'somebody enables it'}.")


def refresh(wanted: Wanted) -> None:
    """Have a source read now, due or not, by the Headwater that runs.

    Example: headwater source refresh https://example.com/feed.xml
    """

    async def step(conn: Connection, source: Source, now: datetime) -> None:
        await operate.refresh(conn, source, actor=COMMAND_LINE, now=now)

    source, _ = run(_do(load_quietly(), wanted, step))
    say(f"{source.name} is due now.")


def reset(wanted: Wanted) -> None:
    """Forget the errors that were counted against a source's feed. Whether it is on stays as it is.

    Example: headwater source reset https://example.com/feed.xml
    """

    async def step(conn: Connection, source: Source, now: datetime) -> None:
        await operate.reset_errors(conn, source, actor=COMMAND_LINE, now=now)

    source, _ = run(_do(load_quietly(), wanted, step))
    say(f"Nothing is held against {source.name} any more.")


async def _do(
    settings: Settings, wanted: str, step: Callable[[Connection, Source, datetime], Awaitable[datetime | None]]
) -> tuple[Source, datetime | None]:
    async with open_runtime(settings) as runtime, runtime.database.as_system() as conn:
        source = await follow.find(conn, wanted)
        return source, await step(conn, source, runtime.tools.clock())
