"""Discovery: finds the feeds of a site, page or URL that a user gives. Each is fetched and parsed. Nothing is stored.
Tries in this order, until something is found: patterns of known sites, the URL itself, what its page declares and links
to, the same of the front page, and the usual URLs of feeds."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any

import can_ada

from headwater.errors import HostBusy, InvalidUrl
from headwater.feeds import ParsedFeed, UnreadableBody, parse_feed
from headwater.hosts.robots_cache import Closed, Disallowed, PageRequests
from headwater.hosts.turns import Turn
from headwater.net import FetchError, FetchFailure, Response
from headwater.net.responses import is_challenge
from headwater.observability.log import get_logger
from headwater.polling.request import moved_to
from headwater.sandbox import Overrun, Sandbox
from headwater.sources.page_links import (
    MAX_TITLE,
    READER_SCHEME,
    Candidate,
    How,
    absolute,
    feed_links,
    is_about_comments,
)
from headwater.sources.well_known import known_feeds, looks_like_feed, usual_feeds
from headwater.text import one_line
from headwater.urls import MAX_LENGTH, complete_url, host_of, parse_url, url_key

log = get_logger()

TITLES = 3
MAX_REQUESTS = 16  # a page, its site's front page, and every usual URL
PAUSE = timedelta(seconds=1)  # between two requests to one host, without a database
ACCEPT = "application/atom+xml, application/rss+xml, application/feed+json, text/html, application/xml;q=0.9, */*;q=0.5"
_PAGES = frozenset({How.ITSELF, How.FRONT_PAGE, How.MENTIONED})  # robots.txt applies to pages, not to feeds
_NO_RESPONSE = frozenset({FetchFailure.TIMEOUT, FetchFailure.NETWORK, FetchFailure.DNS})


@dataclass(frozen=True, slots=True)
class FoundFeed:
    """A feed that was fetched and parsed. `url` is after permanent redirects."""

    url: str
    title: str
    format: str
    entry_count: int
    latest_at: datetime | None
    how: How
    newest: tuple[str, ...] = ()  # titles of its first entries


@dataclass(frozen=True, slots=True)
class Tried:
    url: str
    how: How
    reason: str


@dataclass(frozen=True, slots=True)
class Discovery:
    url: str
    found: tuple[FoundFeed, ...]  # the best first
    tried: tuple[Tried, ...]


async def discover(
    pages: PageRequests, sandbox: Sandbox, url: str, *, within: timedelta, max_bytes: int, pause: timedelta = PAUSE,
    turn: Turn | None = None,
) -> Discovery:  # fmt: skip
    """The feeds of a site, a page, or a URL that is a feed. With a `turn`, requests wait for each host; without one, as
    without a database, they are a pause apart. Raises InvalidUrl, HostBusy if nothing is found and a host was busy, and
    DatabaseUnavailable."""
    text = READER_SCHEME.sub("", url.strip())
    first = complete_url(text)
    has_scheme = text.lower().startswith(("http:", "https:"))
    urls = [first] if has_scheme else [first, f"http{first.removeprefix('https')}"]
    # A third of the time for each request, so that one that hangs does not cost all the others.
    limits = {"within": within / 3, "max_bytes": max_bytes, "headers": {"Accept": ACCEPT}}
    search = _Search(pages, limits, sandbox, pause.total_seconds(), turn)
    try:
        async with asyncio.timeout(within.total_seconds()):
            first = await _search(search, urls)
    except TimeoutError:
        if search.current is not None:
            search.reject(search.current, "the search timed out before it was read")
    if search.busy is not None and not search.found:
        raise search.busy
    found = tuple(feed for _, feed in sorted(search.found, key=lambda scored: scored[0]))
    return Discovery(first, found, tuple(search.tried))


async def _search(search: "_Search", urls: Sequence[str]) -> str:
    """Try each method; returns the URL of the page that the search started from."""
    await search.examine(_candidates(known_feeds(urls[0]), How.KNOWN_SITE))
    if search.found:
        return urls[0]
    page = await search.open(urls)
    here = page.url if page else urls[0]
    await search.examine_links(page)
    front = parse_url("/", base=here)
    if not search.found and search.reason_to_skip(front) is None and url_key(front) != url_key(here):
        await search.examine_links(await search.request(Candidate(front, How.FRONT_PAGE)))
    for place in _candidates(usual_feeds(here), How.USUAL_PLACE):
        if search.found or search.reason_to_skip(place.url) is not None:
            break
        await search.examine([place])
    return here


def _candidates(urls: Iterable[str], how: How) -> Iterator[Candidate]:
    return (Candidate(url, how) for given in urls if (url := absolute(given, given)))


@dataclass(slots=True)
class _Search:
    """The requests and results of one discovery. One request at a time."""

    pages: PageRequests
    limits: dict[str, Any]
    sandbox: Sandbox
    pause: float  # seconds
    turn: Turn | None
    current: Candidate | None = None
    busy: HostBusy | None = None
    requests: int = 0
    requested_at: dict[str, float] = field(default_factory=dict[str, float])
    resting: set[str] = field(default_factory=set[str])  # origins that do not respond or limit requests
    blocked: set[str] = field(default_factory=set[str])
    seen: set[bytes] = field(default_factory=set[bytes])
    feeds: set[bytes] = field(default_factory=set[bytes])
    found: list[tuple[tuple[int, ...], FoundFeed]] = field(default_factory=list[tuple[tuple[int, ...], FoundFeed]])
    tried: list[Tried] = field(default_factory=list[Tried])

    def reason_to_skip(self, url: str) -> str | None:
        parsed = can_ada.parse(url)
        if parsed.host in self.blocked:
            return "Headwater does not connect to its host"
        if parsed.origin in self.resting:
            return "its host does not respond, or limits requests"
        return None

    async def open(self, urls: Sequence[str]) -> Response | None:
        for url in urls:
            self.seen.add(url_key(url))
            if self.reason_to_skip(url) is None and (response := await self.request(Candidate(url, How.ITSELF))):
                self.seen.add(url_key(response.url))
                return response
        return None

    async def examine_links(self, page: Response | None) -> None:
        """Request what a page declares and links to; if none is a feed, also links whose text mentions one."""
        if page is None or self.found:
            return
        try:
            links = await asyncio.to_thread(feed_links, page)  # up to half a second for a hostile page
        except Exception as error:  # noqa: BLE001  a bug of ours ends neither the search nor what else it finds
            self._reject_for_bug(error)
            return
        await self.examine(link for link in links if link.how is not How.MENTIONED)
        if not self.found:
            await self.examine(link for link in links if link.how is How.MENTIONED)

    async def examine(self, candidates: Iterable[Candidate]) -> None:
        """Request each that is new; feeds of comments last."""
        for candidate in sorted(candidates, key=is_about_comments):
            if (key := url_key(candidate.url)) not in self.seen:
                self.seen.add(key)
                await self.request(candidate)

    async def request(self, candidate: Candidate) -> Response | None:
        """Fetch and read one URL, unless it is skipped, and keep the result. Returns the response, if any."""
        reason = self.reason_to_skip(candidate.url)
        if reason is None and self.requests >= MAX_REQUESTS:
            reason = f"a search is limited to {MAX_REQUESTS} requests"
        if reason is not None:
            self.reject(candidate, f"not requested: {reason}")
            return None
        self.current = candidate
        try:
            response = await self._fetch(candidate)
        except (HostBusy, FetchError, Closed) as error:
            self._note_failure(candidate, error)
            return None
        if max(len(url) for url in (response.url, *(hop.url for hop in response.hops))) > MAX_LENGTH:
            self.reject(candidate, f"it redirects to a URL longer than {MAX_LENGTH} characters")
            return None
        if response.status != HTTPStatus.OK:
            self._note_status(candidate, response)
            return response
        try:
            self._keep(candidate, response, await read_feed(self.sandbox, response))
        except UnreadableBody as error:
            self.reject(candidate, error.reason)
        except Exception as error:  # noqa: BLE001  a bug of ours costs one candidate, not the search
            self._reject_for_bug(error)
        return response

    async def _fetch(self, candidate: Candidate) -> Response:
        url, client = candidate.url, self.pages.client
        client.check(url)  # a URL that is refused as it is written costs neither a request nor a pause
        self.requests += 1
        if candidate.how in _PAGES and not looks_like_feed(url):
            return await self.pages.get_in(self.turn, self._ask, url, **self.limits)
        return await self._ask(client.get, url, turn=self.turn.hop if self.turn else None, **self.limits)

    async def _ask(self, send: Callable[..., Awaitable[Response]], url: str, **more: Any) -> Response:  # noqa: ANN401
        if self.turn is not None:
            return await self.turn.ask(send, url, **more)
        host, now = host_of(url), asyncio.get_running_loop().time
        await asyncio.sleep(self.requested_at.get(host, float("-inf")) + self.pause - now())
        try:
            return await send(url, **more)
        finally:
            self.requested_at[host] = now()

    def _note_failure(self, candidate: Candidate, error: HostBusy | FetchError | Closed) -> None:
        reason, is_resting = str(error), True
        if isinstance(error, HostBusy):
            self.busy = error
        elif isinstance(error, Closed):
            reason, is_resting = "its robots.txt cannot be read", error.robots.status in {None, 429, 503}
        else:
            reason, is_resting = error.detail, error.kind in _NO_RESPONSE
            # Blocked for its own address or port, not for where it redirects to.
            is_other = isinstance(error, Disallowed) or isinstance(error.__cause__, InvalidUrl)
            if error.kind is FetchFailure.BLOCKED and not is_other:
                self.blocked.add(can_ada.parse(error.url).host)
        if is_resting:
            self.resting.add(can_ada.parse(candidate.url).origin)
        self.reject(candidate, reason)

    def _note_status(self, candidate: Candidate, response: Response) -> None:
        status = response.status
        has_challenge = is_challenge(status, response.headers, response.body)
        if has_challenge or status in {429, 503}:
            self.resting.add(can_ada.parse(response.url).origin)
        phrase = f" {HTTPStatus(status).phrase}" if status in set(HTTPStatus) else ""
        plain = f"the response is HTTP {status}{phrase}"
        self.reject(candidate, f"it shows a bot challenge (HTTP {status})" if has_challenge else plain)

    def _keep(self, candidate: Candidate, response: Response, feed: ParsedFeed) -> None:
        url = moved_to(response) or (response.hops[0].url if response.hops else response.url)
        keys = {url_key(url), url_key(response.url)}
        if keys & self.feeds:
            self.reject(candidate, "it leads to a feed that was found already")
            return
        self.feeds |= keys
        self.seen |= keys
        title, latest_at = feed.title or candidate.title or host_of(url), latest_of(feed)
        newest = newest_titles(feed)
        found = FoundFeed(url, title, feed.format, len(feed.entries), latest_at, candidate.how, newest)
        self.found.append((_score(candidate, url, feed), found))

    def _reject_for_bug(self, error: Exception) -> None:
        assert self.current is not None, "something was requested"
        # A warning: the command prints this as a result, and logs only errors.
        log.warning("feed discovery broke", url=self.current.url, exc_info=error)
        self.reject(self.current, one_line(f"Headwater itself failed: {type(error).__name__}: {error}")[:200])

    def reject(self, candidate: Candidate, reason: str) -> None:
        self.tried.append(Tried(candidate.url, candidate.how, f"{reason[:1].upper()}{reason[1:].rstrip('.')}."))


async def read_feed(sandbox: Sandbox, response: Response) -> ParsedFeed:
    """Parse a response. Raises UnreadableBody, also for a feed with neither a title nor entries."""
    content_type = response.headers.get("Content-Type")
    try:
        feed = await sandbox.run(parse_feed, response.body, url=response.url, content_type=content_type)
    except Overrun as error:
        raise UnreadableBody(f"it cannot be read within our limits: {error}") from error
    if not feed.entries and not feed.title:
        raise UnreadableBody("it has neither a title nor entries")
    return feed


def newest_titles(feed: ParsedFeed, most: int = TITLES) -> tuple[str, ...]:
    return tuple(one_line(entry.title or "")[:MAX_TITLE] or "(untitled)" for entry in feed.entries[:most])


def latest_of(feed: ParsedFeed) -> datetime | None:
    dates = [at for entry in feed.entries if (at := entry.published_at or entry.updated_at)]
    return max(dates, default=feed.updated_at)


def _score(candidate: Candidate, url: str, feed: ParsedFeed) -> tuple[int, ...]:
    """Less is better: declared before guessed, then what its entries have. Ten entries are as good as a hundred."""
    named = Candidate(url, candidate.how, feed.title or candidate.title)
    dated = any(entry.published_at or entry.updated_at for entry in feed.entries)
    full = any(entry.content for entry in feed.entries)
    is_declared = candidate.how in {How.ITSELF, How.DECLARED}
    return (is_about_comments(named), not is_declared, -(dated + full), -min(len(feed.entries), 10))
