"""`headwater work`: chosen stages, without the pages."""

import asyncio
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

import typer

from headwater.cli.stopping import stop_on_signals
from headwater.cli.terminal import load, run, say
from headwater.errors import Conflict, Invalid, PortTaken
from headwater.pipeline import STAGES, every_stage
from headwater.runtime import open_runtime
from headwater.server import address_of, create_health_app, listen, serve
from headwater.settings import Settings
from headwater.workers import run_stages

Stages = Annotated[
    list[str] | None, typer.Argument(metavar="[STAGE]…", help=f"Which: {', '.join(STAGES)}.", show_default="all")
]


def work(stages: Stages = None) -> None:
    """Run stages, on this machine or any other that reaches the same database. Ctrl-C drains and stops them.

    Example: headwater work polling fetching
    """
    unknown = [name for name in stages or () if name not in STAGES]
    if unknown:
        raise Invalid(f"There is no stage {unknown[0]!r}. There are: {', '.join(STAGES)}.")
    settings = load()
    with _listen(settings) as listener:
        run(_work(settings, stages or (), listener))


@contextmanager
def _listen(settings: Settings) -> Iterator[socket.socket | None]:
    """The socket for metrics and health, before anything else starts. Raises Conflict, Invalid."""
    if not settings.work_port:
        yield None
        return
    try:
        listener = listen(settings.host, settings.work_port)
    except PortTaken as error:
        raise Conflict(
            f"Port {settings.work_port} on {settings.host} is taken, perhaps by another `headwater work`. "
            "Stop that program, or choose another port with HEADWATER_WORK_PORT."
        ) from error
    with listener:
        yield listener


async def _work(settings: Settings, stages: Sequence[str], listener: socket.socket | None) -> None:
    with stop_on_signals() as stop:
        async with open_runtime(settings) as runtime:
            names = stages or every_stage(runtime.tools)
            if missing := [name for name in names if name not in every_stage(runtime.tools)]:
                raise Invalid(f"There is nothing for the stage {missing[0]!r} to work with: set ELASTICSEARCH_URL.")
            say(f"Headwater works on {', '.join(names)} (Ctrl-C stops it)")
            watch = asyncio.create_task(runtime.watch_database())
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(run_stages(runtime.tools, names, stop, settings.drain_timeout))
                    if listener is not None:
                        say(f"Metrics and health are on {address_of(listener)}")
                        app = create_health_app(runtime.database)
                        tasks.create_task(serve(app, listener, stop, settings.drain_timeout))
            finally:
                watch.cancel()
