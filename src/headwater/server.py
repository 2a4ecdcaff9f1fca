"""The ASGI app of pages and API, served on one socket."""

import asyncio
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from ipaddress import ip_network
from typing import Any, cast

import uvicorn
from litestar import Litestar
from litestar.datastructures import State
from litestar.di import Provide
from litestar.exceptions import HTTPException
from pydantic import SecretStr

from headwater.accounts.bearers import Bearers
from headwater.accounts.external import ExternalAccounts, Issuer
from headwater.accounts.openid import OpenId
from headwater.api import api_routes
from headwater.api.limits import RateLimits
from headwater.asgi.connections import PER_NETWORK, NetworkConnections, WatchedConnection
from headwater.asgi.csrf import FORM_BYTES, PARTS_MAX
from headwater.asgi.errors import respond_to_bug, respond_to_error, respond_to_http_error
from headwater.asgi.guard import add_security_headers, guard, observe
from headwater.asgi.handlers import make_call, provide
from headwater.asgi.health import health_routes
from headwater.asgi.session import PUBLIC_HTTPS
from headwater.asgi.streams import StreamOptions, Streams
from headwater.db import Database
from headwater.downstream.watch import RevisionWatch
from headwater.errors import HeadwaterError, Invalid, PortTaken
from headwater.types import Clock
from headwater.understanding.rulebook.trial import RuleTester
from headwater.urls import http_url
from headwater.web import WebOptions, templates, web_routes

STREAMS = "streams"  # in the app's state: they end when the server stops


def create_app(
    database: Database, clock: Clock, api_token: SecretStr | None = None, web: WebOptions | None = None,
    issuer: Issuer | None = None, openid: OpenId | None = None, limits: RateLimits | None = None,
    streams: StreamOptions | None = None,
) -> Litestar:  # fmt: skip
    """Pages and API. The API accepts users' tokens, `api_token` (the operator's own) and tokens of `issuer`.

    Users may also log in with `openid`. `limits` are those of the API; none by default.
    """
    web, limits, open_streams = web or WebOptions(), limits or RateLimits(), Streams(streams or StreamOptions())
    external_accounts = ExternalAccounts(database, clock, web.accounts)
    bearers = Bearers(database, clock, api_token, external_accounts, issuer)
    app = Litestar(
        route_handlers=[health_routes, *web_routes(database, clock, web), *api_routes(bearers, clock, limits)],
        dependencies=provide(
            database=database, clock=clock, openid=openid, quotas=web.quotas, inspector=web.inspector,
            destination_limits=web.destinations, site=web.site,
            external_accounts=external_accounts, rule_tester=RuleTester(database, clock, web.upload_sandbox),
            streams=open_streams, revisions=RevisionWatch(database, open_streams.options.poll),
        ) | {
            "call": Provide(make_call, sync_to_thread=False),
            "ai_options": Provide(lambda: web.summaries.ai, sync_to_thread=False),
        },
        exception_handlers={
            HeadwaterError: respond_to_error, HTTPException: respond_to_http_error, Exception: respond_to_bug
        },
        before_send=[add_security_headers],
        template_config=templates,
        state=State({
            PUBLIC_HTTPS: web.site.startswith("https://"), "openid_name": openid.name if openid else "",
            STREAMS: open_streams,
        }),
        openapi_config=None,  # api/openapi.py describes the API
        logging_config=None,
        request_max_body_size=FORM_BYTES,  # larger only where a route sets it
        multipart_form_part_limit=PARTS_MAX,
    )  # fmt: skip
    return _wrapped(app)


def create_health_app(database: Database) -> Litestar:
    """Health and metrics, of a worker without pages."""
    tools = provide(database=database)
    return _wrapped(Litestar([health_routes], dependencies=tools, openapi_config=None, logging_config=None))


def _wrapped(app: Litestar) -> Litestar:
    """Count and check every request; middleware of Litestar would not see those that match no route or method."""
    app.asgi_handler = observe(guard(app.asgi_handler))
    return app


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, opened before anything else starts. Raises PortTaken, Invalid."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except (OSError, OverflowError) as error:
        listener.close()
        if isinstance(error, PermissionError):
            raise Invalid(f"Only root may listen on port {port}; choose one above 1023.") from error
        if isinstance(error, socket.gaierror) or "assign" in str(error):
            raise Invalid(f"{host!r} is not an address of this machine.") from error
        raise PortTaken(host, port) from error
    return listener


def address_of(listener: socket.socket) -> str:
    """Its URL, for a browser."""
    host, port = listener.getsockname()[:2]
    return http_url(host, port)


def _mapped(network: str) -> str:
    """A network of IPv4 as a socket for both, such as `::`, shows it; empty for one of IPv6."""
    given = ip_network(network, strict=False)
    return f"::ffff:{given.network_address}/{96 + given.prefixlen}" if given.version == 4 else ""


async def serve(
    app: Litestar, listener: socket.socket, stop: asyncio.Event, drain: timedelta, *, proxies: Sequence[str] = (),
    per_network: int = PER_NETWORK,
) -> None:  # fmt: skip
    """Answer requests until `stop` is set; those in progress may finish within `drain`.

    Client address and scheme are those of the connection, or those that one of the trusted `proxies` sends. Others than
    these have at most `per_network` connections from one network.
    """
    proxies = [*proxies, *(mapped for one in proxies if (mapped := _mapped(one)))]
    counted = partial(WatchedConnection, networks=NetworkConnections(per_network, proxies))
    config = uvicorn.Config(
        app, http=cast("Any", counted), lifespan="off", log_config=None, access_log=False, server_header=False,
        proxy_headers=bool(proxies), forwarded_allow_ips=list(proxies),
        timeout_graceful_shutdown=max(1, round(drain.total_seconds())),
    )  # fmt: skip
    server = _Server(config)

    async def end_on_stop() -> None:
        await stop.wait()
        if STREAMS in app.state:
            app.state[STREAMS].close()
        server.should_exit = True

    ender = asyncio.create_task(end_on_stop())
    try:
        await server.serve(sockets=[listener])
    finally:
        ender.cancel()


class _Server(uvicorn.Server):
    """Uvicorn without its own signal handling: one handler stops the web server and the stages together."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
