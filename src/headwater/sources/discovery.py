"""Discovery: what a person typed in; the feeds behind it out, each of them fetched and read before it is offered.

Nothing is stored, and nothing that a site does raises: an address that gave no feed is listed with the reason. Asked
one after the other, in this order, until something is found: a known site's own pattern, the address itself, what its
page declares and links to, the same of the front page, and at last the places where feeds usually stand.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus

import can_ada

from headwater.errors import HostBusy, InvalidUrl
from headwater.feeds import ParsedFeed, UnreadableBody, parse_feed
from headwater.hosts.turns import Turn
from headwater.net import Client, FetchError, FetchFailure, Response
from headwater.net.answers import is_challenge
from headwater.observability.log import get_logger
from headwater.polling.ask import moved_to
from headwater.sandbox import Overrun, Sandbox
from headwater.sources.page_links import (
    READER_SCHEME,
    Candidate,
    How,
    absolute,
    header_links,
    is_about_comments,
    links_of,
)
from headwater.sources.well_known import customary_feeds, known_feeds
from headwater.text import one_line
from headwater.urls import MAX_LENGTH, complete_url, host_of, parse_url, url_key

log = get_logger()

MAX_REQUESTS = 16  # a page, its site's front page, and every usual place, where nothing else leads to a feed
PAUSE = timedelta(seconds=1)  # between two requests to one host, while a person waits
ACCEPT = "application/atom+xml, application/rss+xml, application/feed+json, text/html, application/xml;q=0.9, */*;q=0.5"


@dataclass(frozen=True, slots=True)
class FoundFeed:
    """A feed that was fetched and read. `url` is where it lives for good: past permanent redirects."""

    url: str
    title: str
    format: str
    entry_count: int
    latest_at: datetime | None
    how: How


@dataclass(frozen=True, slots=True)
class Tried:
    """An address that gave no feed, and why, in a sentence."""

    url: str
    how: How
    reason: str


@dataclass(frozen=True, slots=True)
class Discovery:
    """What was found behind an address, the best first; and what was tried in vain."""

    url: str
    found: tuple[FoundFeed, ...]
    tried: tuple[Tried, ...]


async def discover(
    client: Client,
    sandbox: Sandbox,
    url: str,
    *,
    within: timedelta,
    max_bytes: int,
    pause: timedelta = PAUSE,
    turn: Turn | None = None,
) -> Discovery:
    """The feeds of a site, a page, or an address that is a feed; never longer than `within`.

    With a `turn` each host is waited for; without one, as where there is no database, requests to a host are a pause
    apart. Raises InvalidUrl, HostBusy where nothing is found and a host could not be asked, and DatabaseUnavailable.
    """
    addresses = _addresses(url)
    search = _Search(client, sandbox, within, max_bytes, pause, turn)
    try:
        async with asyncio.timeout(within.total_seconds()):
            page = await _look(search, addresses)
    except TimeoutError:
        search.stop("the time was up before it was read")
        page = addresses[0]
    if search.busy is not None and not search.found:
        raise search.busy
    return Discovery(page, search.ranked(), tuple(search.tried))


async def _look(search: "_Search", addresses: Sequence[str]) -> str:
    """Try one way after the other; the address of the page that the search began from."""
    await search.examine(_candidates(known_feeds(addresses[0]), How.KNOWN_SITE))
    if search.found:
        return addresses[0]
    page = await search.open(addresses)
    here = page.url if page else addresses[0]
    if page and not search.found:
        await _look_at(search, page)
    front = parse_url("/", base=here)
    if not search.found and not search.leaves_alone(front) and url_key(front) != url_key(here):
        page = await search.ask_or_note(Candidate(front, How.FRONT_PAGE))
        if page and not search.found:
            await _look_at(search, page)
    for place in _candidates(customary_feeds(here), How.USUAL_PLACE):
        if search.found or search.leaves_alone(place.url):
            break
        await search.examine([place])
    return here


def _candidates(urls: Iterable[str], how: How) -> Iterator[Candidate]:
    return (Candidate(url, how) for given in urls if (url := absolute(given, given)))


async def _look_at(search: "_Search", page: Response) -> None:
    links = search.links_on(page)
    await search.examine(link for link in links if link.how is not How.MENTIONED)
    if not search.found:
        await search.examine(link for link in links if link.how is How.MENTIONED)


_SILENT = frozenset({FetchFailure.TIMEOUT, FetchFailure.NETWORK, FetchFailure.DNS})


class _Search:
    """What one discovery has asked, found and tried so far. One request at a time."""

    def __init__(
        self,
        client: Client,
        sandbox: Sandbox,
        within: timedelta,
        max_bytes: int,
        pause: timedelta,
        turn: Turn | None = None,
    ) -> None:
        self._client = client
        self._sandbox = sandbox
        self._max_bytes = max_bytes
        self._pause = pause.total_seconds()
        self._turn = turn
        self.busy: HostBusy | None = None
        self._patience = within / 3  # so that one address that hangs does not cost all the others
        self._asked = 0
        self._asked_at: dict[str, float] = {}
        self._resting: set[str] = set()
        self._refused: set[str] = set()
        self._seen: set[bytes] = set()
        self._feeds: set[bytes] = set()
        self._current: Candidate | None = None
        self.found: list[tuple[tuple[int, ...], FoundFeed]] = []
        self.tried: list[Tried] = []

    def ranked(self) -> tuple[FoundFeed, ...]:
        """The best first; among equals, the order in which the site named them."""
        return tuple(feed for _, feed in sorted(self.found, key=lambda scored: scored[0]))

    def leaves_alone(self, url: str) -> bool:
        """Whether the host has fallen silent, asked us to stop, or is one that is never asked."""
        return self._reason_to_leave_alone(url) is not None

    async def open(self, addresses: Sequence[str]) -> Response | None:
        """The answer at the first of these addresses that answers at all."""
        for address in addresses:
            self._seen.add(url_key(address))
            if not self.leaves_alone(address) and (response := await self.ask_or_note(Candidate(address, How.ITSELF))):
                self._seen.add(url_key(response.url))
                return response
        return None

    async def examine(self, candidates: Iterable[Candidate]) -> None:
        """Ask for each that is new; feeds of comments last."""
        for candidate in sorted(candidates, key=is_about_comments):
            key = url_key(candidate.url)
            if key in self._seen:
                continue
            self._seen.add(key)
            await self.ask_or_note(candidate)

    async def ask_or_note(self, candidate: Candidate) -> Response | None:
        """Ask for it, or note why it is not asked for. The answer, where there is one."""
        reason = self._reason_to_leave_alone(candidate.url)
        if reason is None and self._asked >= MAX_REQUESTS:
            reason = f"{MAX_REQUESTS} requests are enough for one search"
        if reason is None:
            return await self._ask(candidate)
        self._reject(candidate, f"not asked for: {reason}")
        return None

    def links_on(self, page: Response) -> Sequence[Candidate]:
        """What the page that was asked for last says of its feeds."""
        try:
            return [*header_links(page), *links_of(page.body, page.url)]
        except Exception as error:  # noqa: BLE001  a bug of ours ends neither the search nor what else it finds
            self._blame_ourselves(error)
            return []

    def stop(self, reason: str) -> None:
        """Note what the search broke off at."""
        if self._current is not None:
            self._reject(self._current, reason)

    async def _ask(self, candidate: Candidate) -> Response | None:
        """Fetch and read one address, and note what came of it. The answer, where there is one."""
        self._current = candidate
        try:
            response = await self._get(candidate.url)
        except HostBusy as error:
            self.busy = error
            self._resting.add(_origin(candidate.url))
            self._reject(candidate, str(error))
            return None
        except FetchError as error:
            if error.kind in _SILENT:
                self._resting.add(_origin(candidate.url))
            if _is_refusal(error):
                self._refused.add(_host_and_port(error.url))
            self._reject(candidate, error.detail)
            return None
        if max(len(url) for url in (response.url, *(hop.url for hop in response.hops))) > MAX_LENGTH:
            self._reject(candidate, f"it redirects to an address longer than {MAX_LENGTH} characters")
            return None
        if response.status == HTTPStatus.OK:
            try:
                await self._read(candidate, response)
            except Exception as error:  # noqa: BLE001  a bug of ours costs one candidate, not the search
                self._blame_ourselves(error)
        else:
            if _wants_rest(response):
                self._resting.add(_origin(response.url))
            self._reject(candidate, _refusal(response))
        return response

    def _reason_to_leave_alone(self, url: str) -> str | None:
        if _host_and_port(url) in self._refused:
            return "Headwater does not connect to its host"
        if _origin(url) in self._resting:
            return "its host does not answer, or asks us to come less often"
        return None

    async def _get(self, url: str) -> Response:
        self._client.check(url)  # what is refused as it is written costs neither a request nor a pause
        get = partial(self._client.get, within=self._patience, max_bytes=self._max_bytes, headers={"Accept": ACCEPT})
        self._asked += 1
        if self._turn is not None:
            return await self._turn.ask(get, url, turn=self._turn.hop)
        host, now = host_of(url), asyncio.get_running_loop().time
        await asyncio.sleep(self._asked_at.get(host, float("-inf")) + self._pause - now())
        try:
            return await get(url)
        finally:
            self._asked_at[host] = now()

    async def _read(self, candidate: Candidate, response: Response) -> None:
        content_type = response.headers.get("Content-Type")
        try:
            feed = await self._sandbox.run(parse_feed, response.body, url=response.url, content_type=content_type)
        except UnreadableBody as error:
            self._reject(candidate, error.reason)
            return
        except Overrun as error:
            self._reject(candidate, f"it cannot be read within our limits: {error}")
            return
        if not feed.entries and not feed.title:
            self._reject(candidate, "it is like a feed, with neither a title nor entries")
            return
        url = moved_to(response) or (response.hops[0].url if response.hops else response.url)
        keys = {url_key(url), url_key(response.url)}
        if keys & self._feeds:
            self._reject(candidate, "it leads to a feed that was found already")
            return
        self._feeds |= keys
        self._seen |= keys
        self.found.append((_score(candidate, url, feed), _found(candidate, url, feed)))

    def _blame_ourselves(self, error: Exception) -> None:
        assert self._current is not None, "something was asked for"
        # A warning: a command that tells its own story logs errors, and this is told in it.
        log.warning("feed discovery broke", url=self._current.url, exc_info=error)
        self._reject(self._current, one_line(f"Headwater itself failed: {type(error).__name__}: {error}")[:200])

    def _reject(self, candidate: Candidate, reason: str) -> None:
        sentence = f"{reason[:1].upper()}{reason[1:].rstrip('.')}."
        self.tried.append(Tried(candidate.url, candidate.how, sentence))


def _addresses(text: str) -> Sequence[str]:
    """What was typed, as URLs to try in turn: https first where no scheme was given. Raises InvalidUrl."""
    text = READER_SCHEME.sub("", text.strip())
    url = complete_url(text)
    if text.lower().startswith(("http:", "https:")):
        return (url,)
    return url, f"http{url.removeprefix('https')}"


def _origin(url: str) -> str:
    return can_ada.parse(url).origin


def _host_and_port(url: str) -> str:
    return can_ada.parse(url).host


def _is_refusal(error: FetchError) -> bool:
    """Whether it is the address or port of `error.url` that is never asked, and not where its answer redirects to."""
    return error.kind is FetchFailure.BLOCKED and not isinstance(error.__cause__, InvalidUrl)


def _wants_rest(response: Response) -> bool:
    return response.status in {429, 503} or _is_challenge(response)


def _is_challenge(response: Response) -> bool:
    return is_challenge(response.status, response.headers, response.body)


def _refusal(response: Response) -> str:
    if _is_challenge(response):
        return f"it shows a test that only a person in a browser can pass (HTTP {response.status})"
    try:
        phrase = f" {HTTPStatus(response.status).phrase}"
    except ValueError:
        phrase = ""
    return f"the answer is HTTP {response.status}{phrase}"


def _found(candidate: Candidate, url: str, feed: ParsedFeed) -> FoundFeed:
    dates = [at for entry in feed.entries if (at := entry.published_at or entry.updated_at)]
    title = feed.title or candidate.title or host_of(url)
    return FoundFeed(url, title, feed.format, len(feed.entries), max(dates, default=feed.updated_at), candidate.how)


def _score(candidate: Candidate, url: str, feed: ParsedFeed) -> tuple[int, ...]:
    """Less is better: declared before guessed, then what its entries carry. Ten entries are as good as a hundred."""
    named = Candidate(url, candidate.how, feed.title or candidate.title)
    dated = any(entry.published_at or entry.updated_at for entry in feed.entries)
    full = any(entry.content for entry in feed.entries)
    is_declared = candidate.how in {How.ITSELF, How.DECLARED}
    return (is_about_comments(named), not is_declared, -(dated + full), -min(len(feed.entries), 10))
