"""The app for tests of pages and API: built once for each way to build it, since that takes a quarter of a second."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, TypeVar, cast

from litestar import Litestar
from pydantic import SecretStr

from headwater.accounts.external import Issuer
from headwater.accounts.openid import OpenId
from headwater.api.limits import RateLimits
from headwater.asgi.streams import StreamOptions
from headwater.db import Database, RequestDatabase
from headwater.hosts.turns import Turns
from headwater.library.summaries.types import SummaryOptions
from headwater.net.client import Client
from headwater.sandbox import Sandbox
from headwater.server import create_app as build_app
from headwater.sources.custom.inspect import Inspector
from headwater.types import Clock
from headwater.web import WebOptions

PLAIN = WebOptions()
ENDING = StreamOptions(poll=timedelta(0), longest=timedelta(0))  # a stream ends when it has sent what there is
T = TypeVar("T")


@dataclass
class _Parts:
    """What the app works on in the test that uses it now."""

    database: Database
    clock: Clock
    summaries: SummaryOptions
    inspector: Inspector | None
    openid: OpenId | None


@dataclass
class _Built:
    parts: _Parts
    app: Litestar | None = None
    is_used: bool = False

    def current(self, kind: type[T], path: str) -> T:
        """A stand-in for a part; it passes everything on to that of the test that runs."""
        find = attrgetter(path)

        def passed_on(_self: object, attribute: str) -> Any:
            return getattr(find(self.parts), attribute)

        stand_in = type(f"Current{kind.__name__}", (kind,), {"__getattribute__": passed_on})
        return cast("T", object.__new__(stand_in))

    def current_inspector(self, inspector: Inspector) -> Inspector:
        """A real one of stand-ins: Litestar passes on nothing else where a route names this type."""
        return replace(
            inspector,
            client=self.current(Client, "inspector.client"),
            sandbox=self.current(Sandbox, "inspector.sandbox"),
            turns=self.current(Turns, "inspector.turns"),
        )

    def now(self) -> datetime:
        return self.parts.clock()


_built: dict[Hashable, _Built] = {}


def create_app(
    database: Database,
    clock: Clock,
    api_token: SecretStr | None = None,
    web: WebOptions | None = None,
    issuer: Issuer | None = None,
    openid: OpenId | None = None,
    limits: RateLimits | None = None,
    streams: StreamOptions = ENDING,
) -> Litestar:
    """As `headwater.server.create_app`. A test that builds two gets two."""
    web, database = web or PLAIN, _limited(database)
    if issuer or limits or web.trials or web.upload_sandbox or web.settings or streams is not ENDING:
        return build_app(database, clock, api_token, web, issuer, openid, limits, streams)
    parts = _Parts(database, clock, web.summaries, web.inspector, openid)
    alike = replace(web, summaries=PLAIN.summaries, inspector=None)
    inspector = web.inspector
    of_inspector = inspector and (inspector.max_bytes, inspector.within)
    key = (api_token and api_token.get_secret_value(), alike, of_inspector, openid and openid.name)
    built = _built.setdefault(key, _Built(parts))
    if built.is_used:
        return build_app(database, clock, api_token, web, openid=openid, streams=streams)
    built.parts, built.is_used = parts, True
    if built.app is None:
        inspector = inspector and built.current_inspector(inspector)
        web = replace(web, summaries=built.current(SummaryOptions, "summaries"), inspector=inspector)
        openid = built.current(OpenId, "openid") if openid else None
        current = built.current(Database, "database")
        built.app = build_app(current, built.now, api_token, web, openid=openid, streams=streams)
    return built.app


def _limited(database: Database) -> Database:
    """As the server opens it. It refuses a transaction inside another one, so every test of a page notices one."""
    if isinstance(database, RequestDatabase):
        return database
    return RequestDatabase(database, statement_timeout=timedelta(minutes=1), per_user=10)


def release_apps() -> None:
    """A test has ended."""
    for built in _built.values():
        built.is_used = False
