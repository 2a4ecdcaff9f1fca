"""The composition root: opens database, client, sandboxes and index from settings, and closes them in order.

Everything below takes the values it needs as arguments.
"""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from pydantic import SecretStr

from headwater import __version__
from headwater.accounts.external import Issuer
from headwater.accounts.keys import FixedKey, PublishedKeys
from headwater.accounts.openid import OpenId, OpenIdOptions
from headwater.accounts.quotas import Quotas
from headwater.accounts.types import AccountOptions
from headwater.ai.types import AiOptions
from headwater.alerts.decide import SLICES
from headwater.alerts.types import AlertOptions, Thresholds
from headwater.api.limits import RateLimits
from headwater.asgi.session import is_loopback
from headwater.asgi.streams import StreamOptions
from headwater.channels.types import DestinationLimits
from headwater.db import Database, check_conninfo
from headwater.db.embedded import EmbeddedServer
from headwater.db.migrate import Migration, Progress, check_database, migrate_up
from headwater.errors import InvalidSettings
from headwater.extraction.types import ExtractionOptions
from headwater.fetching.types import FetchingOptions
from headwater.frontier.types import FrontierOptions
from headwater.hosts.turns import Turns
from headwater.images.types import ImageOptions
from headwater.library.summaries.types import SummaryOptions
from headwater.net import Client
from headwater.net.mail import Mailer, SmtpServer
from headwater.pipeline import StageOptions, Tools
from headwater.polling.decide import MOST_OFF
from headwater.polling.types import PollingOptions
from headwater.publishing.delivery.types import DeliveringOptions
from headwater.publishing.elasticsearch import SearchIndex
from headwater.publishing.types import IndexOptions
from headwater.retention.types import RetentionOptions
from headwater.sandbox import Sandbox
from headwater.settings import PREFIX, Settings, allowed, shown
from headwater.sitemaps.types import Limits, SitemapOptions
from headwater.spider.types import SpiderOptions
from headwater.understanding.tagging.types import TaggingOptions
from headwater.understanding.types import ClassifyingOptions
from headwater.urls import http_url
from headwater.web import WebOptions
from headwater.web.routes.admin.settings import SettingLine

WRITING = timedelta(seconds=10)  # how long writing may take after a feed is read, within the lease of its host
DELIVERING_LEASE = timedelta(minutes=2)
INDEX_TIMEOUT = timedelta(seconds=60)
SITEMAP_CHILDREN = 200  # of an index in one visit, the newest first
SITEMAP_BYTES = 52_428_800  # what the protocol allows, decompressed
HOST_HELD = timedelta(seconds=30)  # then other hosts of the queue follow
HOST_LEASE = timedelta(minutes=1)
URLS_PER_HOST = 20
CLASSIFIED_AT_ONCE = 20  # articles in one call of the sandbox
ROBOT = "headwater"  # our name in a robots.txt


@dataclass(frozen=True, slots=True)
class Runtime:
    """Everything that is open while Headwater runs."""

    settings: Settings
    tools: Tools
    server: EmbeddedServer | None
    upload_sandbox: Sandbox

    @property
    def database(self) -> Database:
        return self.tools.database

    async def watch_database(self) -> None:
        """Log outages of the database, and keep the embedded server running where there is one."""
        self.database.log_outages()
        if self.server is not None:
            await self.server.keep_running()


def utc_now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251  the one place that reads the clock


@dataclass(frozen=True, slots=True)
class DatabaseServer:
    """How to connect: the owner of the tables, for migrations, and the application, for everything else."""

    owner: str
    app: str
    embedded: EmbeddedServer | None = None

    async def migrate(self, *, to: int | None = None, progress: Progress | None = None) -> Sequence[Migration]:
        """Bring schema, roles, grants and policies up to date. Raises what `migrate_up` raises."""
        return await migrate_up(self.owner, to=to, progress=progress, is_app_login=self.owner == self.app)


@contextmanager
def database_server(settings: Settings) -> Iterator[DatabaseServer]:
    """The given server, or the embedded one, which runs meanwhile. Raises EmbeddedServerFailed, Invalid."""
    if settings.database_url is not None:
        app = check_conninfo(settings.database_url.get_secret_value())
        owner = settings.migration_database_url
        yield DatabaseServer(check_conninfo(owner.get_secret_value()) if owner else app, app)
        return
    server = EmbeddedServer(settings.data_dir)
    try:
        server.start()
        yield DatabaseServer(server.conninfo, server.app_conninfo, server)
    finally:
        server.leave()


@asynccontextmanager
async def open_runtime(settings: Settings, *, migrate: bool = False) -> AsyncIterator[Runtime]:
    """Open everything; close it at the end. An embedded database is always migrated, a given one with `migrate`.

    Raises DatabaseUnavailable, EmbeddedServerFailed, SchemaBehind, SchemaTooNew, SchemaUnreleased,
    MigrationFailed, RightsMissing.
    """
    with database_server(settings) as server:
        if migrate or server.embedded is not None:
            await server.migrate()
        await check_database(server.app)
        async with (
            Database(server.app, pool_size=settings.database_pool_size, wait=settings.database_wait) as database,
            open_client(settings) as client,
            open_sandbox(settings) as feeds,
            open_page_sandbox(settings) as pages,
            open_text_sandbox(settings) as texts,
            open_image_sandbox(settings) as images,
            open_sandbox(settings, processes=1, preload="headwater.sources.opml") as uploads,  # no stage waits for it
            open_index(settings) as index,
        ):
            await database.connect()
            options, mailer = options_of(settings), mailer_of(settings)
            tools = Tools(database, client, feeds, pages, texts, images, utc_now, options, index, mailer=mailer)
            yield Runtime(settings, tools, server.embedded, uploads)


@asynccontextmanager
async def open_turns(settings: Settings) -> AsyncIterator[Turns | None]:
    """Turns at hosts for commands that need no database. None where no process of this folder uses one.

    Raises what `open_runtime` raises, except MigrationFailed.
    """
    if settings.database_url is None and EmbeddedServer(settings.data_dir).pid() is None:
        yield None
        return
    with database_server(settings) as server:
        await check_database(server.app)
        lease = options_of(settings).fetching.lease
        async with Database(server.app, pool_size=2, wait=settings.database_wait) as database:
            await database.connect()
            yield Turns(database, utc_now, delay=settings.fetch_host_delay, lease=lease)


# Client and sandboxes are async context managers.
def open_client(settings: Settings) -> Client:
    agent = settings.user_agent or f"Headwater/{__version__} (+{settings.contact_url})"
    return Client(user_agent=agent, allow_loopback=settings.allow_loopback, resolve=settings.resolve)


def open_sandbox(settings: Settings, *, processes: int = 0, preload: str = "headwater.polling.read") -> Sandbox:
    """Processes that parse feeds and uploads; 0: as many as the settings say."""
    return Sandbox(
        processes=processes or settings.parse_processes, time_limit=settings.parse_timeout,
        memory_limit=settings.parse_memory, preload=(preload,),
    )  # fmt: skip


def open_page_sandbox(settings: Settings) -> Sandbox:
    """Processes that read pages and sitemaps."""
    return Sandbox(
        processes=settings.extract_processes, time_limit=settings.extract_timeout, memory_limit=settings.parse_memory,
        preload=("headwater.extraction.extract", "headwater.sitemaps.read", "headwater.spider.find_links"),
    )  # fmt: skip


def open_image_sandbox(settings: Settings) -> Sandbox:
    """One process that resizes images: hostile ones take all of their time, and pages would wait for them."""
    return Sandbox(
        processes=1, time_limit=settings.extract_timeout, memory_limit=settings.parse_memory,
        preload=("headwater.images.resize", "headwater.images.page_icons"),
    )  # fmt: skip


def open_text_sandbox(settings: Settings) -> Sandbox:
    """Processes that read texts of articles: of their own, since each has 150 MB of models in memory."""
    return Sandbox(
        processes=settings.classify_processes, time_limit=settings.classify_timeout, memory_limit=settings.parse_memory,
        preload=("headwater.understanding.loaded",),
    )  # fmt: skip


def _revealed(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret else None


def open_index(settings: Settings) -> AbstractAsyncContextManager[SearchIndex | None]:
    """The search index, if one is set. Raises Invalid."""
    url, key = _revealed(settings.elasticsearch_url), _revealed(settings.elasticsearch_api_key)
    if url is None:
        return nullcontext()
    return SearchIndex(url, alias=settings.elasticsearch_index, timeout=INDEX_TIMEOUT, api_key=key)


def web_options(settings: Settings, *, listens_at: str = "") -> WebOptions:
    """Options of the pages. `listens_at` is their URL unless the settings name a public one. Raises Invalid."""
    return WebOptions(
        site=site_of(settings, listens_at),
        accounts=AccountOptions(
            access_lifetime=settings.session_renewal, refresh_lifetime=settings.session_lifetime,
            registration=settings.registration, confirm_email=settings.confirm_email,
            hide_accounts=settings.hide_accounts, setup_code=not listens_on_loopback_only(settings),
        ),
        summaries=SummaryOptions(
            ai=ai_options(settings), model=settings.summary_model, temperature=settings.summary_temperature,
            max_tokens=settings.summary_max_tokens, timeout=settings.summary_timeout,
            daily_limit=settings.summary_daily_limit, total_limit=settings.summary_total_limit,
        ),
        frontier=frontier_options(settings),
        polling=polling_options(settings),
        quotas=quotas_of(settings),
        destinations=destination_limits(settings),
        settings=setting_lines(settings),
        alerts=alert_options(settings),
        mailer=mailer_of(settings),
    )  # fmt: skip


def ai_options(settings: Settings) -> AiOptions:
    return AiOptions(
        api_key=_revealed(settings.openrouter_api_key), base_url=settings.openrouter_base_url,
        monthly_budget=settings.ai_monthly_budget, price_in=settings.ai_price_in, price_out=settings.ai_price_out,
    )  # fmt: skip


def quotas_of(settings: Settings) -> Quotas:
    return Quotas(
        subscriptions=settings.feeds_per_user, imports_per_day=settings.imports_per_day,
        suggestions_per_day=settings.suggestions_per_day, retries_per_hour=settings.retries_per_hour,
        views=settings.views_per_user, tags=settings.tags_per_article, rules=settings.rules_per_user,
        notifications_per_day=settings.notifications_per_day, saved=settings.saved_per_user,
        saved_per_day=settings.saved_per_day,
    )  # fmt: skip


def destination_limits(settings: Settings) -> DestinationLimits:
    """Where channels may send to."""
    return DestinationLimits(
        hosts=frozenset(settings.channel_hosts), has_directory=settings.channel_directory is not None,
        has_index=settings.elasticsearch_url is not None, allow_loopback=settings.allow_loopback,
    )  # fmt: skip


def delivering_options(settings: Settings) -> DeliveringOptions:
    timeout, directory = settings.delivering_timeout, settings.channel_directory
    return DeliveringOptions(
        limits=destination_limits(settings), directory=str(directory) if directory else None,
        concurrency=settings.delivering_concurrency, timeout=timeout, lease=max(DELIVERING_LEASE, 4 * timeout),
        kept=settings.retention_deliveries,
    )  # fmt: skip


def rate_limits(settings: Settings) -> RateLimits:
    return RateLimits(per_token=settings.api_rate_per_token, per_address=settings.api_rate_per_address)


def stream_options(settings: Settings) -> StreamOptions:
    reading = max(1, settings.database_pool_size // 3)
    return StreamOptions(most=settings.api_streams, per_user=settings.api_streams_per_user, reading=reading)


def setting_lines(settings: Settings) -> list[SettingLine]:
    """The settings for the operators' page; secrets are masked."""
    return [
        SettingLine(
            f"{PREFIX}{name.upper()}", shown(name, getattr(settings, name)), name in settings.model_fields_set,
            allowed(name), field.description or "",
        )
        for name, field in Settings.model_fields.items()
    ]  # fmt: skip


def site_of(settings: Settings, listens_at: str = "") -> str:
    """The URL of this instance, for links."""
    return (settings.public_url or listens_at or http_url(settings.host, settings.port)).rstrip("/")


def mailer_of(settings: Settings) -> Mailer:
    """Raises Invalid."""
    smtp = _revealed(settings.smtp_url)
    return Mailer(SmtpServer.parse(smtp) if smtp else None, settings.smtp_from)


def alert_options(settings: Settings) -> AlertOptions:
    """Raises InvalidSettings."""
    if settings.alert_email and settings.smtp_url is None:
        raise InvalidSettings(["HEADWATER_ALERT_EMAIL needs HEADWATER_SMTP_URL, the mail server."])
    if settings.alert_every > min(settings.alert_stage_stopped / 2, settings.alert_queue_window / SLICES):
        most = "half of HEADWATER_ALERT_STAGE_STOPPED and a sixth of HEADWATER_ALERT_QUEUE_WINDOW"
        raise InvalidSettings([f"HEADWATER_ALERT_EVERY is too long: it may be at most {most}."])
    thresholds = Thresholds(
        disabled_percent=settings.alert_disabled_percent, disabled_for=settings.alert_disabled_for,
        disabled_least=settings.alert_disabled_least, critical_errors=settings.alert_critical_errors,
        no_success=settings.alert_no_success, stage_stopped=settings.alert_stage_stopped,
        queue_window=settings.alert_queue_window, queue_least=settings.alert_queue_least,
        channel_failing=settings.alert_channel_failing,
    )  # fmt: skip
    return AlertOptions(
        thresholds, settings.alert_every, settings.alert_settle, settings.alert_digest,
        webhook_url=_revealed(settings.alert_webhook_url), recipients=settings.alert_email, site=site_of(settings),
    )  # fmt: skip


def token_issuer(settings: Settings, client: Client) -> Issuer | None:
    """The external issuer whose tokens the API accepts, if one is set. Raises Invalid, InvalidSettings."""
    if not settings.jwt_issuer:
        if settings.jwt_key or settings.jwks_url:
            raise InvalidSettings(["HEADWATER_JWT_KEY and HEADWATER_JWKS_URL need HEADWATER_JWT_ISSUER."])
        return None
    if bool(settings.jwt_key) == bool(settings.jwks_url):
        raise InvalidSettings(["HEADWATER_JWT_ISSUER needs either HEADWATER_JWT_KEY or HEADWATER_JWKS_URL."])
    if settings.jwt_key:
        keys = FixedKey(settings.jwt_key.get_secret_value())
    else:
        keys = PublishedKeys(client, settings.jwks_url or "", utc_now)
    return Issuer(keys, utc_now, name=settings.jwt_issuer, audience=settings.jwt_audience)


def openid_login(settings: Settings, client: Client, *, site: str) -> OpenId | None:
    """The OpenID Connect issuer with which users may log in, if one is set. Raises InvalidSettings."""
    if not settings.oidc_issuer:
        return None
    client_id, secret = settings.oidc_client_id, settings.oidc_client_secret
    if not client_id or secret is None:
        needed = "HEADWATER_OIDC_CLIENT_ID and HEADWATER_OIDC_CLIENT_SECRET"
        raise InvalidSettings([f"HEADWATER_OIDC_ISSUER needs {needed}."])
    back = f"{site}/auth/openid/callback"
    options = OpenIdOptions(issuer=settings.oidc_issuer, client_id=client_id, client_secret=secret, back=back)
    return OpenId(client, utc_now, options)


def listens_on_loopback_only(settings: Settings) -> bool:
    """Whether only this machine reaches the pages. With a public URL or a trusted proxy, others do."""
    public = urlsplit(settings.public_url).hostname
    return is_loopback(settings.host) and not settings.trusted_proxies and (public is None or is_loopback(public))


def frontier_options(settings: Settings) -> FrontierOptions:
    return FrontierOptions(
        min_delay=settings.fetch_host_delay, max_crawl_delay=settings.fetch_crawl_delay_max,
        max_retries=settings.max_retries, max_depth=settings.fetch_depth_max,
        max_host_urls=settings.fetch_host_urls_max,
    )  # fmt: skip


def polling_options(settings: Settings) -> PollingOptions:
    return PollingOptions(
        interval=settings.poll_interval, interval_min=settings.poll_interval_min,
        interval_max=settings.poll_interval_max, host_delay=settings.poll_host_delay,
        concurrency=settings.poll_concurrency, timeout=settings.poll_timeout,
        lease=settings.poll_timeout + settings.parse_timeout + WRITING, max_bytes=settings.poll_max_bytes,
        max_entries=settings.poll_max_entries, policy=settings.poll_policy, max_failures=settings.poll_max_failures,
        max_backoff=settings.poll_max_backoff, is_enabled=settings.poll_enabled,
        check_interval=settings.poll_check_interval,
    )  # fmt: skip


def _classifying_lease(settings: Settings) -> timedelta:
    """Long enough for a batch that is killed, and then each of its articles, twice: another batch may be first."""
    return 2 * (CLASSIFIED_AT_ONCE + 1) * settings.classify_timeout + WRITING


def options_of(settings: Settings) -> StageOptions:
    """Options of the stages. Raises InvalidSettings."""
    lease = settings.extract_timeout * settings.extract_processes + WRITING
    robot = re.match(r"[a-zA-Z_-]+", settings.user_agent)  # a robots.txt names us by the first word
    return StageOptions(
        polling=polling_options(settings),
        delivering=delivering_options(settings),
        frontier=frontier_options(settings),
        fetching=FetchingOptions(
            concurrency=settings.worker_count, timeout=settings.request_timeout, idle=settings.claim_retry_delay,
            crawl_delay_max=settings.fetch_crawl_delay_max, hold=HOST_HELD,
            lease=max(HOST_LEASE, settings.request_timeout + settings.fetch_host_delay + WRITING),
            urls_per_host=URLS_PER_HOST, max_bytes=settings.fetch_max_bytes, sitemap_max_bytes=SITEMAP_BYTES,
            robot=robot[0].lower() if robot else ROBOT,
        ),
        extraction=ExtractionOptions(concurrency=settings.extract_processes * 2, lease=lease * 2),
        sitemaps=SitemapOptions(
            Limits(
                max_age=settings.sitemap_max_age, max_pages=settings.sitemap_max_urls,
                max_children=SITEMAP_CHILDREN, max_bytes=SITEMAP_BYTES,
            ),
            budget=settings.sitemap_budget, concurrency=settings.extract_processes, lease=lease,
        ),
        spider=SpiderOptions(budget=settings.spider_budget, concurrency=settings.extract_processes, lease=lease),
        classifying=ClassifyingOptions(
            concurrency=settings.classify_processes * 2, lease=_classifying_lease(settings),
            batch=CLASSIFIED_AT_ONCE, is_enabled=settings.classify_enabled,
        ),
        retention=RetentionOptions(
            articles=settings.retention_articles, events=settings.retention_events,
            polls=settings.retention_polls, clicks=settings.retention_clicks,
            longest_poll_wait=max(2 * settings.poll_interval_max, settings.poll_max_backoff, MOST_OFF)
            + timedelta(days=1),
        ),
        index=IndexOptions(
            batch_documents=500, batch_bytes=5_000_000, concurrency=2, lease=timedelta(minutes=5),
            wait_min=timedelta(seconds=1), wait_max=timedelta(minutes=5),
        ),
        alerts=alert_options(settings),
        quotas=quotas_of(settings),
        ai=ai_options(settings),
        tagging=TaggingOptions(
            model=settings.ai_tagging_model, concurrency=settings.ai_tagging_concurrency,
            is_enabled=settings.ai_tagging,
        ),
        images=ImageOptions(
            icons=settings.icons, lead_images=settings.lead_images, max_bytes=settings.image_max_bytes,
            budget_bytes=settings.image_budget_mb * 1_000_000, timeout=settings.request_timeout,
        ),
    )  # fmt: skip
