"""Settings: one frozen object, from the environment and an optional TOML file. Nothing else reads either.

Each setting is a field with a type, a default, bounds and a sentence; `headwater settings` and docs/settings.md are
made from them. Code below the composition root never sees this object: it takes the values it needs as arguments.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args, get_origin
from urllib.parse import urlsplit

import platformdirs
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo

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
    # As seed 004 names them.
    "FRONTIER_DB_URL": "database_url",
    "WORKER_COUNT": "worker_count",
    "USER_AGENT": "user_agent",
    "REQUEST_TIMEOUT": "request_timeout",
    "CLAIM_RETRY_DELAY": "claim_retry_delay",
    "MAX_RETRIES": "max_retries",
    "FEED_POLLER_ENABLED": "poll_enabled",
    "FEED_POLLER_POLL_INTERVAL": "poll_check_interval",
    "FEED_POLLER_MAX_CONCURRENCY": "poll_concurrency",
    "LOG_LEVEL": "log_level",
    "LOG_FORMAT": "log_format",
    "ELASTICSEARCH_URL": "elasticsearch_url",
    "ELASTICSEARCH_API_KEY": "elasticsearch_api_key",
    "OPENROUTER_API_KEY": "openrouter_api_key",
    "OPENROUTER_BASE_URL": "openrouter_base_url",
}

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
    """What a person writes as a duration. Raises InvalidSettings."""
    try:
        return cast("timedelta", _duration(text))
    except (ValueError, OverflowError) as error:
        raise InvalidSettings([f"{text!r} is not a duration; write it like 30s, 15m or 2h."]) from error


def _pairs(value: object) -> object:
    """Reads `zoo.test=127.0.0.1, other=127.0.0.2`, or a TOML table of the same."""
    if not isinstance(value, str):
        return value
    pairs = [part.partition("=") for part in value.split(",") if part.strip()]
    return {name.strip(): address.strip() for name, _, address in pairs}


def _blank_is_none(value: object) -> object:
    return None if value == "" else value


def _token(value: object) -> object:
    """What can stand in a header as it is, and is too long to be guessed."""
    if value == "":
        return None
    if not isinstance(value, str) or not re.fullmatch(rf"[\x21-\x7e]{{{API_TOKEN_LEAST},}}", value):
        raise ValueError("not a token")
    return value


def _address(value: object) -> str:
    return str(ip_address(str(value)))


def _listed(value: object) -> object:
    """Reads `10.0.0.1, 10.1.0.0/16`, or a TOML list of the same."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _addressee(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[^\s@<>,]+@[^\s@<>,]+", value):
        raise ValueError("not an address")
    return value


def _webhook(value: object) -> object:
    if value == "":
        return None
    if not isinstance(value, str) or not re.fullmatch(r"https?://[^\s/]\S*", value):
        raise ValueError("not a URL")
    return value


def _network(value: object) -> str:
    return str(ip_network(str(value), strict=False)) if "/" in str(value) else _address(value)


def _log_word(value: object) -> object:
    """Other programs write LOG_LEVEL=INFO or WARN, and LOG_FORMAT=text."""
    word = value.strip().lower() if isinstance(value, str) else value
    return {"warn": "warning", "text": "console"}.get(word, word) if isinstance(word, str) else word


Duration = Annotated[timedelta, BeforeValidator(_duration)]
Address = Annotated[str, BeforeValidator(_address)]
HostMap = Annotated[dict[str, Address], BeforeValidator(_pairs)]
Networks = Annotated[tuple[Annotated[str, BeforeValidator(_network)], ...], BeforeValidator(_listed)]

Addressees = Annotated[tuple[Annotated[str, BeforeValidator(_addressee)], ...], BeforeValidator(_listed)]


def default_data_dir() -> Path:
    """Where an embedded database lives. Root's home is closed to the account that PostgreSQL then runs under."""
    if os.geteuid() == 0:
        return Path("/var/lib/headwater")
    return Path(platformdirs.user_data_dir("headwater", appauthor=False))


class Settings(BaseModel):
    """Everything that can be set."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=False)

    database_url: Annotated[SecretStr | None, BeforeValidator(_blank_is_none)] = Field(
        None, description="PostgreSQL 15 or newer to use. Empty: one runs embedded, in `data_dir`."
    )
    migration_database_url: Annotated[SecretStr | None, BeforeValidator(_blank_is_none)] = Field(
        None,
        description="How `headwater migrate` connects to the server of `database_url`: as the owner of the tables. "
        "Empty: as `database_url` does.",
    )
    data_dir: Path = Field(
        default_factory=default_data_dir, description="Folder that holds the embedded database and its log."
    )
    database_pool_size: int = Field(10, ge=2, le=500, description="Most database connections one process opens.")
    database_wait: Duration = Field(
        timedelta(seconds=3),
        ge=timedelta(milliseconds=100),
        le=timedelta(minutes=5),
        description="How long a request waits for a database connection before it is answered with 503.",
    )
    statement_timeout: Duration = Field(
        timedelta(seconds=10),
        ge=timedelta(milliseconds=100),
        le=timedelta(minutes=10),
        description="Longest time one database statement of a page or API request may take; then it is cancelled and "
        "the request answered with 503.",
    )
    feeds_per_user: int = Field(5_000, ge=1, le=1_000_000, description="Most feeds one user may follow.")
    imports_per_day: int = Field(50, ge=1, le=100_000, description="Most OPML files one user may import a day.")
    suggestions_per_day: int = Field(
        50, ge=1, le=100_000, description="Most feeds one user may suggest for everybody a day; at most 20 an hour."
    )
    retries_per_hour: int = Field(30, ge=1, le=100_000, description="Most feeds one user may retry by hand an hour.")
    host: str = Field("127.0.0.1", min_length=1, description="Address the web server listens on.")
    port: int = Field(8000, ge=0, le=65535, description="Port the web server listens on; 0 picks a free one.")
    work_port: int = Field(
        0, ge=0, le=65535, description="Port on which `headwater work` serves /metrics and health; 0 serves none."
    )
    api_token: Annotated[SecretStr | None, BeforeValidator(_token)] = Field(
        None,
        description="What a program of the operator's own sends as `Authorization: Bearer …` to use the API. "
        "Empty: only the tokens that people make for themselves open it.",
    )
    api_rate_per_token: int = Field(
        600,
        ge=0,
        le=1_000_000,
        description="Requests a minute to the API with one token, for each process; 0: no limit.",
    )
    api_rate_per_address: int = Field(
        1200,
        ge=0,
        le=1_000_000,
        description="Requests a minute to the API from one address, for each process; 0: no limit.",
    )
    public_url: str = Field(
        "",
        pattern=r"^(https?://[^\s/?#@]+/?)?$",
        description="Where people find Headwater; links in letters begin with it. Empty: where it listens.",
    )
    trusted_proxies: Networks = Field(
        (),
        description="Proxies in front of the web server. What they say in X-Forwarded-For and X-Forwarded-Proto is "
        "believed, what anybody else says is not.",
    )
    registration: bool = Field(
        True, description="Whether people may make accounts. Where there is none yet, the first may always be made."
    )
    confirm_email: bool = Field(
        False, description="Whether a new account is let in only after a letter to its address was answered."
    )
    hide_accounts: bool = Field(
        False,
        description="Whether registering with a taken email tells so by mail only, not on the page. Implies "
        "`confirm_email`.",
    )
    session_renewal: Duration = Field(
        timedelta(minutes=15),
        ge=timedelta(minutes=1),
        le=timedelta(days=1),
        description="How long a session's short-lived token is good before it is renewed by the long-lived one.",
    )
    session_lifetime: Duration = Field(
        timedelta(days=30),
        ge=timedelta(hours=1),
        le=timedelta(days=400),
        description="How long somebody who does not come by stays logged in.",
    )
    smtp_url: Annotated[SecretStr | None, BeforeValidator(_blank_is_none)] = Field(
        None, description="Mail server that takes Headwater's letters. Empty: they are written into the log."
    )
    smtp_from: str = Field(
        "Headwater <headwater@localhost>",
        pattern=r"^[^\r\n@<>]*<?[^\s@<>]+@[^\s@<>]+>?$",
        description="Who the letters are from.",
    )
    jwt_issuer: str = Field(
        "",
        pattern=r"^[!-~]{0,500}$",
        description="Outside issuer whose JWTs open the API, as their claim `iss` names it. Supabase: "
        "https://PROJECT.supabase.co/auth/v1. Empty: none is believed.",
    )
    jwt_audience: str = Field(
        "headwater",
        pattern=r"^[!-~]{1,500}$",
        description="Whom those JWTs must be meant for, their claim `aud`. Supabase: authenticated.",
    )
    jwt_key: Annotated[SecretStr | None, BeforeValidator(_blank_is_none)] = Field(
        None, description="What those JWTs are signed with: an HS256 secret, or a public key in PEM."
    )
    jwks_url: Annotated[str | None, BeforeValidator(_blank_is_none)] = Field(
        None,
        pattern=r"^https?://\S+$",
        description="Where the issuer publishes its keys (JWKS), instead of `jwt_key`.",
    )
    oidc_issuer: str = Field(
        "",
        pattern=r"^(https?://[^\s?#@]+)?$",
        description="OpenID Connect issuer at which people may log in, too. Its address to come back to is "
        "`public_url` and /auth/openid/callback. Empty: none.",
    )
    oidc_client_id: str = Field(
        "", pattern=r"^[!-~]{0,500}$", description="Under which name Headwater is known to that issuer."
    )
    oidc_client_secret: Annotated[SecretStr | None, BeforeValidator(_blank_is_none)] = Field(
        None, description="How Headwater shows to that issuer that it is itself."
    )
    log_level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(_log_word)] = Field(
        "info", description="Least severe event to log."
    )
    log_format: Annotated[Literal["auto", "console", "json"], BeforeValidator(_log_word)] = Field(
        "auto", description="How events are written; `auto` is readable on a terminal and JSON otherwise."
    )
    contact_url: str = Field(
        DEFAULT_CONTACT,
        pattern=r"^(https?://|mailto:)\S+$",
        description="Where a site's owner can learn who asks; part of the User-Agent.",
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
    poll_max_failures: int = Field(
        5,
        ge=1,
        le=1000,
        description="In policy `backoff`: permanent failures since the last success after which a feed is disabled.",
    )
    poll_max_backoff: Duration = Field(
        timedelta(days=1),
        ge=timedelta(hours=1),
        le=timedelta(days=30),
        description="In policy `backoff`: longest wait between two tries of a feed that fails.",
    )
    poll_interval: Duration = Field(
        timedelta(hours=1),
        ge=timedelta(seconds=1),
        le=timedelta(days=1),
        description="How often a feed is polled of whose rhythm nothing is known; others are asked more or less often.",
    )
    poll_check_interval: Duration = Field(
        timedelta(seconds=1),
        ge=timedelta(seconds=1),
        le=timedelta(minutes=10),
        description="Longest time between two looks for due feeds while none is due; a new feed waits as long.",
    )
    poll_interval_min: Duration = Field(
        timedelta(minutes=15),
        ge=timedelta(seconds=1),
        le=timedelta(days=1),
        description="Shortest wait between two good polls of a feed.",
    )
    poll_interval_max: Duration = Field(
        timedelta(days=1),
        ge=timedelta(seconds=1),
        le=timedelta(days=30),
        description="Longest wait between two good polls of a feed, and the longest that a site may ask for.",
    )
    poll_host_delay: Duration = Field(
        timedelta(seconds=3),
        ge=timedelta(0),
        le=timedelta(hours=1),
        description="Least time between two polls of feeds on the same host.",
    )
    poll_concurrency: int = Field(10, ge=1, le=500, description="Most feeds one process polls at the same time.")
    poll_timeout: Duration = Field(
        timedelta(seconds=30),
        ge=timedelta(milliseconds=100),
        le=timedelta(minutes=10),
        description="Most time one poll may take, redirects and body included.",
    )
    poll_max_bytes: int = Field(
        10_000_000, ge=1_000, le=1_000_000_000, description="Largest feed that is read, before and after decompression."
    )
    poll_max_entries: int = Field(
        50, ge=1, le=10_000, description="Most entries taken from a feed in one poll, the newest first."
    )
    parse_processes: int = Field(2, ge=1, le=256, description="Processes that read feeds; they can be killed.")
    parse_timeout: Duration = Field(
        timedelta(seconds=10),
        ge=timedelta(milliseconds=100),
        le=timedelta(minutes=10),
        description="Most time that reading one feed may take before its process is killed.",
    )
    parse_memory: int = Field(
        1_000_000_000,
        ge=100_000_000,
        le=100_000_000_000,
        description="Most memory, in bytes, that a process which reads feeds may take.",
    )
    worker_count: int = Field(10, ge=1, le=1000, description="Most hosts one process fetches pages from at a time.")
    user_agent: str = Field(
        "",
        pattern=r"^[ -~]{0,200}$",
        description="What sites are told who asks. Empty: Headwater, its version and `contact_url`.",
    )
    request_timeout: Duration = Field(
        timedelta(seconds=30),
        ge=timedelta(milliseconds=100),
        le=timedelta(minutes=10),
        description="Most time one request for a page may take, redirects and body included.",
    )
    claim_retry_delay: Duration = Field(
        timedelta(seconds=1),
        ge=timedelta(milliseconds=10),
        le=timedelta(minutes=10),
        description="How long a fetcher that found no URL to fetch waits before it looks again.",
    )
    max_retries: int = Field(
        8, ge=1, le=100, description="How often a page is tried again before it is given up, over a day at least."
    )
    fetch_host_delay: Duration = Field(
        timedelta(seconds=1),
        ge=timedelta(0),
        le=timedelta(hours=1),
        description="Least time between two requests for pages of a host; its robots.txt or source may ask for more.",
    )
    fetch_crawl_delay_max: Duration = Field(
        timedelta(seconds=30),
        ge=timedelta(0),
        le=timedelta(hours=1),
        description="Longest Crawl-delay that a robots.txt is granted.",
    )
    fetch_max_bytes: int = Field(
        10_000_000, ge=1_000, le=1_000_000_000, description="Largest page that is read, before and after decompression."
    )
    fetch_depth_max: int = Field(
        10, ge=0, le=100, description="How many links or sitemaps deep a URL may be found before it counts as a trap."
    )
    fetch_host_urls_max: int = Field(
        500_000, ge=1, le=1_000_000_000, description="Most URLs of one host that sitemaps and links may bring."
    )
    extract_processes: int = Field(
        2, ge=1, le=256, description="Processes that read pages and sitemaps; they can be killed."
    )
    extract_timeout: Duration = Field(
        timedelta(seconds=20),
        ge=timedelta(milliseconds=100),
        le=timedelta(minutes=10),
        description="Most time that reading one page may take before its process is killed.",
    )
    sitemap_max_age: Duration = Field(
        timedelta(days=7),
        ge=timedelta(hours=1),
        le=timedelta(days=3650),
        description="How long ago a page of a sitemap may have changed to be fetched; one without a date always is.",
    )
    sitemap_max_urls: int = Field(
        1_000, ge=1, le=50_000, description="Most pages taken from a sitemap in one visit, the newest first."
    )
    sitemap_budget: int = Field(
        500, ge=1, le=100_000, description="Most sitemaps of one source that are read in a day."
    )
    spider_budget: int = Field(
        1_000, ge=1, le=1_000_000, description="Most new pages a day found by links of a source that names no budget."
    )
    elasticsearch_url: Annotated[SecretStr | None, BeforeValidator(_blank_is_none)] = Field(
        None, description="Elasticsearch or OpenSearch that is told of every text. Empty: PostgreSQL alone searches."
    )
    elasticsearch_api_key: Annotated[SecretStr | None, BeforeValidator(_blank_is_none)] = Field(
        None, description="API key for it; a name and password may stand in its URL instead."
    )
    elasticsearch_index: str = Field(
        "raw_content", pattern=r"^[a-z][a-z0-9_-]{0,100}$", description="Name of the alias that stands for the index."
    )
    openrouter_api_key: Annotated[SecretStr | None, BeforeValidator(_blank_is_none)] = Field(
        None, description="Key of the service that writes summaries. Empty: they are made on this machine."
    )
    openrouter_base_url: str = Field(
        "https://openrouter.ai/api/v1",
        pattern=r"^https?://\S+$",
        description="OpenAI-compatible service that is asked.",
    )
    summary_model: str = Field("openai/gpt-4o-mini", pattern=r"^\S{1,200}$", description="Model that writes summaries.")
    summary_temperature: float = Field(0.3, ge=0, le=2, description="How freely it writes; low is steady.")
    summary_max_tokens: int = Field(1000, ge=100, le=8000, description="Longest summary, in tokens.")
    summary_timeout: Duration = Field(
        timedelta(seconds=60),
        ge=timedelta(seconds=5),
        le=timedelta(minutes=5),
        description="How long one try at a summary may take; a failed one is repeated once after 2 s.",
    )
    summary_daily_limit: int = Field(
        20, ge=0, le=10_000, description="Most summaries one reader may make within 24 hours; 0: no limit."
    )
    summary_total_limit: int = Field(
        1_000,
        ge=0,
        le=1_000_000,
        description="Most questions to the service a day for all readers together; then summaries are made on this "
        "machine. 0: no limit.",
    )
    retention_articles: Duration = Field(
        timedelta(days=90),
        ge=timedelta(0),
        le=timedelta(days=36_500),
        description="How long articles are kept at least, from when they were first seen and from the date they carry; "
        "a month of them goes when all in it is older, up to 31 days later. What somebody starred stays. 0: for ever.",
    )
    retention_events: Duration = Field(
        timedelta(days=365),
        ge=timedelta(0),
        le=timedelta(days=36_500),
        description="How long it is kept what people did with their accounts. 0: for ever.",
    )
    retention_polls: Duration = Field(
        timedelta(days=30),
        ge=timedelta(0),
        le=timedelta(days=36_500),
        description="How long it is kept what each poll came to. 0: for ever.",
    )
    retention_clicks: Duration = Field(
        timedelta(days=90),
        ge=timedelta(0),
        le=timedelta(days=36_500),
        description="How long it is kept what readers who agreed to it opened and clicked. 0: for ever.",
    )
    alert_webhook_url: Annotated[SecretStr | None, BeforeValidator(_webhook)] = Field(
        None,
        description="Where incidents are told, by POST: JSON with a `text` that Slack and its like show. It may be a "
        "private address. Empty: none is told there.",
    )
    alert_email: Addressees = Field(
        (), description="Whom incidents are told by letter, which needs `smtp_url`. Empty: nobody."
    )
    alert_every: Duration = Field(
        timedelta(minutes=1),
        ge=timedelta(seconds=1),
        le=timedelta(hours=1),
        description="How often it is looked whether something must be told.",
    )
    alert_disabled_percent: int = Field(
        20, ge=0, le=100, description="More than so many percent of the system feeds off are an incident."
    )
    alert_disabled_least: int = Field(
        2, ge=1, le=1_000_000, description="Fewest system feeds off that are such an incident, however few there are."
    )
    alert_disabled_for: Duration = Field(
        timedelta(days=1),
        ge=timedelta(0),
        le=timedelta(days=365),
        description="A system feed that is off for longer is an incident.",
    )
    alert_critical_errors: int = Field(
        3, ge=0, le=1_000_000, description="A critical feed that failed more often in a row is an incident."
    )
    alert_no_success: Duration = Field(
        timedelta(days=1),
        ge=timedelta(0),
        le=timedelta(days=365),
        description="A system or critical feed that, or whose paused host, has failed for longer is an incident.",
    )
    alert_stage_stopped: Duration = Field(
        timedelta(minutes=15),
        ge=timedelta(seconds=2),
        le=timedelta(days=30),
        description="A stage of whose due work nobody did any for so long is an incident.",
    )
    alert_queue_window: Duration = Field(
        timedelta(hours=6),
        ge=timedelta(seconds=6),
        le=timedelta(days=30),
        description="A queue that only grows for so long is an incident.",
    )
    alert_queue_least: int = Field(
        1_000, ge=1, le=1_000_000_000, description="Smallest queue whose growth is an incident."
    )
    alert_settle: Duration = Field(
        timedelta(minutes=10),
        ge=timedelta(0),
        le=timedelta(days=7),
        description="How long what was wrong must be well before its incident is over. Within it nobody is told again.",
    )
    alert_digest: Duration = Field(
        timedelta(hours=1),
        ge=timedelta(0),
        le=timedelta(days=7),
        description="Least time between two messages about single feeds; what comes meanwhile is told together.",
    )
    drain_timeout: Duration = Field(
        timedelta(seconds=10),
        ge=timedelta(0),
        le=timedelta(minutes=10),
        description="How long work in flight may take to finish when Headwater stops.",
    )
    doctor_url: str = Field(
        "https://example.com/",
        pattern=r"^https?://\S+$",
        description="Page that `headwater doctor` asks for, to see whether the network reaches out.",
    )


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings, and where each one that is not a default came from."""

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
        **dict(_from_file(_config_file(environ))),
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


def _config_file(environ: Mapping[str, str]) -> Path | None:
    named = environ.get(CONFIG_VARIABLE)
    if named:
        if not Path(named).is_file():
            raise InvalidSettings([f"{CONFIG_VARIABLE} is {named!r}: there is no such file."])
        return Path(named)
    return Path(CONFIG_NAME) if Path(CONFIG_NAME).is_file() else None


def _from_file(path: Path | None) -> Iterator[tuple[str, _Given]]:
    if path is None:
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
    shown = "********" if _is_secret(Settings.model_fields[name]) else repr(item.value)
    return f"{item.label} is {shown}: {allowed(name)} is needed."


# What a type alone does not say.
_ALLOWED = {
    "openrouter_api_key": "an API key",
    "summary_model": "the name of a model, such as openai/gpt-4o-mini",
    "alert_email": "a list of addresses, such as ann@example.com, bob@example.com",
    "alert_webhook_url": "a URL such as https://hooks.example.com/services/…",
    "api_token": f"a secret of {API_TOKEN_LEAST} or more letters, digits and signs",
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
    bounds = {
        key: getattr(rule, key) for rule in field.metadata for key in ("ge", "le", "pattern") if hasattr(rule, key)
    }
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(get_args(kind))
    if kind is bool:
        return "true or false"
    if kind is float:
        return f"a number from {bounds['ge']} to {bounds['le']}"
    if kind is int:
        return f"a whole number from {bounds['ge']} to {bounds['le']}"
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


def _is_secret(field: FieldInfo) -> bool:
    return field.annotation is SecretStr or SecretStr in get_args(field.annotation)
