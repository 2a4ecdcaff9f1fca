"""Settings: one frozen object, from the environment and an optional TOML file. Nothing else reads either.

`headwater settings` and docs/settings.md are made from the fields. Only the composition root uses this object.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args, get_origin
from urllib.parse import urlsplit

import platformdirs
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from headwater.errors import InvalidSettings
from headwater.text import text_problem

PREFIX = "HEADWATER_"
CONFIG_VARIABLE = "HEADWATER_CONFIG"
CONFIG_NAME = "headwater.toml"
DEFAULT_CONTACT = "https://headwater.example/"  # `doctor` asks for a real one
API_TOKEN_LEAST = 16  # characters
# Names that other programs set too, and that people expect to work without our prefix.
PLAIN_NAMES = {
    "DATABASE_URL": "database_url",
    "FRONTIER_DB_URL": "database_url",  # from here to MAX_RETRIES, as seed 004 names them
    "WORKER_COUNT": "worker_count",
    "USER_AGENT": "user_agent",
    "REQUEST_TIMEOUT": "request_timeout",
    "CLAIM_RETRY_DELAY": "claim_retry_delay",
    "MAX_RETRIES": "max_retries",
    "FEED_POLLER_ENABLED": "poll_enabled",
    "FEED_POLLER_POLL_INTERVAL": "poll_check_interval",
    "FEED_POLLER_MAX_CONCURRENCY": "poll_concurrency",
} | {
    name.upper(): name
    for name in (
        "log_level", "log_format", "elasticsearch_url", "elasticsearch_api_key", "openrouter_api_key",
        "openrouter_base_url",
    )
}  # fmt: skip

_DURATION = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\s*$")
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


def _duration(value: object) -> object:
    """Reads 30s, 15m, 1.5h, 2d, or a plain number of seconds."""
    if isinstance(value, timedelta):
        return value
    match = _DURATION.match(str(value))
    if match is None or isinstance(value, bool):
        raise ValueError("not a duration")
    return timedelta(seconds=float(match[1]) * _UNITS[match[2] or "s"])


def read_duration(text: str) -> timedelta:
    """A duration such as 30s on the command line. Only 0 needs no unit: `--interval 60` could mean minutes. Raises
    InvalidSettings."""
    try:
        duration = cast("timedelta", _duration(text))
    except (ValueError, OverflowError) as error:
        raise InvalidSettings([f"{text!r} is not a duration; write it like 30s, 15m or 2h."]) from error
    if duration and text.strip()[-1].isdigit():
        raise InvalidSettings([f"{text!r} has no unit; write it like 30s, 15m or 2h."])
    return duration


def _pairs(value: object) -> object:
    """Reads `zoo.test=127.0.0.1, other=127.0.0.2`, or a TOML table of the same."""
    if not isinstance(value, str):
        return value
    pairs = [part.partition("=") for part in value.split(",") if part.strip()]
    return {name.strip(): address.strip() for name, _, address in pairs}


def _matching(pattern: str) -> BeforeValidator:
    """Text that matches; empty is None."""

    def check(value: object) -> str | None:
        text = value.get_secret_value() if isinstance(value, SecretStr) else value
        if text is None or text == "":
            return None
        if not isinstance(text, str) or not re.fullmatch(pattern, text, re.DOTALL):
            raise ValueError("it does not match")
        return text

    return BeforeValidator(check)


def _address(value: object) -> str:
    return str(ip_address(str(value)))


def _network(value: object) -> str:
    return str(ip_network(str(value), strict=False)) if "/" in str(value) else _address(value)


def _listed(value: object) -> object:
    """Reads `10.0.0.1, 10.1.0.0/16`, or a TOML list of the same."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _host_name(value: object) -> str:
    text = str(value).strip().lower()
    if not re.fullmatch(r"[a-z0-9]([a-z0-9._-]{0,252})|[0-9a-f:.]{2,45}", text):
        raise ValueError("not a host name or address")
    return text


def _log_word(value: object) -> object:
    """Other programs write LOG_LEVEL=INFO or WARN, and LOG_FORMAT=text."""
    word = value.strip().lower() if isinstance(value, str) else value
    return {"warn": "warning", "text": "console"}.get(word, word) if isinstance(word, str) else word


Duration = Annotated[timedelta, BeforeValidator(_duration)]
Address = Annotated[str, BeforeValidator(_address)]
HostMap = Annotated[dict[str, Address], BeforeValidator(_pairs)]
Networks = Annotated[tuple[Annotated[str, BeforeValidator(_network)], ...], BeforeValidator(_listed)]
Emails = Annotated[tuple[Annotated[str, _matching(r"[^\s@<>,]+@[^\s@<>,]+")], ...], BeforeValidator(_listed)]
HostNames = Annotated[tuple[Annotated[str, BeforeValidator(_host_name)], ...], BeforeValidator(_listed)]
Secret = Annotated[SecretStr | None, _matching(".*")]


# Like pydantic's Field, these are typed as the setting.
def _time(default: str, least: str, most: str, description: str) -> Any:  # noqa: ANN401
    return Field(read_duration(default), ge=read_duration(least), le=read_duration(most), description=description)


def _int(default: int, least: int, most: int, description: str) -> Any:  # noqa: ANN401
    return Field(default, ge=least, le=most, description=description)


def _amount(default: str, most: int, description: str) -> Any:  # noqa: ANN401
    return Field(Decimal(default), ge=0, le=most, allow_inf_nan=False, description=description)


def _text(default: str | None, pattern: str, description: str) -> Any:  # noqa: ANN401
    return Field(default, pattern=pattern, description=description)


def _secret(description: str) -> Any:  # noqa: ANN401
    return Field(None, description=description)


def default_data_dir() -> Path:
    """Where an embedded database lives. Root's home is closed to the account that PostgreSQL then runs under."""
    if os.geteuid() == 0:
        return Path("/var/lib/headwater")
    return Path(platformdirs.user_data_dir("headwater", appauthor=False))


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=False)

    database_url: Secret = _secret("PostgreSQL 15 or newer to use. Empty: an embedded server in `data_dir`.")
    migration_database_url: Secret = _secret(
        "How `headwater migrate` connects to that server: as the owner of the tables. Empty: as `database_url`."
    )
    data_dir: Path = Field(default_factory=default_data_dir, description="Folder of the embedded database and its log.")
    database_pool_size: int = _int(10, 2, 500, "Maximum database connections of one process.")
    database_wait: Duration = _time("3s", "100ms", "5m", "Time a request waits for a connection before it gets 503.")
    statement_timeout: Duration = _time(
        "10s", "100ms", "10m", "Maximum time of one database statement of a page or API request, which then gets 503."
    )
    feeds_per_user: int = _int(5_000, 1, 1_000_000, "Maximum number of feeds one user may follow.")
    imports_per_day: int = _int(50, 1, 100_000, "Maximum number of OPML files one user may import in a day.")
    suggestions_per_day: int = _int(50, 1, 100_000, "Maximum public feeds one user may suggest a day; 20 an hour.")
    retries_per_hour: int = _int(30, 1, 100_000, "Maximum number of feeds one user may retry by hand in an hour.")
    views_per_user: int = _int(100, 1, 10_000, "Maximum number of views one user may have.")
    tags_per_article: int = _int(20, 1, 100, "Maximum number of tags of one article or feed of a user.")
    rules_per_user: int = _int(100, 1, 10_000, "Maximum number of rules one user may have, mutes included.")
    saved_per_user: int = _int(5_000, 1, 1_000_000, "Maximum number of articles and pages in Read later of one user.")
    saved_per_day: int = _int(200, 1, 100_000, "Maximum number of pages one user may save for later in a day.")
    notifications_per_day: int = _int(
        200, 0, 100_000, "Maximum number of articles a day of which the rules of one user notify them."
    )
    host: str = Field("127.0.0.1", min_length=1, description="Address the web server listens on.")
    port: int = _int(8000, 0, 65535, "Port the web server listens on; 0 picks a free one.")
    work_port: int = _int(0, 0, 65535, "Port on which `headwater work` serves /metrics and health; 0: none.")
    api_token: Annotated[SecretStr | None, _matching(rf"[\x21-\x7e]{{{API_TOKEN_LEAST},}}")] = _secret(
        "The operator's own API token, sent as `Authorization: Bearer …`. Empty: only users' tokens are accepted."
    )
    api_rate_per_token: int = _int(600, 0, 1_000_000, "API requests a minute with one token and process; 0: no limit.")
    api_rate_per_address: int = _int(
        1200, 0, 1_000_000, "API requests a minute from one address and process; 0: no limit."
    )
    api_streams: int = _int(100, 0, 10_000, "Open streams of the API in one process.")
    api_streams_per_user: int = _int(10, 0, 10_000, "Open streams of the API of one user in one process.")
    public_url: str = _text(
        "", r"^(https?://[^\s/?#@]+/?)?$", "Public URL of this instance, for links in emails. Empty: where it listens."
    )
    trusted_proxies: Networks = Field(
        (), description="Proxies in front of the web server whose X-Forwarded-For and X-Forwarded-Proto are trusted."
    )
    connections_per_network: int = _int(
        1000, 10, 65_536,
        "Open connections to the web server from one network (an IPv4 address, a /64 of IPv6); more are closed. "
        "At most a quarter of the files that the process may open. Trusted proxies have no limit.",
    )  # fmt: skip
    registration: bool = Field(True, description="Whether users may register. The first account can always be made.")
    confirm_email: bool = Field(False, description="Whether a new user must confirm their email before they log in.")
    hide_accounts: bool = Field(
        False, description="Whether a sign-up with a taken email is reported by email only. Implies `confirm_email`."
    )
    session_renewal: Duration = _time("15m", "1m", "1d", "Lifetime of a session's short-lived token.")
    session_lifetime: Duration = _time("30d", "1h", "400d", "How long an inactive user stays logged in.")
    smtp_url: Secret = _secret("Mail server for outgoing email. Empty: emails are written to the log.")
    smtp_from: str = _text(
        "Headwater <headwater@localhost>", r"^[^\r\n@<>]*<?[^\s@<>]+@[^\s@<>]+>?$", "Sender of emails."
    )
    jwt_issuer: str = _text(
        "", r"^[!-~]{0,500}$", "External issuer whose JWTs the API accepts, as in their claim `iss`. "
        "Supabase: https://PROJECT.supabase.co/auth/v1. Empty: none.",
    )  # fmt: skip
    jwt_audience: str = _text(
        "headwater", r"^[!-~]{1,500}$", "Audience those JWTs must have, their claim `aud`. Supabase: authenticated."
    )
    jwt_key: Secret = _secret("Key those JWTs are signed with: an HS256 secret, or a public key in PEM.")
    jwks_url: Annotated[str | None, _matching(r"https?://\S+")] = _secret(
        "Where the issuer publishes its keys (JWKS), instead of `jwt_key`."
    )
    oidc_issuer: str = _text(
        "", r"^(https?://[^\s?#@]+)?$", "OpenID Connect issuer with which users may also log in. "
        "Its redirect URI is `public_url` and /auth/openid/callback. Empty: none.",
    )  # fmt: skip
    oidc_client_id: str = _text("", r"^[!-~]{0,500}$", "Client id of Headwater at that issuer.")
    oidc_client_secret: Secret = _secret("Client secret of Headwater at that issuer.")
    log_level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(_log_word)] = Field(
        "info", description="Least severe event to log."
    )
    log_format: Annotated[Literal["auto", "console", "json"], BeforeValidator(_log_word)] = Field(
        "auto", description="Format of the log; `auto` is readable on a terminal and JSON otherwise."
    )
    contact_url: str = _text(
        DEFAULT_CONTACT, r"^(https?://|mailto:)\S+$", "Contact for site owners; part of the User-Agent."
    )
    allow_loopback: bool = Field(
        False, description="Let outbound requests reach 127.0.0.1, this machine itself. For the demo and tests only."
    )
    resolve: HostMap = Field(
        default_factory=dict,
        description="Names to resolve without DNS, each with all its subdomains: `zoo.test=127.0.0.1`.",
    )
    poll_policy: Literal["default", "cooldown", "backoff", "once", "five"] = Field(
        "default", description="What failures of a feed lead to, unless the source names another policy."
    )
    poll_enabled: bool = Field(True, description="Whether this process polls feeds, where it runs all stages.")
    poll_max_failures: int = _int(
        5, 1, 1000, "In policy `backoff`: permanent failures since the last success after which a feed is disabled."
    )
    poll_max_backoff: Duration = _time("1d", "1h", "30d", "In policy `backoff`: longest wait after a failed poll.")
    poll_interval: Duration = _time("1h", "1s", "1d", "How often a feed is polled until its rhythm is known.")
    poll_check_interval: Duration = _time(
        "1s", "1s", "10m", "Longest time between two checks for due feeds while none is due; a new feed waits as long."
    )
    poll_interval_min: Duration = _time("15m", "1s", "1d", "Shortest wait between two successful polls of a feed.")
    poll_interval_max: Duration = _time("1d", "1s", "30d", "Longest such wait of a feed, even if a site asks for more.")
    poll_host_delay: Duration = _time("3s", "0s", "1h", "Minimum time between two polls of feeds on the same host.")
    poll_concurrency: int = _int(10, 1, 500, "Maximum number of feeds one process polls at the same time.")
    poll_timeout: Duration = _time("30s", "100ms", "10m", "Maximum time of one poll, redirects and body included.")
    poll_max_bytes: int = _int(10_000_000, 1_000, 10**9, "Largest feed that is read, before and after decompression.")
    poll_max_entries: int = _int(50, 1, 10_000, "Maximum number of entries taken from one poll, the newest first.")
    parse_processes: int = _int(2, 1, 256, "Sandbox processes that parse feeds.")
    parse_timeout: Duration = _time("10s", "100ms", "10m", "Time after which the parsing of a feed is killed.")
    parse_memory: int = _int(10**9, 10**8, 10**11, "Maximum memory, in bytes, of a process that parses feeds.")
    worker_count: int = _int(10, 1, 1000, "Maximum number of hosts one process fetches pages from at the same time.")
    user_agent: str = _text(
        "", r"^[ -~]{0,200}$", "User-Agent of requests. Empty: Headwater, its version and `contact_url`."
    )
    request_timeout: Duration = _time("30s", "100ms", "10m", "Maximum time of one fetch, redirects and body included.")
    claim_retry_delay: Duration = _time(
        "1s", "10ms", "10m", "How long a fetcher that found no URL to fetch waits before it checks again."
    )
    max_retries: int = _int(8, 1, 100, "How often a page is retried before it is given up, over a day at least.")
    fetch_host_delay: Duration = _time(
        "1s", "0s", "1h", "Minimum time between two pages of a host; its robots.txt or source may ask for more."
    )
    fetch_crawl_delay_max: Duration = _time("30s", "0s", "1h", "Longest Crawl-delay of a robots.txt that is respected.")
    fetch_max_bytes: int = _int(10_000_000, 1_000, 10**9, "Largest page that is read, before and after decompression.")
    fetch_depth_max: int = _int(
        10, 0, 100, "Maximum depth at which a URL may be found by links or sitemaps; deeper URLs are taken for a trap."
    )
    fetch_host_urls_max: int = _int(500_000, 1, 10**9, "Maximum URLs of one host found by sitemaps and links.")
    extract_processes: int = _int(2, 1, 256, "Sandbox processes that read pages and sitemaps.")
    extract_timeout: Duration = _time("20s", "100ms", "10m", "Time after which the reading of a page is killed.")
    icons: bool = Field(True, description="Whether the icons of sources are fetched and stored.")
    lead_images: bool = Field(True, description="Whether the lead images of articles are fetched and stored.")
    image_max_bytes: int = _int(5_000_000, 10_000, 50_000_000, "Maximum size of an image, as its site sends it.")
    image_budget_mb: int = _int(
        2_000, 0, 10_000_000, "Maximum size of all stored lead images, in MB; those of the oldest articles are deleted."
    )
    classify_enabled: bool = Field(True, description="Whether this process labels articles, where it runs all stages.")
    classify_processes: int = _int(1, 1, 256, "Sandbox processes that read texts to label them; each uses 200 MB.")
    classify_timeout: Duration = _time(
        "10s", "100ms", "10m", "Time after which the reading of the texts of 20 articles is killed."
    )
    sitemap_max_age: Duration = _time(
        "7d", "1h", "3650d", "Maximum age of a sitemap's page to fetch, by its last change; undated ones always are."
    )
    sitemap_max_urls: int = _int(1_000, 1, 50_000, "Maximum pages taken from a sitemap in one visit, the newest first.")
    sitemap_budget: int = _int(500, 1, 100_000, "Maximum number of sitemaps of one source read in a day.")
    spider_budget: int = _int(
        1_000, 1, 1_000_000, "Maximum new pages a day found by links of a source without a budget of its own."
    )
    elasticsearch_url: Secret = _secret(
        "Elasticsearch or OpenSearch server that indexes every text. Empty: PostgreSQL alone searches."
    )
    elasticsearch_api_key: Secret = _secret("API key for it; its URL may contain a name and password instead.")
    elasticsearch_index: str = _text("raw_content", r"^[a-z][a-z0-9_-]{0,100}$", "Name of the index's alias.")
    channel_hosts: HostNames = Field(
        (),
        description="Redis and NATS servers of channels, and hosts of webhooks whose address is private.",
    )
    channel_directory: Annotated[Path | None, _matching(r"/.+")] = Field(
        None, description="Folder into which channels may write files. Empty: they write none."
    )
    delivering_concurrency: int = _int(4, 1, 100, "Maximum number of channels one process sends at the same time.")
    delivering_timeout: Duration = _time("30s", "1s", "5m", "Maximum time of one request to a channel's destination.")
    retention_deliveries: Duration = _time(
        "7d", "1h", "3650d", "How long delivered messages can be replayed; a channel's stream goes back as far."
    )
    openrouter_api_key: Annotated[SecretStr | None, _matching(r"[\x21-\x7e]+")] = _secret(
        "API key of the service that writes summaries and tags articles. Empty: this machine summarises, none tags."
    )
    openrouter_base_url: str = _text(
        "https://openrouter.ai/api/v1", r"^https?://\S+$", "OpenAI-compatible service of all language models."
    )
    ai_monthly_budget: Decimal = _amount(
        "500", 1_000_000, "Most that all calls to language models may cost in a calendar month (UTC), in dollars, "
        "unless a ceiling is set for the month at /admin/ai-usage. 0: no calls.",
    )  # fmt: skip
    ai_price_in: Decimal = _amount(
        "0.20", 10_000, "Price of a million tokens read, in dollars: the highest of the models in use. A call reserves "
        "its highest cost by these prices before it is made.",
    )  # fmt: skip
    ai_price_out: Decimal = _amount("0.80", 10_000, "Price of a million tokens written, likewise.")
    ai_tagging: bool = Field(
        True, description="Whether a language model tags articles, if an API key is set. Summaries do not depend on it."
    )
    ai_tagging_concurrency: int = _int(4, 1, 100, "Requests for tags at the same time, in each process.")
    ai_tagging_model: str = _text("openai/gpt-4o-mini", r"^\S{1,200}$", "Model that tags articles.")
    summary_model: str = _text("openai/gpt-4o-mini", r"^\S{1,200}$", "Model that writes summaries.")
    summary_temperature: float = Field(0.3, ge=0, le=2, description="Temperature of the model; low is steady.")
    summary_max_tokens: int = _int(1000, 100, 8000, "Longest summary, in tokens.")
    summary_timeout: Duration = _time(
        "60s", "5s", "5m", "Maximum time of one request for a summary; a failed one is retried once after 2 s."
    )
    summary_daily_limit: int = _int(20, 0, 10_000, "Maximum summaries one user may make in 24 hours; 0: no limit.")
    summary_total_limit: int = _int(
        1_000, 0, 1_000_000, "Maximum requests to the service a day for all users; then this machine does. 0: no limit."
    )
    retention_articles: Duration = _time(
        "90d", "0s", "36500d", "How long articles are kept at least, from when they were first seen and from their "
        "date; a month is dropped when all of it is older, up to 31 days later. Starred articles are kept. 0: for ever."
    )  # fmt: skip
    retention_events: Duration = _time("365d", "0s", "36500d", "How long account events are kept. 0: for ever.")
    retention_polls: Duration = _time("30d", "0s", "36500d", "How long poll outcomes are kept. 0: for ever.")
    retention_clicks: Duration = _time(
        "90d", "0s", "36500d", "How long views and clicks of users who agreed to analytics are kept. 0: for ever."
    )
    alert_webhook_url: Annotated[SecretStr | None, _matching(r"https?://[^\s/]\S*")] = _secret(
        "Webhook for incidents, by POST: JSON with a `text`, as Slack reads it. A private address is allowed. "
        "Empty: none."
    )
    alert_email: Emails = Field(
        (), description="Email addresses to which incidents are sent; needs `smtp_url`. Empty: none."
    )
    alert_every: Duration = _time("1m", "1s", "1h", "How often the alert conditions are evaluated.")
    alert_disabled_percent: int = _int(
        20, 0, 100, "Percentage of system feeds disabled above which there is an incident."
    )
    alert_disabled_least: int = _int(2, 1, 1_000_000, "Smallest number of disabled system feeds for that incident.")
    alert_disabled_for: Duration = _time(
        "1d", "0s", "365d", "How long a system feed may be disabled before an incident."
    )
    alert_critical_errors: int = _int(
        3, 0, 1_000_000, "Failures in a row of a critical feed above which there is an incident."
    )
    alert_no_success: Duration = _time(
        "1d", "0s", "365d", "How long a system or critical feed, or its paused host, may fail before it is an incident."
    )
    alert_stage_stopped: Duration = _time(
        "15m", "2s", "30d", "How long a stage with due work may do none of it before it is an incident."
    )
    alert_queue_window: Duration = _time("6h", "6s", "30d", "How long a queue may only grow before it is an incident.")
    alert_queue_least: int = _int(1_000, 1, 10**9, "Smallest queue whose growth is an incident.")
    alert_channel_failing: Duration = _time(
        "30m", "1m", "7d", "How long the destination of a channel may fail before there is an incident."
    )
    alert_settle: Duration = _time(
        "10m", "0s", "7d", "How long a condition must be well before its incident ends. Meanwhile no message is sent."
    )
    alert_digest: Duration = _time(
        "1h", "0s", "7d", "Minimum time between two messages about single feeds; those in between are sent together."
    )
    drain_timeout: Duration = _time("10s", "0s", "10m", "How long work in progress may take to finish on shutdown.")
    doctor_url: str = _text("https://example.com/", r"^https?://\S+$", "Page `headwater doctor` fetches.")


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    values: Settings
    origins: Mapping[str, str]

    def origin(self, name: str) -> str:
        """`default`, or the variable, file or option that set it."""
        return self.origins.get(name, "default")


@dataclass(frozen=True, slots=True)
class _Given:
    value: object
    origin: str
    label: str


def load_settings(
    environ: Mapping[str, str] | None = None, overrides: Mapping[str, object] | None = None
) -> LoadedSettings:
    """Settings from the TOML file, then the environment over it, then `overrides`. Raises InvalidSettings."""
    environ = os.environ if environ is None else environ
    given = {
        **dict(_from_file(environ.get(CONFIG_VARIABLE, ""))),
        **dict(_from_environment(environ)),
        **{name: _Given(value, "command line", name) for name, value in (overrides or {}).items()},
    }
    for item in given.values():
        if isinstance(item.value, str) and (problem := text_problem(item.value)):
            raise InvalidSettings([f"{item.label} {problem}."])
    try:
        values = Settings.model_validate({name: item.value for name, item in given.items()})
    except ValidationError as error:
        raise InvalidSettings(sorted({_problem(item["loc"], given) for item in error.errors()})) from error
    return LoadedSettings(values, {name: item.origin for name, item in given.items()})


def _from_file(named: str) -> Iterator[tuple[str, _Given]]:
    path = Path(named or CONFIG_NAME)
    if not path.is_file():
        if named:
            raise InvalidSettings([f"{CONFIG_VARIABLE} is {named!r}: there is no such file."])
        return
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidSettings([f"{path} cannot be read: {error}."]) from error
    for name, value in table.items():
        _must_exist(name, f"{name} in {path}", "")
        yield name, _Given(value, str(path), f"{name} in {path}")


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, _Given]]:
    for variable, value in sorted(environ.items()):
        if variable in PLAIN_NAMES:
            yield PLAIN_NAMES[variable], _Given(value, variable, variable)
    for variable, value in sorted(environ.items()):
        if variable.startswith(PREFIX) and variable != CONFIG_VARIABLE:
            name = variable.removeprefix(PREFIX).lower()
            _must_exist(name, variable, PREFIX)
            yield name, _Given(value, variable, variable)


def _must_exist(name: str, label: str, prefix: str) -> None:
    if name in Settings.model_fields:
        return
    close = difflib.get_close_matches(name, Settings.model_fields, n=1)
    hint = f" Did you mean {(prefix + close[0]).upper() if prefix else close[0]}?" if close else ""
    raise InvalidSettings([f"{label} is not a setting.{hint} `headwater settings` lists them all."])


def _problem(location: tuple[int | str, ...], given: Mapping[str, _Given]) -> str:
    name = str(location[0])
    item = given[name]
    is_secret = SecretStr in get_args(Settings.model_fields[name].annotation)
    shown = "********" if is_secret else repr(item.value)
    return f"{item.label} is {shown}: {allowed(name)} is needed."


# What a type alone does not say.
_ALLOWED = {
    "openrouter_api_key": "an API key",
    "ai_tagging_model": "the name of a model, such as openai/gpt-4o-mini",
    "summary_model": "the name of a model, such as openai/gpt-4o-mini",
    "alert_email": "a list of addresses, such as ann@example.com, bob@example.com",
    "alert_webhook_url": "a URL such as https://hooks.example.com/services/…",
    "api_token": f"a secret of {API_TOKEN_LEAST} or more letters, digits and signs",
    "channel_directory": "an absolute path, such as /var/lib/headwater/channels",
    "channel_hosts": "a list of names or addresses, such as redis.internal, 127.0.0.1",
    "database_url": "an address such as postgresql://user:password@host/database",
    "migration_database_url": "an address such as postgresql://owner:password@host/database",
    "elasticsearch_url": "an address such as https://user:password@host:9200",
    "elasticsearch_api_key": "an API key",
    "elasticsearch_index": "a name in small letters, such as raw_content",
    "jwks_url": "a URL such as https://issuer.example/.well-known/jwks.json",
    "jwt_audience": "a name such as authenticated",
    "jwt_issuer": "a name, mostly a URL such as https://issuer.example",
    "jwt_key": "a secret of 32 or more bytes, or a public key in PEM",
    "oidc_client_id": "the client id that the issuer gave",
    "oidc_client_secret": "the client secret that the issuer gave",
    "oidc_issuer": "an address such as https://accounts.example, exactly as the issuer writes it",
    "public_url": "an address without a path, such as https://reader.example",
    "smtp_from": "an address such as Headwater <headwater@example.com>",
    "smtp_url": "an address such as smtp://user:password@mail.example:587, or smtps://",
    "trusted_proxies": "a list of addresses or networks, such as 127.0.0.1, 10.0.0.0/8",
    "user_agent": "a line of plain letters, such as MyReader/1.0 (+https://example.com/bot)",
}


def allowed(name: str) -> str:
    """What a setting takes, in words: `a whole number from 0 to 65535`."""
    if name in _ALLOWED:
        return _ALLOWED[name]
    field = Settings.model_fields[name]
    kind = field.annotation
    rules = [(rule, key) for rule in field.metadata for key in ("ge", "le", "pattern")]
    bounds = {key: getattr(rule, key) for rule, key in rules if hasattr(rule, key)}
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(get_args(kind))
    if kind is bool:
        return "true or false"
    if kind is int or kind is float or kind is Decimal:
        return f"a {'whole ' if kind is int else ''}number from {bounds['ge']} to {bounds['le']}"
    if kind is timedelta:
        return f"a duration from {show_duration(bounds['ge'])} to {show_duration(bounds['le'])}, such as 30s, 15m or 2h"
    if kind is Path:
        return "a folder"
    if get_origin(kind) is dict:
        return "a list of name=address, such as zoo.test=127.0.0.1"
    return "a URL such as https://example.com/" if "pattern" in bounds else "a host name or address"


def shown(name: str, value: Any) -> str:  # noqa: ANN401  one of every type above
    """A setting's value as a person would write it; secrets masked."""
    if value is None or value in ({}, ()):
        return ""
    if isinstance(value, SecretStr):
        is_address = name in {"database_url", "migration_database_url", "elasticsearch_url", "smtp_url"}
        return _without_password(value.get_secret_value()) if is_address else "********"
    if isinstance(value, timedelta):
        return show_duration(value)
    if isinstance(value, dict):
        pairs = cast("dict[str, str]", value)
        return ", ".join(f"{key}={item}" for key, item in sorted(pairs.items()))
    if isinstance(value, tuple):
        return ", ".join(cast("tuple[str, ...]", value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _without_password(url: str) -> str:
    """Only the parts that are known to be harmless: a password can also stand in the query, or in `key=value` form."""
    parts = urlsplit(url)
    if not parts.hostname:
        return "********"
    user = f"{parts.username}:********@" if parts.username else ""
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{user}{parts.hostname}{port}{parts.path}"


def show_duration(value: timedelta) -> str:
    """1 day is `1d`, 90 seconds `90s`: the largest unit that leaves no rest."""
    milliseconds = round(value.total_seconds() * 1000)
    for unit in ("d", "h", "m", "s"):
        size = int(_UNITS[unit] * 1000)
        if milliseconds and milliseconds % size == 0:
            return f"{milliseconds // size}{unit}"
    return f"{milliseconds}ms" if milliseconds else "0s"
