"""What every reader of answers asks of them: when to come again, and whether a person is wanted. Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime


def retry_after(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """The wait a Retry-After header asks for, given in seconds or as a date; None where it makes no sense."""
    value = headers.get("Retry-After", "").strip()
    try:
        wait = timedelta(seconds=int(value)) if value.isascii() and value.isdigit() else _until(value, now)
    except (ValueError, OverflowError):
        return None
    return wait if wait > timedelta(0) else None


def is_challenge(headers: Mapping[str, str], body: bytes) -> bool:
    """Whether a refusal is a page that tests for a browser. We say so, and never try to pass one."""
    page = body[:20_000].lower()
    return headers.get("cf-mitigated", "").lower() == "challenge" or (
        b"<title>just a moment" in page or b"/cdn-cgi/challenge-platform/" in page
    )


def _until(value: str, now: datetime) -> timedelta:
    moment = parsedate_to_datetime(value)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now
