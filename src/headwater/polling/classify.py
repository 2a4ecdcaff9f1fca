"""The class of failure of a response or an error. Pure."""

from collections.abc import Mapping
from datetime import datetime

from headwater.feeds.types import NotAFeed, UnreadableBody
from headwater.net.answers import is_challenge, retry_after
from headwater.net.types import FetchError, FetchFailure
from headwater.polling.types import FailureClass, PollFailed
from headwater.reading.text import storable
from headwater.sandbox import Overrun

_BY_STATUS = {
    401: FailureClass.UNAUTHORIZED,
    403: FailureClass.FORBIDDEN,
    404: FailureClass.NOT_FOUND,
    410: FailureClass.GONE,
    429: FailureClass.RATE_LIMITED,
}
_BY_FETCH_FAILURE = {
    FetchFailure.TIMEOUT: FailureClass.NETWORK,
    FetchFailure.NETWORK: FailureClass.NETWORK,
    FetchFailure.DNS: FailureClass.DNS,
    FetchFailure.TOO_LARGE: FailureClass.TOO_LARGE,
    FetchFailure.REDIRECT_LOOP: FailureClass.REDIRECT_LOOP,
    FetchFailure.BAD_ENCODING: FailureClass.PARSE_ERROR,
    FetchFailure.BLOCKED: FailureClass.SSRF_BLOCKED,
}
_SENTENCES = {
    FailureClass.RATE_LIMITED: "The site asks us to come less often.",
    FailureClass.UNAUTHORIZED: "The site wants a name and password for this feed.",
    FailureClass.FORBIDDEN: "The site refuses to let us read this feed.",
    FailureClass.NOT_FOUND: "There is no feed at this address.",
    FailureClass.GONE: "The site says that this feed is gone for good.",
    FailureClass.BAD_REQUEST: "The site does not accept our request.",
    FailureClass.UPSTREAM_FAILURE: "The site has a fault of its own.",
    FailureClass.BOT_CHALLENGE: "The site shows a test that only a person in a browser can pass.",
    FailureClass.UNEXPECTED: "The site gave an answer that we do not understand.",
}
QUOTED = 200


def classify_status(status: int, headers: Mapping[str, str], body: bytes, now: datetime) -> PollFailed:
    """A response without a feed: other than 200 and 304, or a bot challenge."""
    kind = _class_of(status, headers, body)
    return PollFailed(kind, f"{_SENTENCES[kind]} (HTTP {status})", status, retry_after(headers, now))


def classify_fetch_error(error: FetchError) -> PollFailed:
    return PollFailed(_BY_FETCH_FAILURE[error.kind], _sentence(error.detail), url=error.url, by_name=error.by_name)


def classify_type(content_type: str | None, status: int) -> PollFailed:
    """A response that is not sent as XML, under a policy that requires it."""
    sent_as = (content_type or "nothing in particular")[:QUOTED]
    return PollFailed(FailureClass.NOT_A_FEED, _sentence(f"it is sent as {sent_as}, and not as XML"), status)


def classify_body(error: UnreadableBody, status: int) -> PollFailed:
    kind = FailureClass.NOT_A_FEED if isinstance(error, NotAFeed) else FailureClass.PARSE_ERROR
    return PollFailed(kind, _sentence(error.reason), status)


def classify_overrun(error: Overrun, status: int) -> PollFailed:
    return PollFailed(FailureClass.PARSE_ERROR, _sentence(f"it cannot be read within our limits: {error}"), status)


def _class_of(status: int, headers: Mapping[str, str], body: bytes) -> FailureClass:
    if is_challenge(status, headers, body):
        return FailureClass.BOT_CHALLENGE
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if 400 <= status < 500:
        return FailureClass.BAD_REQUEST
    if 500 <= status < 600:
        return FailureClass.UPSTREAM_FAILURE
    return FailureClass.UNEXPECTED


def _sentence(reason: str) -> str:
    """For users; parts of it come from outside, and must be storable."""
    reason = storable(reason)
    return f"{reason[:1].upper()}{reason[1:].rstrip('.')}."
