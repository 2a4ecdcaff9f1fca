"""Pages, rendered on the server: no build step, nothing inline."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from litestar import Request, Router, get
from litestar.datastructures import CacheControlHeader
from litestar.di import Provide
from litestar.plugins.jinja import JinjaTemplateEngine
from litestar.static_files import create_static_files_router  # pyright: ignore[reportUnknownVariableType]
from litestar.template.config import TemplateConfig
from litestar.types import ASGIApp
from markupsafe import Markup

from headwater.accounts.access import Access
from headwater.accounts.quotas import Quotas
from headwater.accounts.types import AccountOptions
from headwater.asgi.concurrency import RequestLimiter
from headwater.asgi.forgery import FIELD, CsrfMiddleware, require_csrf_token
from headwater.asgi.session import SessionMiddleware, require_role
from headwater.db import Database
from headwater.frontier.types import FrontierOptions
from headwater.library.summaries.types import SummaryOptions
from headwater.polling.types import PollingOptions
from headwater.sandbox import Sandbox
from headwater.sources.custom.inspect import Inspector
from headwater.sources.trial import Trials
from headwater.types import Clock
from headwater.urls import masked
from headwater.web import format as formats
from headwater.web.routes.account import account_pages
from headwater.web.routes.admin import admin_pages
from headwater.web.routes.admin.settings import SettingLine
from headwater.web.routes.admin.sources import DEFAULT_POLLING
from headwater.web.routes.auth import auth_pages
from headwater.web.routes.dashboard import dashboard
from headwater.web.routes.discover import discover_pages
from headwater.web.routes.export import export_pages
from headwater.web.routes.feeds import feed_pages
from headwater.web.routes.front import front_pages
from headwater.web.routes.opml import opml_pages
from headwater.web.routes.read import line_cursor, read_pages
from headwater.web.routes.summaries import summary_dependencies, summary_pages

_FOLDER = Path(__file__).parent
_HTMX = (files("django_htmx") / "static" / "django_htmx" / "htmx-2.min.js").read_bytes()


@dataclass(frozen=True, slots=True)
class WebOptions:
    """Options of the pages; from settings."""

    site: str = "http://127.0.0.1:8000"  # the public URL; links in emails begin with it
    accounts: AccountOptions = field(default_factory=AccountOptions)
    summaries: SummaryOptions = field(default_factory=SummaryOptions)
    frontier: FrontierOptions = field(default_factory=FrontierOptions)
    polling: PollingOptions = DEFAULT_POLLING
    trials: Trials | None = None  # None: this server makes no outgoing requests
    inspector: Inspector | None = None
    quotas: Quotas = field(default_factory=Quotas)
    upload_sandbox: Sandbox | None = None  # None: files are parsed in a thread of this process
    settings: Sequence[SettingLine] = ()


def csrf_field(request: Request[Any, Any, Any]) -> Markup:
    """The hidden field with the CSRF token, for every form that changes something."""
    return Markup('<input type="hidden" name="{}" value="{}">').format(FIELD, request.state.csrf_token)


def _configure(engine: JinjaTemplateEngine) -> None:
    engine.engine.trim_blocks = engine.engine.lstrip_blocks = True
    filters = cast("dict[str, Callable[..., str]]", engine.engine.filters)
    filters |= {filter_.__name__: filter_ for filter_ in formats.FILTERS}
    filters |= {"masked": masked, "line_cursor": line_cursor}
    cast("dict[str, Any]", engine.engine.globals)["csrf_field"] = csrf_field


templates = TemplateConfig(directory=_FOLDER / "templates", engine=JinjaTemplateEngine, engine_callback=_configure)


def web_routes(database: Database, clock: Clock, options: WebOptions) -> list[Router]:
    """All pages, with static files."""
    access = Access(database, clock, options.accounts, site=options.site)
    limiter = RequestLimiter()

    def with_session(app: ASGIApp) -> ASGIApp:
        return SessionMiddleware(app, access, clock, limiter)

    def with_csrf(app: ASGIApp) -> ASGIApp:
        return CsrfMiddleware(app, access)

    pages = Router(
        "/",
        route_handlers=[
            *front_pages,
            *auth_pages,
            *account_pages,
            *export_pages,
            dashboard,
            *feed_pages,
            *opml_pages,
            *summary_pages,
            *read_pages,
            *discover_pages,
            *admin_pages,
        ],
        middleware=[with_session, with_csrf],
        # Roles first: after a logout the message is to log in, not that the form has expired.
        guards=[require_role, require_csrf_token],
        dependencies={
            "access": Provide(lambda: access, sync_to_thread=False),
            "polling_options": Provide(lambda: options.polling, sync_to_thread=False),
            "upload_sandbox": Provide(lambda: options.upload_sandbox, sync_to_thread=False),
            "trials": Provide(lambda: options.trials, sync_to_thread=False),
            "setting_lines": Provide(lambda: options.settings, sync_to_thread=False),
            "frontier_options": Provide(lambda: options.frontier, sync_to_thread=False),
            **summary_dependencies(database, clock, options.summaries),
        },
        cache_control=CacheControlHeader(no_store=True),
        include_in_schema=False,
    )
    return [
        pages,
        create_static_files_router("/static", directories=[_FOLDER / "static"], include_in_schema=False),
        Router("/vendor", route_handlers=[_htmx], include_in_schema=False),
    ]


@get(
    "/htmx.min.js",
    media_type="text/javascript",
    cache_control=CacheControlHeader(max_age=86_400, public=True),
    sync_to_thread=False,
)
def _htmx() -> bytes:
    """Serve the htmx script from its package: no copy in this repository, no request to a CDN."""
    return _HTMX
