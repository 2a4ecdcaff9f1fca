"""Tests of a source: its feed is polled, or a page of it is extracted, and nothing is stored."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from http import HTTPStatus

from headwater.articles.types import NewArticle
from headwater.db import Database
from headwater.errors import NothingToPoll
from headwater.extraction.decide import selectors_for
from headwater.extraction.extract import extract
from headwater.extraction.selected import read_selectors
from headwater.extraction.selector_trial import Comparison
from headwater.extraction.types import NO_SELECTORS, Selectors, SourceSelectors, UnreadablePage
from headwater.fetching.types import FetchingOptions
from headwater.hosts.robots_cache import Closed, PageRequests
from headwater.hosts.turns import USER_WAIT, Turns
from headwater.net import Client, FetchError, Response
from headwater.polling.decide import decide
from headwater.polling.policy import policy_of
from headwater.polling.report import explain
from headwater.polling.request import FeedRequests
from headwater.polling.types import HostDecision, Polled, PollingOptions, PollReport, Validators
from headwater.sandbox import Overrun, Sandbox
from headwater.sources.health.store.state import find_claimed
from headwater.sources.store import merging
from headwater.sources.types import Source
from headwater.types import Clock
from headwater.urls import complete_url

SHOWN = 10
PAGE = "text/html, application/xhtml+xml, */*;q=0.5"
NONE_YET = Validators(None, None)  # so that the whole feed is sent, also if unchanged


@dataclass(frozen=True, slots=True)
class Trial:
    has_succeeded: bool
    sentences: Sequence[str]
    entries: Sequence[NewArticle]


@dataclass(frozen=True, slots=True)
class Unread:
    reason: str


@dataclass(frozen=True, slots=True)
class Trials:
    """Test requests. Feeds and pages are parsed in separate sandboxes."""

    database: Database
    client: Client
    sandbox: Sandbox
    page_sandbox: Sandbox
    clock: Clock
    options: PollingOptions
    fetching: FetchingOptions
    turns: Turns

    async def attempt(self, source: Source) -> Trial:
        """Poll a source's feed. Raises NothingToPoll, HostBusy, Unavailable."""
        async with self.database.transaction() as conn:
            feed = await find_claimed(conn, source_id=source.id)
        if feed is None:
            raise NothingToPoll(source.name)
        options, clock = self.options, self.clock
        policy = policy_of(feed.policy or options.policy, options)
        whole = replace(feed, validators=NONE_YET)
        turns = Turns(self.database, clock, delay=options.host_delay, lease=options.held_for)
        async with turns.borrow(feed.feed_url, wait=USER_WAIT) as turn:
            started = time.perf_counter()
            asked = await FeedRequests(self.client, self.sandbox, clock, options).ask(whole, policy, turn)
        took, now = timedelta(seconds=time.perf_counter() - started), clock()
        decision = decide(feed.state, asked.outcome, policy, options, now)
        has_succeeded = isinstance(asked.outcome, Polled)
        entries = asked.outcome.feed.entries if isinstance(asked.outcome, Polled) else ()
        async with self.database.transaction() as conn:
            known = await merging.find_listed(conn, url_keys=[entry.url_key for entry in entries])
        new = sum(entry.url_key not in known for entry in entries)
        host = HostDecision(feed.host_state)
        report = PollReport(feed, asked.outcome, decision, host, took, now, new_articles=new)
        return Trial(has_succeeded, explain(report), entries[:SHOWN])

    async def read_page(self, source: Source, url: str) -> Comparison | Unread:
        """Extract a page with and without the source's selectors, saved or not. Raises InvalidUrl, HostBusy,
        Unavailable."""
        url = complete_url(url)
        urls = [one for one in (source.url, source.feed_url, source.sitemap_url) if one]
        of_source = SourceSelectors(_selectors_of(source), urls) if source.selectors else None
        page = await self.fetch(url)
        if isinstance(page, Unread):
            return page
        selectors, content_type = selectors_for(page.url, of_source), page.headers.get("Content-Type")
        run = self.page_sandbox.run
        try:
            chosen, plain = [
                await run(extract, page.body, url=page.url, content_type=content_type, selectors=wanted)
                for wanted in (selectors, NO_SELECTORS)
            ]
        except (UnreadablePage, Overrun) as error:
            return Unread(str(error))
        return Comparison(url, source.name, selectors, chosen, plain)

    async def fetch(self, url: str) -> Response | Unread:
        """A page, as robots.txt and its host's clock allow. Raises HostBusy, Unavailable."""
        limits, within, most = self.fetching, self.options.timeout, self.options.max_bytes
        pages = PageRequests(self.client, self.turns, self.clock, limits.robot, limits.crawl_delay_max)
        try:
            page = await pages.get(url, within=within, max_bytes=most, headers={"Accept": PAGE})
        except Closed as closed:
            return Unread(str(closed))
        except FetchError as error:
            return Unread(error.detail)
        return page if page.status == HTTPStatus.OK else Unread(f"The server answered {page.status}.")


def _selectors_of(source: Source) -> Selectors:
    return read_selectors({part: list(some) for part, some in source.selectors.items()})
