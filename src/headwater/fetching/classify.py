"""What a response, or a failed request, means for the URL and its host. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from headwater.fetching.types import Verdict
from headwater.frontier.types import ClaimedHost, ClaimedUrl, Fetched, FetchFailed, Hopeless, Unchanged
from headwater.hosts.decide import wait_of
from headwater.net import FetchError, FetchFailure, Response
from headwater.net.answers import is_challenge, retry_after
from headwater.reading.sniff import Form, describe, sniff
from headwater.reading.text import storable
from headwater.types import PageKind

CHALLENGE_PAUSE = timedelta(hours=24)
SILENCE_PAUSE = timedelta(minutes=1)  # of a host that does not answer

READABLE = {
    PageKind.ARTICLE: frozenset({Form.HTML, Form.TEXT}),
    PageKind.LIST: frozenset({Form.HTML, Form.TEXT}),
    # The sitemap reader retires a sitemap that has become a web page.
    PageKind.SITEMAP: frozenset({Form.XML, Form.TEXT, Form.GZIP, Form.HTML}),
}
_GONE = {404: "not_found", 410: "gone"}
_REFUSED = {401: "unauthorized", 403: "forbidden", 408: "timeout", 425: "upstream_failure"}
_SENTENCES = {
    "not_found": "There is no page at this address.",
    "gone": "The site says that this page is gone for good.",
    "unauthorized": "The site wants a name and password for this page.",
    "forbidden": "The site refuses to let us read this page.",
    "bad_request": "The site does not accept our request.",
    "bot_challenge": "The site shows a test that only a person in a browser can pass.",
    "rate_limited": "The site asks us to come less often.",
    "upstream_failure": "The site has a fault of its own.",
    "timeout": "The site says that we were too slow.",
    "unexpected": "The site gave an answer that we do not understand.",
}
# No retry helps, and the host works.
_HOPELESS = {FetchFailure.TOO_LARGE: "too_large", FetchFailure.BLOCKED: "ssrf_blocked"}
_OF_THE_PAGE = frozenset({FetchFailure.REDIRECT_LOOP, FetchFailure.BAD_ENCODING})


def classify(url: ClaimedUrl, host: ClaimedHost, response: Response, now: datetime) -> Verdict:
    """What this response, which is not a redirect, means. Retry-After counts with any status."""
    verdict = _classified(url, response)
    asked = retry_after(response.headers, now)
    pause = wait_of(asked, host.pace, was_rate_limited=verdict.was_rate_limited)
    return verdict if pause is None else replace(verdict, ends_turn=True, pause=pause)


def _classified(url: ClaimedUrl, response: Response) -> Verdict:
    if is_challenge(response.status, response.headers, response.body):
        answer = FetchFailed("bot_challenge", _sentence("bot_challenge", response.status))
        return Verdict(answer, ends_turn=True, pages_pause=CHALLENGE_PAUSE, was_rate_limited=response.status == 429)
    match response.status:
        case 200 | 203:
            return classify_body(url, response)
        case 304 if url.etag or url.last_modified:
            return Verdict(Unchanged(*validators(response.headers)))
        case 429:
            answer = FetchFailed("rate_limited", _sentence("rate_limited", 429))
            return Verdict(answer, ends_turn=True, was_rate_limited=True)
        case status if status in _GONE:
            return Verdict(Hopeless(_GONE[status], _sentence(_GONE[status], status)))
        case status:
            return Verdict(_by_status(status))


def classify_error(error: FetchError, *, host_answers: bool) -> Verdict:
    """What a failed request means: for one page, or for a host that answers nothing else either."""
    detail = storable(f"{error.detail[:1].upper()}{error.detail[1:].rstrip('.')}.")
    if error.kind in _HOPELESS:
        return Verdict(Hopeless(_HOPELESS[error.kind], detail))
    if error.kind in _OF_THE_PAGE or host_answers:
        return Verdict(FetchFailed(error.kind.value, detail))
    return Verdict(FetchFailed(error.kind.value, detail), ends_turn=True, pause=SILENCE_PAUSE)


def classify_body(url: ClaimedUrl, response: Response) -> Verdict:
    """A body is kept if it is what the URL is fetched for."""
    form = sniff(response.body, response.headers.get("Content-Type"))
    if form in READABLE[url.kind]:
        return Verdict(Fetched(*validators(response.headers)))
    if form is Form.EMPTY:
        return Verdict(FetchFailed("empty", "The site sent a page with nothing in it."))
    reason = "not_a_sitemap" if url.kind is PageKind.SITEMAP else "not_html"
    return Verdict(Hopeless(reason, f"It is {describe(response.body, form)}."))


def validators(headers: Mapping[str, str]) -> tuple[str | None, str | None]:
    """ETag and Last-Modified, if they can be stored word for word."""
    return _kept(headers.get("ETag")), _kept(headers.get("Last-Modified"))


def _by_status(status: int) -> FetchFailed:
    if 400 <= status < 500:
        reason = _REFUSED.get(status, "bad_request")
    else:
        reason = "upstream_failure" if 500 <= status < 600 else "unexpected"
    return FetchFailed(reason, _sentence(reason, status))


def _sentence(reason: str, status: int) -> str:
    return f"{_SENTENCES[reason]} (HTTP {status})"


def _kept(header: str | None) -> str | None:
    return header if header and header.isprintable() and len(header) <= 1_000 else None
