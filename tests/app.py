"""The app for tests of pages and API: built once for each way to build it, since that takes a quarter of a second."""

from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from litestar import Litestar
from pydantic import SecretStr

from headwater.accounts.external import Issuer
from headwater.accounts.openid import OpenId
from headwater.api.limits import RateLimits
from headwater.db import Database
from headwater.server import create_app as build_app
from headwater.types import Clock
from headwater.web import WebOptions


@dataclass
class _Built:
    """An app, and what it works on in the test that uses it now."""

    database: Database
    clock: Clock
    app: Litestar | None = None
    is_used: bool = False


class _CurrentDatabase(Database):
    """The database of the test that runs."""

    def __init__(self, built: _Built) -> None:  # pyright: ignore[reportMissingSuperCall]
        object.__setattr__(self, "_built", built)

    def __getattribute__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_built").database, name)


_built: dict[Hashable, _Built] = {}


def create_app(
    database: Database,
    clock: Clock,
    api_token: SecretStr | None = None,
    web: WebOptions | None = None,
    issuer: Issuer | None = None,
    openid: OpenId | None = None,
    limits: RateLimits | None = None,
) -> Litestar:
    """As `headwater.server.create_app`. A test that builds two gets two."""
    key = (api_token.get_secret_value() if api_token else None, web)
    if issuer or openid or limits or (web and not _is_plain(web)):
        return build_app(database, clock, api_token, web, issuer, openid, limits)
    built = _built.setdefault(key, _Built(database, clock))
    if built.is_used:
        return build_app(database, clock, api_token, web)
    built.database, built.clock, built.is_used = database, clock, True
    if built.app is None:

        def now() -> datetime:
            return built.clock()

        built.app = build_app(_CurrentDatabase(built), now, api_token, web)
    return built.app


def _is_plain(web: WebOptions) -> bool:
    """Whether nothing in it belongs to one test."""
    return not (web.trials or web.inspector or web.upload_sandbox or web.settings)


def release_apps() -> None:
    """A test has ended."""
    for built in _built.values():
        built.is_used = False
