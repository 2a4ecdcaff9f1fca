"""What a response, a redirect or a failed request means for the URL and its host. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from headwater.fetching.types import Verdict
from headwater.frontier.types import ClaimedHost, ClaimedUrl, Fetched, FetchFailed, GivenUp, Redirected, Unchanged
from headwater.hosts.decide import LONGEST_WAIT, wait_of
from headwater.net import FetchError, FetchFailure, Response
from headwater.net.responses import as_sentence, failure_of, failure_sentence, retry_after
from headwater.reading.sniff import Form, describe, sniff
from headwater.types import FailureClass, PageKind
from headwater.urls import host_of, url_key

CHALLENGE_PAUSE = timedelta(hours=24)
SILENCE_PAUSE = timedelta(minutes=1)  # of a host that does not answer
MOST_REDIRECTS = 5
PERMANENT = frozenset({301, 308})

READABLE = {
    PageKind.ARTICLE: frozenset({Form.HTML, Form.TEXT}),
    PageKind.LIST: frozenset({Form.HTML, Form.TEXT}),
    # The sitemap reader retires a sitemap that has become a web page.
    PageKind.SITEMAP: frozenset({Form.XML, Form.TEXT, Form.GZIP, Form.HTML}),
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
    status = response.status
    kind = failure_of(status, response.headers, response.body)
    detail = failure_sentence(kind, status, "page")
    match kind, status:
        case FailureClass.BOT_CHALLENGE, _:
            answer = FetchFailed(kind.value, detail)
            return Verdict(answer, ends_turn=True, pages_pause=CHALLENGE_PAUSE, was_rate_limited=status == 429)
        case _, 200 | 203:
            return classify_body(url, response)
        case _, 304 if url.etag or url.last_modified:
            return Verdict(Unchanged(*validators(response.headers)))
        case _, 404 | 410:
            return Verdict(GivenUp(kind.value, detail))
        case _, 408:
            return Verdict(FetchFailed("timeout", "The site did not receive our request in time. (HTTP 408)"))
        case _, 425:  # Too Early: as a failure of its server
            kind = FailureClass.UPSTREAM_FAILURE
            return Verdict(FetchFailed(kind.value, failure_sentence(kind, status, "page")))
        case _:
            return Verdict(FetchFailed(kind.value, detail), was_rate_limited=status == 429)


def classify_error(error: FetchError, *, host_answers: bool) -> Verdict:
    """What a failed request means: for one page, or for a host that answers nothing else either."""
    detail = as_sentence(error.detail)
    if error.kind in _HOPELESS:
        return Verdict(GivenUp(_HOPELESS[error.kind], detail))
    if error.kind in _OF_THE_PAGE or host_answers:
        return Verdict(FetchFailed(error.kind.value, detail))
    return Verdict(FetchFailed(error.kind.value, detail), ends_turn=True, pause=SILENCE_PAUSE)


def classify_body(url: ClaimedUrl, response: Response) -> Verdict:
    """A body is kept if it is what the URL is fetched for."""
    form = sniff(response.body, response.headers.get("Content-Type"))
    if form in READABLE[url.kind]:
        return Verdict(Fetched(*validators(response.headers)))
    if form is Form.EMPTY:
        return Verdict(FetchFailed("empty", "The site sent an empty page."))
    reason = "not_a_sitemap" if url.kind is PageKind.SITEMAP else "not_html"
    return Verdict(GivenUp(reason, f"It is {describe(response.body, form)}."))


def validators(headers: Mapping[str, str]) -> tuple[str | None, str | None]:
    """ETag and Last-Modified, if they can be stored word for word."""
    return _kept(headers.get("ETag")), _kept(headers.get("Last-Modified"))


def _kept(header: str | None) -> str | None:
    return header if header and header.isprintable() and len(header) <= 1_000 else None


@dataclass(frozen=True, slots=True)
class Trail:
    """The URL of a fetch, and those that redirects led to."""

    urls: tuple[str, ...]
    is_permanent: bool = True

    @property
    def here(self) -> str:
        return self.urls[-1]

    def to(self, url: str, status: int) -> "Trail":
        return Trail((*self.urls, url), self.is_permanent and status in PERMANENT)


def after_redirect(url: ClaimedUrl, trail: Trail, asked: timedelta = timedelta(0)) -> Verdict | None:
    """None if the last redirect is followed now, as part of the same fetch; else its target is queued as another URL.

    Another host has its own queue and clock. The target of a permanent redirect may be known already. That of one with
    Retry-After, `asked`, is requested when that has passed (RFC 9110, 10.2.3). All else is followed: the same page
    under https, or with a slash at its end, is the same URL.
    """
    if trail.here in trail.urls[:-1]:
        return Verdict(FetchFailed("redirect_loop", "The redirects lead back to where they began."))
    if len(trail.urls) - 1 > MOST_REDIRECTS:
        return Verdict(FetchFailed("redirect_loop", f"There are more than {MOST_REDIRECTS} redirects."))
    is_elsewhere = trail.is_permanent or host_of(trail.here) != host_of(url.url)
    if asked or (is_elsewhere and url_key(trail.here) != url_key(url.url)):
        return Verdict(Redirected(trail.here, trail.is_permanent, min(asked, LONGEST_WAIT)))
    return None


def sends_validators(url: ClaimedUrl, trail: Trail) -> bool:
    """Whether the validators of the URL apply to the current one."""
    return len(trail.urls) == 1 or url_key(trail.here) == url_key(url.url)
