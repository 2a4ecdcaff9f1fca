"""The log: events with fields, readable on a terminal and JSON otherwise, on standard error. Secrets never."""

import json
import logging
import re
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

from headwater.urls import masked

SECRET_WORDS = ("password", "secret", "token", "authorization", "cookie", "api_key", "database_url")
LETTER = "text"  # of a mail that cannot be sent: its link is logged so that it can be used
_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]+@")
_JSON = json.JSONEncoder(default=str)


def get_logger() -> FilteringBoundLogger:
    """A logger. `log.info("feed polled", source=id, new=3)`: an event, then its fields."""
    return structlog.get_logger()


def configure_log(level: str, style: Literal["auto", "console", "json"]) -> None:
    """Set up the log of this process, our own events and those of the libraries alike."""
    readable = style == "console" or (style == "auto" and sys.stderr.isatty())
    shared: Sequence[Processor] = (
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="%H:%M:%S" if readable else "iso", utc=not readable),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,  # before what masks: a traceback quotes URLs too
        mask_secrets,
    )
    plain = structlog.dev.plain_traceback
    rendering: Sequence[Processor] = (
        (structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain),)
        if readable
        else (render_json,)
    )
    # Our own events are written at once: through the standard library's logging, a line costs three times as much.
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
    # Other libraries report through us only what a person must look at: we log our own requests and outages.
    quiet = ("uvicorn", "litestar", "aiohttp", "asyncio", "psycopg", "psycopg.pool", "openai", "httpx", "httpcore")
    for name in quiet:
        logging.getLogger(name).setLevel(logging.ERROR)


def mask_secrets(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Hide the values of fields that sound secret, and what may be a secret in any URL."""
    for key, value in event.items():
        if _sounds_secret(key):
            event[key] = "********"
        elif isinstance(value, str) and "//" in value and key != LETTER:
            event[key] = _CREDENTIALS.sub("********@", masked(value))
    return event


def render_json(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    """One line of JSON; what JSON does not know is written as text."""
    return _JSON.encode(event)


@lru_cache(maxsize=1_000)  # fields have few names
def _sounds_secret(key: str) -> bool:
    return any(word in key.lower() for word in SECRET_WORDS)
