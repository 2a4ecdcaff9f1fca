"""What every reader of answers asks of them: when to come again, and whether a person is wanted. Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_CHALLENGE_HEADERS = {
    "cf-mitigated": frozenset({"challenge"}),  # Cloudflare
    "x-amzn-waf-action": frozenset({"challenge", "captcha"}),  # AWS WAF: with 202 and with 405
}
_CHALLENGE_STATUSES = frozenset({403, 429, 503})
_CHALLENGE_MARKS = (b"<title>just a moment", b"/cdn-cgi/challenge-platform/", b"/.well-known/ddos-guard/js-challenge/")


def retry_after(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """The wait a Retry-After header asks for, given in seconds or as a date; None where it makes no sense."""
    value = headers.get("Retry-After", "").strip()
    try:
        wait = timedelta(seconds=int(value)) if value.isascii() and value.isdigit() else _until(value, now)
    except (ValueError, OverflowError):
        return None
    return wait if wait > timedelta(0) else None


def names_challenge(headers: Mapping[str, str]) -> bool:
    """Whether headers say that the answer is a test for a browser. Then it is, whatever its status: 200, 202, 405."""
    return any(headers.get(name, "").strip().lower() in tests for name, tests in _CHALLENGE_HEADERS.items())


def is_challenge(status: int, headers: Mapping[str, str], body: bytes) -> bool:
    """Whether a response is a bot challenge. Headwater reports it, and never tries to pass one."""
    if names_challenge(headers):
        return True
    if status == 403 and headers.get("Server", "").lower() == "ddos-guard":
        return True  # its own test: a refusal of the site behind it looks the same
    page = body[:20_000].lower() if status in _CHALLENGE_STATUSES else b""
    return any(mark in page for mark in _CHALLENGE_MARKS)


def _until(value: str, now: datetime) -> timedelta:
    moment = parsedate_to_datetime(value)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now
