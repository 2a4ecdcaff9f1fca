"""`headwater up`: everything in one process tree."""

import asyncio
import socket
from dataclasses import replace
from typing import Annotated

import typer
from litestar import Litestar

from headwater.accounts.changes import current_setup_code
from headwater.accounts.store import users
from headwater.cli.stopping import stop_on_signals
from headwater.cli.terminal import load, own_command, run, say
from headwater.pipeline import every_stage, make_inspector, make_trials
from headwater.runtime import (
    Runtime,
    listens_on_loopback_only,
    open_runtime,
    outside_login,
    rate_limits,
    request_database,
    token_issuer,
    web_options,
)
from headwater.server import address_of, create_app, listen, serve
from headwater.settings import Settings
from headwater.workers import run_stages

Host = Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")]
Port = Annotated[int | None, typer.Option(help="Port to listen on; 0 picks a free one.", show_default="8000")]


def up(host: Host = None, port: Port = None) -> None:
    """Run Headwater: its database, its pages and all its stages. Ctrl-C stops it.

    Example: headwater up --port 8080
    """
    settings = load(host=host, port=port)
    with listen(settings.host, settings.port) as listener:
        run(_up(settings, listener))


async def _up(settings: Settings, listener: socket.socket) -> None:
    with stop_on_signals() as stop:
        async with open_runtime(settings, migrate=True) as runtime:
            say(f"Headwater runs on {address_of(listener)} (Ctrl-C stops it)")
            await say_what_is_first(runtime)
            await run_everything(runtime, listener, stop)
    say("Headwater has stopped.")


async def say_what_is_first(runtime: Runtime) -> None:
    """How to begin, while nobody has an account."""
    async with runtime.database.as_system() as conn:
        if await users.has_any(conn):
            return
        code = "" if listens_on_loopback_only(runtime.settings) else await current_setup_code(conn)
    say("First, open it and make your account: the first one is super_admin.")
    if code:
        say(f"The registration page asks for this set-up code: {code}")
    say(f"Then add feeds there, or here: {own_command()} source add https://example.com/feed.xml")


def app_of(runtime: Runtime, listener: socket.socket) -> Litestar:
    """All that is served on this socket."""
    web = replace(
        web_options(runtime.settings, listens_at=address_of(listener)),
        trials=make_trials(runtime.tools),
        inspector=make_inspector(runtime.tools),
        upload_sandbox=runtime.upload_sandbox,
    )
    issuer = token_issuer(runtime.settings, runtime.tools.client)
    openid = outside_login(runtime.settings, runtime.tools.client, site=web.site)
    limits = rate_limits(runtime.settings)
    return create_app(
        request_database(runtime), runtime.tools.clock, runtime.settings.api_token, web, issuer, openid, limits
    )


async def run_everything(runtime: Runtime, listener: socket.socket, stop: asyncio.Event) -> None:
    """Serve the pages and run all stages until `stop` is set and what is under way is done."""
    drain = runtime.settings.drain_timeout
    app, proxies = app_of(runtime, listener), runtime.settings.trusted_proxies
    watch = asyncio.create_task(runtime.watch_database())
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(serve(app, listener, stop, drain, trusted_proxies=proxies))
            tasks.create_task(run_stages(runtime.tools, every_stage(runtime.tools), stop, drain))
    finally:
        watch.cancel()
