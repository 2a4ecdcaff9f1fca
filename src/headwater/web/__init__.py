"""Pages, rendered on the server: no build step, nothing inline."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from jinja2 import pass_context
from jinja2.runtime import Context
from litestar import Request, Router
from litestar.datastructures import CacheControlHeader
from litestar.handlers import HTTPRouteHandler
from litestar.plugins.jinja import JinjaTemplateEngine
from litestar.template.config import TemplateConfig
from litestar.types import ASGIApp
from markupsafe import Markup

from headwater.accounts.access import Access
from headwater.accounts.preferences.decide import zone_of
from headwater.accounts.quotas import Quotas
from headwater.accounts.types import AccountOptions
from headwater.alerts.types import AlertOptions
from headwater.asgi.compression import compress_pages
from headwater.asgi.csrf import FIELD, CsrfMiddleware, require_csrf_token
from headwater.asgi.handlers import preferences_of_request, provide
from headwater.asgi.session import RequestLimiter, SessionMiddleware, limit_visitors, require_role
from headwater.channels.types import DestinationLimits
from headwater.db import Database
from headwater.frontier.types import FrontierOptions
from headwater.library.summaries.types import SummaryOptions
from headwater.library.summaries.writer import SummaryWriter
from headwater.net.mail import Mailer
from headwater.polling.types import PollingOptions
from headwater.sandbox import Sandbox
from headwater.sources.custom.inspect import Inspector
from headwater.sources.trial import Trials
from headwater.types import Clock
from headwater.urls import masked
from headwater.web import channel_feeds, view_feeds
from headwater.web import format as formats
from headwater.web.assets import asset_url, send_asset
from headwater.web.label_filters import label_text, label_url, made_by, read_url, tag_query, tag_url
from headwater.web.manual import help_url
from headwater.web.routes import (
    account,
    adding,
    auth,
    dashboard,
    discover,
    downloads,
    feeds,
    help_pages,
    images,
    later,
    mutes,
    notifications,
    opml,
    preferences,
    read,
    tags,
    views,
)
from headwater.web.routes import rules as reader_rules
from headwater.web.routes.admin import (
    ai_usage,
    articles,
    audit,
    bulk,
    channels,
    design,
    filters,
    frontier,
    health,
    labels,
    moderation,
    palette,
    people,
    popularity,
    rules,
    settings,
    sources,
    stories,
)
from headwater.web.routes.admin.settings import SettingLine
from headwater.web.routes.admin.sources import DEFAULT_POLLING
from headwater.web.routes.read import article_url, line_cursor

_FOLDER = Path(__file__).parent
# Every route handler of these modules is served.
PAGES = (
    auth, account, preferences, dashboard, feeds, adding, opml, read, views, tags, discover, health, sources, bulk,
    filters, frontier, popularity, moderation, labels, rules, reader_rules, mutes, notifications, stories, channels,
    ai_usage, people, audit, settings, design, articles, help_pages, palette, downloads, later,
)  # fmt: skip


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
    destinations: DestinationLimits = field(default_factory=DestinationLimits)
    upload_sandbox: Sandbox | None = None  # None: files are parsed in a thread of this process
    settings: Sequence[SettingLine] = ()
    alerts: AlertOptions = field(default_factory=AlertOptions)
    mailer: Mailer | None = None  # None: no mail is sent


def csrf_field(request: Request[Any, Any, Any]) -> Markup:
    """The hidden field with the CSRF token, for every form that changes something."""
    return Markup('<input type="hidden" name="{}" value="{}">').format(FIELD, request.state.csrf_token)


@pass_context
def _moment(context: Context, then: datetime) -> str:
    """The exact time in the reader's time zone."""
    request = context.get("request")
    zone = preferences_of_request(request).time_zone if request else "UTC"
    return formats.moment(then, zone_of(zone))


def _configure(engine: JinjaTemplateEngine) -> None:
    engine.engine.trim_blocks = engine.engine.lstrip_blocks = True
    filters = cast("dict[str, Callable[..., str]]", engine.engine.filters)
    filters |= {filter_.__name__: filter_ for filter_ in formats.FILTERS}
    filters |= {"masked": masked, "line_cursor": line_cursor, "article_url": article_url, "moment": _moment}
    filters |= {filter_.__name__: filter_ for filter_ in (label_text, label_url, made_by, read_url, tag_query, tag_url)}
    cast("dict[str, Any]", engine.engine.globals).update(
        csrf_field=csrf_field, asset_url=asset_url, help_url=help_url, preferences_of=preferences_of_request
    )


templates = TemplateConfig(directory=_FOLDER / "templates", engine=JinjaTemplateEngine, engine_callback=_configure)


def web_routes(database: Database, clock: Clock, options: WebOptions) -> list[Router]:
    """All pages, with static files."""
    access = Access(database, clock, options.accounts, site=options.site)
    limiter, lookups = RequestLimiter(), RequestLimiter()  # for all routes together
    pictures = RequestLimiter()  # of their own: the icons of a page keep no other request waiting

    def with_session(app: ASGIApp) -> ASGIApp:
        return SessionMiddleware(app, access, clock, limiter, lookups)

    def with_pictures(app: ASGIApp) -> ASGIApp:
        return SessionMiddleware(app, access, clock, pictures, lookups)

    def with_csrf(app: ASGIApp) -> ASGIApp:
        return CsrfMiddleware(app, access)

    values = provide(
        access=access, polling_options=options.polling, upload_sandbox=options.upload_sandbox, trials=options.trials,
        setting_lines=options.settings, alert_options=options.alerts, mailer=options.mailer,
        frontier_options=options.frontier,
        summary_writer=SummaryWriter(database, clock, options.summaries), site=options.site,
    )  # fmt: skip
    found = [value for module in PAGES for value in vars(module).values() if isinstance(value, HTTPRouteHandler)]
    pages = Router(
        "/",
        route_handlers=found,
        middleware=[compress_pages, with_session, with_csrf],
        # Roles first: after a logout the message is to log in, not that the form has expired.
        guards=[require_role, require_csrf_token],
        dependencies=values,
        cache_control=CacheControlHeader(no_store=True),
        include_in_schema=False,
    )
    icons = Router(
        "/",
        route_handlers=[images.feed_icon, images.lead_image],
        middleware=[with_pictures],
        guards=[require_role],
        include_in_schema=False,
    )
    by_secret = [channel_feeds.channel_atom, channel_feeds.channel_json_feed, *view_feeds.ROUTES]
    return [
        pages,
        icons,
        Router(
            "/",
            route_handlers=by_secret,
            middleware=[limit_visitors(limiter)],
            dependencies=provide(site=options.site),
            include_in_schema=False,
        ),
        Router("/", route_handlers=[send_asset], middleware=[limit_visitors(RequestLimiter())]),
    ]
