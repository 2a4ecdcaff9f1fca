"""Tests of a source: its feed is polled, or a page of it is extracted, and nothing is stored."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from http import HTTPStatus

from headwater.articles.types import Extracted, NewArticle
from headwater.db import Database
from headwater.errors import NothingToPoll
from headwater.extraction.compare import Comparison
from headwater.extraction.decide import selectors_for
from headwater.extraction.extract import extract
from headwater.extraction.store import find_selectors
from headwater.extraction.types import NO_SELECTORS, Selectors, UnreadablePage
from headwater.fetching.types import FetchingOptions
from headwater.hosts.gate import Closed, Gate
from headwater.hosts.robots import FIRST_BYTES, origin_of
from headwater.hosts.store import robots as robots_store
from headwater.hosts.turns import A_MOMENT, Turn, Turns
from headwater.hosts.types import Robots
from headwater.net import Client, FetchError, FetchFailure, Response
from headwater.polling.ask import ask
from headwater.polling.decide import decide
from headwater.polling.explain import explain
from headwater.polling.policy import policy_of
from headwater.polling.types import HostDecision, Polled, PollingOptions, PollOutcome, PollReport, Validators
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
    """The result of a poll, as sentences, and the first entries."""

    has_succeeded: bool
    sentences: Sequence[str]
    entries: Sequence[NewArticle]


@dataclass(frozen=True, slots=True)
class Unread:
    """Why a page could not be read, as a sentence."""

    reason: str


class Trials:
    """Test requests. Feeds and pages are parsed in separate sandboxes."""

    def __init__(
        self,
        database: Database,
        client: Client,
        sandbox: Sandbox,
        page_sandbox: Sandbox,
        clock: Clock,
        options: PollingOptions,
        fetching: FetchingOptions,
        turns: Turns,
    ) -> None:
        self._database = database
        self._client = client
        self._sandbox = sandbox
        self._page_sandbox = page_sandbox
        self._clock = clock
        self._options = options
        self._fetching = fetching
        self._feed_turns = Turns(database, clock, delay=options.host_delay, lease=options.held_for)
        self._turns = turns

    async def attempt(self, source: Source) -> Trial:
        """Poll a source's feed. Raises NothingToPoll, HostBusy, Unavailable."""
        async with self._database.transaction() as conn:
            feed = await find_claimed(conn, source_id=source.id)
        if feed is None:
            raise NothingToPoll(source.name)
        policy = policy_of(feed.policy or self._options.policy, self._options)
        async with self._feed_turns.borrow(feed.feed_url, wait=A_MOMENT) as turn:
            started = time.perf_counter()
            asked = await ask(
                replace(feed, validators=NONE_YET),
                policy,
                client=self._client,
                sandbox=self._sandbox,
                clock=self._clock,
                options=self._options,
                turn=turn,
            )
        took = timedelta(seconds=time.perf_counter() - started)
        decision = decide(feed.state, asked.outcome, policy, self._options, self._clock())
        entries = _entries(asked.outcome)
        new = len(entries) - await self._count_known(entries)
        report = PollReport(source.id, feed.feed_url, asked.outcome, decision, HostDecision(feed.host_state), new, took)
        return Trial(isinstance(asked.outcome, Polled), explain(report), entries[:SHOWN])

    async def read_page(self, source: Source, url: str) -> Comparison | Unread:
        """Extract a page with and without the source's selectors. Raises InvalidUrl, HostBusy, Unavailable."""
        url = complete_url(url)
        async with self._database.transaction() as conn:
            of_source = (await find_selectors(conn, source_ids=[source.id])).get(source.id)
        page = await self.fetch(url)
        if isinstance(page, Unread):
            return page
        selectors = selectors_for(page.url, of_source)
        try:
            chosen, plain = [await self._extracted(page, wanted) for wanted in (selectors, NO_SELECTORS)]
        except (UnreadablePage, Overrun) as error:
            return Unread(error.reason)
        return Comparison(url, source.name, selectors, chosen, plain)

    async def fetch(self, url: str) -> Response | Unread:
        """A page, as robots.txt and its host's clock allow. Raises HostBusy, Unavailable."""
        try:
            async with self._turns.borrow(url, wait=A_MOMENT) as turn:
                page = await self._fetched(url, turn)
        except Closed as closed:
            return Unread(f"{closed.robots.origin}/robots.txt cannot be read; until it can, no page is fetched.")
        except FetchError as error:
            return Unread(error.detail)
        return page if page.status == HTTPStatus.OK else Unread(f"The server answered {page.status}.")

    async def _fetched(self, url: str, turn: Turn) -> Response:
        """The page at the end of its redirects, as robots.txt allows. Raises FetchError, Closed, HostBusy."""
        async with self._database.transaction() as conn:
            known = await robots_store.find(conn, origins=[origin_of(url)])
        within, robot = self._options.timeout, self._fetching.robot

        async def peek(address: str) -> Response:
            return await turn.ask(self._client.peek, address, within=within, first_bytes=FIRST_BYTES)

        async def allow(address: str) -> None:
            rules = await gate.rules(await gate.robots(origin_of(address)))
            if not rules.allow(address):
                raise FetchError(address, FetchFailure.BLOCKED, f"robots.txt disallows {address}")

        async def hop(address: str) -> None:
            await turn.hop(address)
            await allow(address)
            await turn.to(address)

        gate = Gate(known, peek, self._clock, robot=robot, crawl_delay_max=self._fetching.crawl_delay_max)
        try:
            await allow(url)
            return await turn.ask(
                self._client.get,
                url,
                turn=hop,
                within=within,
                max_bytes=self._options.max_bytes,
                headers={"Accept": PAGE},
            )
        finally:
            await self._keep(gate.asked)

    async def _keep(self, robots: Sequence[Robots]) -> None:
        """Store robots.txt for all workers."""
        if robots:
            async with self._database.transaction() as conn:
                for one in robots:
                    await robots_store.keep(conn, robots=one)

    async def _extracted(self, page: Response, selectors: Selectors) -> Extracted:
        content_type = page.headers.get("Content-Type")
        return await self._page_sandbox.run(
            extract, page.body, url=page.url, content_type=content_type, selectors=selectors
        )

    async def _count_known(self, entries: Sequence[NewArticle]) -> int:
        async with self._database.transaction() as conn:
            known = await merging.find_listed(conn, url_keys=[entry.url_key for entry in entries])
        return sum(entry.url_key in known for entry in entries)


def _entries(outcome: PollOutcome) -> Sequence[NewArticle]:
    return outcome.feed.entries if isinstance(outcome, Polled) else ()
