"""`headwater up`, `serve` and `work`: everything in one process tree, the web server alone, stages alone."""

import asyncio
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated

import typer
from litestar import Litestar

from headwater.accounts.changes import current_setup_code
from headwater.accounts.store import users
from headwater.cli.options import setting_option
from headwater.cli.output import print_text
from headwater.cli.running import stop_on_signals, watched_tasks
from headwater.cli.terminal import load, own_command, run
from headwater.db import RequestDatabase
from headwater.errors import Conflict, Invalid, PortTaken
from headwater.pipeline import STAGES, every_stage, make_inspector, make_trials
from headwater.runtime import (
    Runtime,
    listens_on_loopback_only,
    open_runtime,
    openid_login,
    rate_limits,
    stream_options,
    token_issuer,
    web_options,
)
from headwater.server import address_of, create_app, create_health_app, listen
from headwater.server import serve as serve_app
from headwater.settings import Settings
from headwater.workers import run_stages

Host = Annotated[str | None, setting_option("host")]
Port = Annotated[int | None, setting_option("port")]
Stages = Annotated[
    list[str] | None, typer.Argument(metavar="[STAGE]…", help=f"Which: {', '.join(STAGES)}.", show_default="all")
]


def up(host: Host = None, port: Port = None) -> None:
    """Run Headwater: its database, its web pages and all its stages. Ctrl-C stops it.

    Example: headwater up --port 8080
    """
    settings = load(host=host, port=port)
    with listen(settings.host, settings.port) as listener:
        run(_serve(settings, listener, with_stages=True))
    print_text("Headwater has stopped.")


def serve(host: Host = None, port: Port = None) -> None:
    """Run the web server only; `headwater work` runs the stages elsewhere.

    Example: headwater serve --host 0.0.0.0 --port 80
    """
    settings = load(host=host, port=port)
    with listen(settings.host, settings.port) as listener:
        run(_serve(settings, listener, with_stages=False))


def work(stages: Stages = None) -> None:
    """Run stages, on this machine or any other that reaches the same database. Ctrl-C drains and stops them.

    Example: headwater work polling fetching
    """
    unknown = [name for name in stages or () if name not in STAGES]
    if unknown:
        raise Invalid(f"There is no stage {unknown[0]!r}. There are: {', '.join(STAGES)}.")
    settings = load()
    with _health_listener(settings) as listener:
        run(_work(settings, stages or (), listener))


async def _serve(settings: Settings, listener: socket.socket, *, with_stages: bool) -> None:
    with stop_on_signals() as stop:
        async with open_runtime(settings, migrate=with_stages) as runtime:
            print_text(f"Headwater {'runs on' if with_stages else 'serves'} {address_of(listener)} (Ctrl-C stops it)")
            await _print_first_steps(runtime)
            await serve_pages(runtime, listener, stop, every_stage(runtime.tools) if with_stages else ())


async def serve_pages(runtime: Runtime, listener: socket.socket, stop: asyncio.Event, stages: Sequence[str]) -> None:
    """Serve the pages and run stages until `stop` is set and work in progress is done."""
    drain, proxies = runtime.settings.drain_timeout, runtime.settings.trusted_proxies
    app, most = app_of(runtime, listener), runtime.settings.connections_per_network
    async with watched_tasks(runtime) as tasks:
        tasks.create_task(serve_app(app, listener, stop, drain, proxies=proxies, per_network=most))
        tasks.create_task(run_stages(runtime.tools, stages, stop, drain))


async def _print_first_steps(runtime: Runtime) -> None:
    """How to begin, while there is no account."""
    async with runtime.database.as_system() as conn:
        if await users.has_any(conn):
            return
        code = "" if listens_on_loopback_only(runtime.settings) else await current_setup_code(conn)
    print_text("First, open it and register: the first account becomes the administrator.")
    if code:
        print_text(f"The registration page asks for this setup code: {code}")
    print_text(f"Then add feeds there, or here: {own_command()} source add https://example.com/feed.xml")


def app_of(runtime: Runtime, listener: socket.socket) -> Litestar:
    web = web_options(runtime.settings, listens_at=address_of(listener))
    trials, inspector = make_trials(runtime.tools), make_inspector(runtime.tools)
    web = replace(web, trials=trials, inspector=inspector, upload_sandbox=runtime.upload_sandbox)
    issuer = token_issuer(runtime.settings, runtime.tools.client)
    openid = openid_login(runtime.settings, runtime.tools.client, site=web.site)
    limits, streams = rate_limits(runtime.settings), stream_options(runtime.settings)
    database = RequestDatabase(
        runtime.database, statement_timeout=runtime.settings.statement_timeout,
        per_user=max(1, runtime.settings.database_pool_size // 3),
    )  # fmt: skip
    return create_app(database, runtime.tools.clock, runtime.settings.api_token, web, issuer, openid, limits, streams)


@contextmanager
def _health_listener(settings: Settings) -> Iterator[socket.socket | None]:
    """The socket for metrics and health, opened before anything else starts. Raises Conflict, Invalid."""
    if not settings.work_port:
        yield None
        return
    try:
        listener = listen(settings.host, settings.work_port)
    except PortTaken as error:
        raise Conflict(
            f"Port {settings.work_port} on {settings.host} is in use, perhaps by another `headwater work`. "
            "Stop that program, or choose another port with HEADWATER_WORK_PORT."
        ) from error
    with listener:
        yield listener


_NEEDED = {
    "tagging": "set HEADWATER_OPENROUTER_API_KEY, and HEADWATER_AI_TAGGING to true",
}
_ENABLE = "it is disabled in the settings"


async def _work(settings: Settings, stages: Sequence[str], listener: socket.socket | None) -> None:
    with stop_on_signals() as stop:
        async with open_runtime(settings) as runtime:
            names = stages or every_stage(runtime.tools)
            if missing := [name for name in names if name not in every_stage(runtime.tools)]:
                raise Invalid(f"The stage {missing[0]!r} cannot run here: {_NEEDED.get(missing[0], _ENABLE)}.")
            print_text(f"Headwater runs the stages {', '.join(names)} (Ctrl-C stops it)")
            async with watched_tasks(runtime) as tasks:
                tasks.create_task(run_stages(runtime.tools, names, stop, settings.drain_timeout))
                if listener is not None:
                    print_text(f"Metrics and health are on {address_of(listener)}")
                    app = create_health_app(runtime.database)
                    tasks.create_task(serve_app(app, listener, stop, settings.drain_timeout))
