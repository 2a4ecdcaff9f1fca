"""What a response means: redirect, Retry-After, bot challenge, failure. Pure."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import can_ada

from headwater.errors import InvalidUrl
from headwater.net.types import FetchError, FetchFailure, Response
from headwater.reading.text import storable
from headwater.types import FailureClass
from headwater.urls import MAX_LENGTH, masked, parse_url

REDIRECTS = frozenset({301, 302, 303, 307, 308})
QUOTED = 200
_LOOSE_BYTES = re.compile("[\udc80-\udcff]")  # bytes of a header that are not UTF-8 come as lone surrogates

_CHALLENGE_HEADERS = {
    "cf-mitigated": frozenset({"challenge"}),  # Cloudflare
    "x-amzn-waf-action": frozenset({"challenge", "captcha"}),  # AWS WAF: with 202 and with 405
}
_CHALLENGE_STATUSES = frozenset({403, 429, 503})
_CHALLENGE_MARKS = (b"<title>just a moment", b"/cdn-cgi/challenge-platform/", b"/.well-known/ddos-guard/js-challenge/")
_FAILURES = {
    401: FailureClass.UNAUTHORIZED, 403: FailureClass.FORBIDDEN, 404: FailureClass.NOT_FOUND, 410: FailureClass.GONE,
    429: FailureClass.RATE_LIMITED,
}  # fmt: skip
_SENTENCES = {
    FailureClass.RATE_LIMITED: "The site received too many requests from us.",
    FailureClass.UNAUTHORIZED: "The site requires a user name and password for this {what}.",
    FailureClass.FORBIDDEN: "The site denies access to this {what}.",
    FailureClass.NOT_FOUND: "There is no {what} at this URL.",
    FailureClass.GONE: "The site has removed this {what} permanently.",
    FailureClass.BAD_REQUEST: "The site rejected our request.",
    FailureClass.UPSTREAM_FAILURE: "The site's server failed.",
    FailureClass.BOT_CHALLENGE: "The site sent a bot challenge, which only a browser can pass.",
    FailureClass.UNEXPECTED: "The site sent an unexpected response.",
}


def redirect_of(response: Response) -> str | None:
    """The target of a redirect as a browser reads it; None if it is not one. Raises FetchError."""
    if response.status not in REDIRECTS or "Location" not in response.headers:
        return None
    # Percent-encoded byte by byte, as browsers do: `/caf\xe9` is requested as `/caf%E9`.
    location = _LOOSE_BYTES.sub(lambda byte: f"%{ord(byte[0]) - 0xDC00:02X}", response.headers["Location"])
    try:
        return parse_url(location, base=response.url)
    except InvalidUrl as error:
        # A URL that must not be followed is blocked; what is not a URL at all is a mistake of the site.
        is_url = len(location.strip()) <= MAX_LENGTH and can_ada.can_parse(location.strip(), response.url)
        kind = FetchFailure.BLOCKED if is_url else FetchFailure.REDIRECT_LOOP
        shown = masked(location) if "//" in location else location.partition("?")[0]
        raise FetchError(response.url, kind, f"it redirects to {shown[:QUOTED]!r}: {error.reason}") from error


def retry_after(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """The wait that a Retry-After header requests, in seconds or as a date; None without a valid one."""
    value = headers.get("Retry-After", "").strip()
    try:
        if value.isascii() and value.isdigit():
            wait = timedelta(seconds=int(value))
        else:
            moment = parsedate_to_datetime(value)
            wait = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now
    except (ValueError, OverflowError):
        return None
    return wait if wait > timedelta(0) else None


def names_challenge(headers: Mapping[str, str]) -> bool:
    """Whether headers name a bot challenge. Then it is one with any status: 200, 202, 405."""
    return any(headers.get(name, "").strip().lower() in tests for name, tests in _CHALLENGE_HEADERS.items())


def is_challenge(status: int, headers: Mapping[str, str], body: bytes) -> bool:
    """Whether a response is a bot challenge. Headwater reports it, and never tries to pass one."""
    if names_challenge(headers) or (status == 403 and headers.get("Server", "").lower() == "ddos-guard"):
        return True  # of DDoS-Guard, a challenge and a 403 of the site behind it look the same
    page = body[:20_000].lower() if status in _CHALLENGE_STATUSES else b""
    return any(mark in page for mark in _CHALLENGE_MARKS)


def failure_of(status: int, headers: Mapping[str, str], body: bytes) -> FailureClass:
    if is_challenge(status, headers, body):
        return FailureClass.BOT_CHALLENGE
    if 400 <= status < 500:
        return _FAILURES.get(status, FailureClass.BAD_REQUEST)
    return FailureClass.UPSTREAM_FAILURE if 500 <= status < 600 else FailureClass.UNEXPECTED


def failure_sentence(kind: FailureClass, status: int, what: str) -> str:
    """A failure in words, for users. `what` was requested: a feed or a page."""
    return f"{_SENTENCES[kind].format(what=what)} (HTTP {status})"


def as_sentence(reason: str) -> str:
    """A reason as a sentence, for users. Parts of it may come from outside, and must be storable."""
    reason = storable(reason)
    return f"{reason[:1].upper()}{reason[1:].rstrip('.')}."
