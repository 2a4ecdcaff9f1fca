"""Pages, rendered on the server: no build step, nothing inline."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from litestar import Request, Router, get
from litestar.datastructures import CacheControlHeader
from litestar.handlers import HTTPRouteHandler
from litestar.plugins.jinja import JinjaTemplateEngine
from litestar.static_files import create_static_files_router  # pyright: ignore[reportUnknownVariableType]
from litestar.template.config import TemplateConfig
from litestar.types import ASGIApp
from markupsafe import Markup

from headwater.accounts.access import Access
from headwater.accounts.quotas import Quotas
from headwater.accounts.types import AccountOptions
from headwater.asgi.csrf import FIELD, CsrfMiddleware, require_csrf_token
from headwater.asgi.handlers import provide
from headwater.asgi.session import RequestLimiter, SessionMiddleware, require_role
from headwater.db import Database
from headwater.frontier.types import FrontierOptions
from headwater.library.summaries.types import SummaryOptions
from headwater.library.summaries.writer import SummaryWriter
from headwater.polling.types import PollingOptions
from headwater.sandbox import Sandbox
from headwater.sources.custom.inspect import Inspector
from headwater.sources.trial import Trials
from headwater.types import Clock
from headwater.urls import masked
from headwater.web import format as formats
from headwater.web.routes import account, auth, dashboard, discover, feeds, opml, read
from headwater.web.routes.admin import audit, frontier, health, moderation, people, popularity, settings, sources
from headwater.web.routes.admin.settings import SettingLine
from headwater.web.routes.admin.sources import DEFAULT_POLLING
from headwater.web.routes.read import line_cursor

_FOLDER = Path(__file__).parent
# Every route handler of these modules is served.
PAGES = (
    auth, account, dashboard, feeds, opml, read, discover, health, sources, frontier, popularity, moderation, people,
    audit, settings,
)  # fmt: skip
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

    values = provide(
        access=access, polling_options=options.polling, upload_sandbox=options.upload_sandbox, trials=options.trials,
        setting_lines=options.settings, frontier_options=options.frontier,
        summary_writer=SummaryWriter(database, clock, options.summaries),
    )  # fmt: skip
    found = [value for module in PAGES for value in vars(module).values() if isinstance(value, HTTPRouteHandler)]
    pages = Router(
        "/",
        route_handlers=found,
        middleware=[with_session, with_csrf],
        # Roles first: after a logout the message is to log in, not that the form has expired.
        guards=[require_role, require_csrf_token],
        dependencies=values,
        cache_control=CacheControlHeader(no_store=True),
        include_in_schema=False,
    )
    return [
        pages,
        create_static_files_router("/static", directories=[_FOLDER / "static"], include_in_schema=False),
        Router("/vendor", route_handlers=[_htmx], include_in_schema=False),
    ]


@get("/htmx.min.js", media_type="text/javascript", cache_control=CacheControlHeader(max_age=86_400, public=True))
async def _htmx() -> bytes:
    """Serve the htmx script from its package: no copy in this repository, no request to a CDN."""
    return _HTMX
