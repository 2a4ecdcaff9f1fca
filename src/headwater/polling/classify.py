"""What a response means: its class of failure, and how long it is fresh. Pure."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from headwater.feeds.types import NotAFeed, UnreadableBody
from headwater.net.responses import as_sentence, failure_of, failure_sentence, retry_after
from headwater.net.types import FetchError, FetchFailure
from headwater.polling.types import FailureClass, PollFailed
from headwater.sandbox import Overrun

_BY_FETCH_FAILURE = {
    FetchFailure.TIMEOUT: FailureClass.NETWORK,
    FetchFailure.NETWORK: FailureClass.NETWORK,
    FetchFailure.DNS: FailureClass.DNS,
    FetchFailure.TOO_LARGE: FailureClass.TOO_LARGE,
    FetchFailure.REDIRECT_LOOP: FailureClass.REDIRECT_LOOP,
    FetchFailure.BAD_ENCODING: FailureClass.PARSE_ERROR,
    FetchFailure.BLOCKED: FailureClass.SSRF_BLOCKED,
}
QUOTED = 200
_MAX_AGE = re.compile(r"(?:^|[\s,])(?:s-maxage|max-age)\s*=\s*\"?(\d{1,10})", re.IGNORECASE)
_NOT_KEPT = re.compile(r"no-cache|no-store", re.IGNORECASE)


def classify_status(status: int, headers: Mapping[str, str], body: bytes, now: datetime) -> PollFailed:
    """A response without a feed: other than 200 and 304, or a bot challenge."""
    kind = failure_of(status, headers, body)
    return PollFailed(kind, failure_sentence(kind, status, "feed"), status, retry_after(headers, now))


def classify_fetch_error(error: FetchError) -> PollFailed:
    return PollFailed(_BY_FETCH_FAILURE[error.kind], as_sentence(error.detail), url=error.url, by_name=error.by_name)


def classify_type(content_type: str | None, status: int) -> PollFailed:
    """A response that is not sent as XML, under a policy that requires it."""
    detail = f"its Content-Type is {content_type[:QUOTED]}, not XML" if content_type else "it has no Content-Type"
    return PollFailed(FailureClass.NOT_A_FEED, as_sentence(detail), status)


def classify_body(error: UnreadableBody | Overrun, status: int) -> PollFailed:
    kind = FailureClass.NOT_A_FEED if isinstance(error, NotAFeed) else FailureClass.PARSE_ERROR
    detail = f"it exceeds our limits: {error}" if isinstance(error, Overrun) else error.reason
    return PollFailed(kind, as_sentence(detail), status)


def fresh_for(headers: Mapping[str, str], now: datetime) -> timedelta:
    """How long the response is fresh by Cache-Control or Expires, or its Retry-After if that is longer."""
    return max(_by_headers(headers, now), retry_after(headers, now) or timedelta(0))


def _by_headers(headers: Mapping[str, str], now: datetime) -> timedelta:
    cache_control = headers.get("Cache-Control", "")
    if _NOT_KEPT.search(cache_control):
        return timedelta(0)
    ages = [timedelta(seconds=int(age)) for age in _MAX_AGE.findall(cache_control)]
    if ages:
        return max(ages) - _age(headers)
    expires_at = _moment(headers.get("Expires", ""))
    if expires_at is None:  # an invalid date, such as "0", is in the past: RFC 9111, section 5.3
        return timedelta(0)
    lifetime = expires_at - (_moment(headers.get("Date", "")) or now)
    return max(lifetime - _age(headers), timedelta(0))


def _age(headers: Mapping[str, str]) -> timedelta:
    age = headers.get("Age", "")
    return timedelta(seconds=int(age)) if age.isascii() and age.isdigit() and len(age) < 10 else timedelta(0)


def _moment(value: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
