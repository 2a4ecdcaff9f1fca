"""Requests for a user: discovery, and checks of suggested feeds, with one HEAD and one GET, parsed in the sandbox.
Nothing is stored. As seed 003 says, except that a server that refuses HEAD is not rejected for it, since many do."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus

from headwater.errors import HostBusy, InvalidUrl
from headwater.feeds import ParsedFeed, UnreadableBody
from headwater.hosts.robots_cache import PageRequests
from headwater.hosts.turns import USER_WAIT, Turn, Turns
from headwater.net import Client, FetchError, FetchFailure, Response
from headwater.polling.request import moved_to
from headwater.sandbox import Sandbox
from headwater.sources.custom.types import Inspected, NoFeed, Sample
from headwater.sources.discovery import ACCEPT, Discovery, discover, latest_of, newest_titles, read_feed
from headwater.sources.page_links import How, feed_links, is_about_comments
from headwater.text import one_line
from headwater.urls import MAX_LENGTH, parse_url

WITHIN = timedelta(seconds=5)
DISCOVERY_WITHIN = timedelta(seconds=30)  # a user waits: robots.txt, a page and some feeds, a delay apart
TITLES = 5
TITLE_MOST = 200
OFFERS_MOST = 5
_FINAL = frozenset({FetchFailure.DNS, FetchFailure.BLOCKED})
_REST = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})


@dataclass(frozen=True, slots=True)
class Inspector:
    client: Client
    sandbox: Sandbox
    turns: Turns
    max_bytes: int
    within: timedelta = WITHIN
    robot: str = "Headwater"
    crawl_delay_max: timedelta = timedelta(minutes=1)

    async def discover(self, url: str) -> Discovery:
        """The feeds of a site, a page or a feed. Raises InvalidUrl, HostBusy, DatabaseUnavailable."""
        pages = PageRequests(self.client, self.turns, self.turns.clock, self.robot, self.crawl_delay_max)
        async with self.turns.borrow(wait=USER_WAIT) as turn:
            return await discover(
                pages, self.sandbox, url, within=DISCOVERY_WITHIN, max_bytes=self.max_bytes, turn=turn
            )

    async def inspect(self, url: str) -> Inspected | NoFeed:
        """The feed at a URL, or why there is none. Raises DatabaseUnavailable."""
        try:
            async with self.turns.borrow(url, wait=USER_WAIT) as turn:
                response = await self._reach(url, turn)
        except HostBusy as busy:
            return NoFeed(str(busy))
        except FetchError as error:
            return NoFeed(f"The URL cannot be fetched: {error.detail.rstrip('.')}.")
        if response.status != HTTPStatus.OK:
            return NoFeed(f"The server responds with HTTP {response.status}, not with a feed.")
        try:
            feed = await read_feed(self.sandbox, response)
        except UnreadableBody as error:
            offers = await asyncio.to_thread(_offers, response)  # up to half a second for a hostile page
            page = "This is a web page. Suggest one of the feeds that it links to."
            return NoFeed(page if offers else f"This is not a feed: {error.reason.rstrip('.')}.", offers)
        final = moved_to(response) or url
        if len(final) > MAX_LENGTH:
            return NoFeed(f"It redirects to a URL longer than {MAX_LENGTH} characters.")
        return Inspected(final, sample_of(feed), (*(hop.url for hop in response.hops), response.url))

    async def _reach(self, url: str, turn: Turn) -> Response:
        """Each request is limited in time, apart from the waits for its host. Raises FetchError, HostBusy."""
        if turn.delay < self.within:  # else the user would wait for the delay between HEAD and GET
            try:
                head = await turn.ask(self.client.head, url, within=self.within / 2)
            except FetchError as error:
                if error.kind in _FINAL:
                    raise
            else:
                if head.status in _REST:  # no second request after a 429 or 503
                    return head
        limits = {"within": self.within, "max_bytes": self.max_bytes}
        return await turn.ask(self.client.get, url, turn=turn.hop, headers={"Accept": ACCEPT}, **limits)


def sample_of(feed: ParsedFeed) -> Sample:
    try:
        site_url = parse_url(feed.site_url) if feed.site_url else None
    except InvalidUrl:
        site_url = None
    title = one_line(feed.title)[:TITLE_MOST]
    return Sample(title, feed.format, site_url, len(feed.entries), latest_of(feed), newest_titles(feed, TITLES))


def _offers(page: Response) -> Sequence[tuple[str, str]]:
    """The feeds that a page declares or links to, by URL and title; they are not fetched."""
    named = [link for link in feed_links(page) if link.how in {How.DECLARED, How.LINKED}]
    titles = {link.url: one_line(link.title)[:TITLE_MOST] for link in sorted(named, key=is_about_comments)}
    return tuple(titles.items())[:OFFERS_MOST]
