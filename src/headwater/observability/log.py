"""The log: events with fields on standard error, readable on a terminal and JSON otherwise; secrets are masked."""

import json
import logging
import re
import sys
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

from headwater.urls import masked

SECRET_WORDS = ("password", "secret", "token", "authorization", "cookie", "api_key", "database_url")
LETTER = "text"  # the field with an email that cannot be sent: its link must be usable
_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]+@")
_JSON = json.JSONEncoder(default=str)
SETTLED_S = 5.0  # without a failure; calls that fail and succeed in turn are one outage


def get_logger() -> FilteringBoundLogger:
    """`log.info("feed polled", source=id, new=3)`: an event, then its fields."""
    return structlog.get_logger()


def configure_log(level: str, style: Literal["auto", "console", "json"]) -> None:
    """Set up the log of this process, for our own events and those of libraries."""
    readable = style == "console" or (style == "auto" and sys.stderr.isatty())
    shared: Sequence[Processor] = (
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="%H:%M:%S" if readable else "iso", utc=not readable),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,  # before masking: a traceback quotes URLs too
        mask_secrets,
    )
    plain = structlog.dev.plain_traceback
    rendering: Sequence[Processor] = (
        (structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain),)
        if readable
        else (render_json,)
    )
    # Our own events bypass the standard library's logging, with which a line costs three times as much.
    structlog.configure(
        processors=[*shared, *rendering],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
        )
    )
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # Of other libraries only errors are logged: our own events cover requests and outages.
    quiet = ("uvicorn", "litestar", "aiohttp", "asyncio", "psycopg", "psycopg.pool", "openai", "httpx", "httpcore")
    for name in quiet:
        logging.getLogger(name).setLevel(logging.ERROR)


def mask_secrets(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Mask fields with a secret's name, and possible secrets in URLs."""
    for key, value in event.items():
        if _is_secret(key):
            event[key] = "********"
        elif isinstance(value, str) and "//" in value and key != LETTER:
            event[key] = _CREDENTIALS.sub("********@", masked(value))
    return event


def render_json(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    return _JSON.encode(event)


@lru_cache(maxsize=1_000)  # fields have few names
def _is_secret(key: str) -> bool:
    return any(word in key.lower() for word in SECRET_WORDS)


class OutageLog:
    """Logs an outage of the database: a line when it begins and one when it ends, however many calls fail."""

    def __init__(self, *, settled_s: float = SETTLED_S) -> None:
        self._settled_s = settled_s
        self._failures = 0
        self._began_at = self._failed_at = 0.0

    def failed(self, error: Exception) -> None:
        self._failed_at = time.monotonic()
        self._failures += 1
        if self._failures == 1:
            self._began_at = self._failed_at
            get_logger().error("database unavailable", error=str(error))

    def succeeded(self) -> None:
        """A call succeeded: the outage is over once nothing has failed for a few seconds."""
        if not self._failures:
            return
        now = time.monotonic()
        if now - self._failed_at >= self._settled_s:
            lasted = round(self._failed_at - self._began_at, 1)
            get_logger().warning("database available again", failures=self._failures, lasted_s=lasted)
            self._failures = 0
