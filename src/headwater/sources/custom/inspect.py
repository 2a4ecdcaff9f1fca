"""Checks of suggested feeds: one HEAD and one GET, five seconds for both, parsed in the sandbox. Nothing is stored.

As seed 003 says, except that a server that refuses HEAD is not rejected for it, since many do.
"""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from http import HTTPStatus

from headwater.errors import HostBusy, InvalidUrl
from headwater.feeds import ParsedFeed, UnreadableBody
from headwater.hosts.turns import A_MOMENT, Turn, Turns
from headwater.net import Client, FetchError, FetchFailure, Response
from headwater.polling.ask import moved_to
from headwater.sandbox import Sandbox
from headwater.sources.custom.types import Inspected, NoFeed, Sample
from headwater.sources.discovery import ACCEPT, latest_of, read_feed
from headwater.sources.page_links import How, feed_links, is_about_comments
from headwater.text import one_line
from headwater.urls import MAX_LENGTH, parse_url

WITHIN = timedelta(seconds=5)
TITLES = 5
TITLE_MOST = 200
OFFERS_MOST = 5
_FINAL = frozenset({FetchFailure.DNS, FetchFailure.BLOCKED})
_REST = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})


class Inspector:
    """Fetches suggested feeds, each in a turn at its host."""

    def __init__(
        self, client: Client, sandbox: Sandbox, turns: Turns, *, max_bytes: int, within: timedelta = WITHIN
    ) -> None:
        self._client = client
        self._sandbox = sandbox
        self._turns = turns
        self._max_bytes = max_bytes
        self._within = within

    async def inspect(self, url: str) -> Inspected | NoFeed:
        """The feed at a URL, or why there is none. Raises DatabaseUnavailable."""
        try:
            async with self._turns.borrow(url, wait=A_MOMENT) as turn, asyncio.timeout(self._within.total_seconds()):
                response = await self._reach(url, turn)
        except HostBusy as busy:
            return NoFeed(str(busy))
        except TimeoutError:
            return NoFeed(f"The server does not respond within {self._within.total_seconds():g} seconds.")
        except FetchError as error:
            return NoFeed(f"The URL cannot be fetched: {error.detail.rstrip('.')}.")
        if response.status != HTTPStatus.OK:
            return NoFeed(f"The server responds with HTTP {response.status}, not with a feed.")
        return await self._read(url, response)

    async def _reach(self, url: str, turn: Turn) -> Response:
        """Raises FetchError, HostBusy."""
        try:
            head = await turn.ask(self._client.head, url, within=self._within / 2)
        except FetchError as error:
            if error.kind in _FINAL:
                raise
        else:
            if head.status in _REST:  # no second request after a 429 or 503
                return head
        limits = {"within": self._within, "max_bytes": self._max_bytes}
        return await turn.ask(self._client.get, url, turn=turn.hop, headers={"Accept": ACCEPT}, **limits)

    async def _read(self, url: str, response: Response) -> Inspected | NoFeed:
        try:
            feed = await read_feed(self._sandbox, response)
        except UnreadableBody as error:
            offers = _offers(response)
            page = "This is a web page. Suggest one of the feeds that it links to."
            return NoFeed(page if offers else f"This is not a feed: {error.reason.rstrip('.')}.", offers)
        final = moved_to(response) or url
        if len(final) > MAX_LENGTH:
            return NoFeed(f"It redirects to a URL longer than {MAX_LENGTH} characters.")
        return Inspected(final, sample_of(feed), (*(hop.url for hop in response.hops), response.url))


def sample_of(feed: ParsedFeed) -> Sample:
    """What moderators see of a feed."""
    return Sample(
        title=one_line(feed.title)[:TITLE_MOST],
        format=feed.format,
        site_url=_web(feed.site_url),
        entry_count=len(feed.entries),
        latest_at=latest_of(feed),
        titles=tuple(one_line(entry.title or "")[:TITLE_MOST] or "(untitled)" for entry in feed.entries[:TITLES]),
    )


def _web(url: str | None) -> str | None:
    try:
        return parse_url(url) if url else None
    except InvalidUrl:
        return None


def _offers(page: Response) -> Sequence[tuple[str, str]]:
    """The feeds that a page declares or links to, by URL and title; they are not fetched."""
    named = [link for link in feed_links(page) if link.how in {How.DECLARED, How.LINKED}]
    titles = {link.url: one_line(link.title)[:TITLE_MOST] for link in sorted(named, key=is_about_comments)}
    return tuple(titles.items())[:OFFERS_MOST]
