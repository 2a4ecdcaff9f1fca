"""`headwater serve`: the web server alone."""

import asyncio
import socket

from headwater.cli.stopping import stop_on_signals
from headwater.cli.terminal import load, run, say
from headwater.cli.up import Host, Port, app_of, say_what_is_first
from headwater.runtime import open_runtime
from headwater.server import address_of, listen
from headwater.server import serve as serve_app
from headwater.settings import Settings


def serve(host: Host = None, port: Port = None) -> None:
    """Serve the pages only; the stages run elsewhere, by `headwater work`.

    Example: headwater serve --host 0.0.0.0 --port 80
    """
    settings = load(host=host, port=port)
    with listen(settings.host, settings.port) as listener:
        run(_serve(settings, listener))


async def _serve(settings: Settings, listener: socket.socket) -> None:
    with stop_on_signals() as stop:
        async with open_runtime(settings) as runtime:
            say(f"Headwater serves {address_of(listener)} (Ctrl-C stops it)")
            await say_what_is_first(runtime)
            watch = asyncio.create_task(runtime.watch_database())
            try:
                app = app_of(runtime, listener)
                await serve_app(app, listener, stop, settings.drain_timeout, trusted_proxies=settings.trusted_proxies)
            finally:
                watch.cancel()
