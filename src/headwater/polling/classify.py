"""The class of failure of a response or an error. Pure."""

from collections.abc import Mapping
from datetime import datetime

from headwater.feeds.types import NotAFeed, UnreadableBody
from headwater.net.answers import as_sentence, failure_of, failure_sentence, retry_after
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
