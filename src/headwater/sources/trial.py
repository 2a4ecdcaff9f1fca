"""Trying a source: its feed is asked for as a poll would, a page of it is read as extraction would. Nothing is kept."""

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
from headwater.net import Client, FetchError, Response
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
NONE_YET = Validators(None, None)  # so that the feed is sent whole, changed or not


@dataclass(frozen=True, slots=True)
class Trial:
    """What a poll would have come to, as sentences, and the first entries that it would have read."""

    has_succeeded: bool
    sentences: Sequence[str]
    entries: Sequence[NewArticle]


@dataclass(frozen=True, slots=True)
class Unread:
    """A page that could not be read, and why, in a sentence."""

    reason: str


class Trials:
    """Requests that leave no trace. Feeds and pages are each read in a sandbox of their own."""

    def __init__(
        self,
        database: Database,
        client: Client,
        sandbox: Sandbox,
        page_sandbox: Sandbox,
        clock: Clock,
        options: PollingOptions,
    ) -> None:
        self._database = database
        self._client = client
        self._sandbox = sandbox
        self._page_sandbox = page_sandbox
        self._clock = clock
        self._options = options

    async def attempt(self, source: Source) -> Trial:
        """Ask for a source's feed. Raises NothingToPoll, Unavailable."""
        async with self._database.transaction() as conn:
            feed = await find_claimed(conn, source_id=source.id)
        if feed is None:
            raise NothingToPoll(source.name)
        started = time.perf_counter()
        policy = policy_of(feed.policy or self._options.policy, self._options)
        asked = await ask(
            replace(feed, validators=NONE_YET),
            policy,
            client=self._client,
            sandbox=self._sandbox,
            clock=self._clock,
            options=self._options,
        )
        took = timedelta(seconds=time.perf_counter() - started)
        decision = decide(feed.state, asked.outcome, policy, self._options, self._clock())
        entries = _entries(asked.outcome)
        new = len(entries) - await self._count_known(entries)
        report = PollReport(source.id, feed.feed_url, asked.outcome, decision, HostDecision(feed.host_state), new, took)
        return Trial(isinstance(asked.outcome, Polled), explain(report), entries[:SHOWN])

    async def read_page(self, source: Source, url: str) -> Comparison | Unread:
        """Read a page with the source's selectors, and without any. Raises InvalidUrl, Unavailable."""
        url = complete_url(url)
        async with self._database.transaction() as conn:
            of_source = (await find_selectors(conn, source_ids=[source.id])).get(source.id)
        try:
            page = await self._client.get(
                url, within=self._options.timeout, max_bytes=self._options.max_bytes, headers={"Accept": PAGE}
            )
            if page.status != HTTPStatus.OK:
                return Unread(f"The server answered {page.status}.")
            selectors = selectors_for(page.url, of_source)
            chosen, plain = [await self._extracted(page, wanted) for wanted in (selectors, NO_SELECTORS)]
        except FetchError as error:
            return Unread(error.detail)
        except (UnreadablePage, Overrun) as error:
            return Unread(error.reason)
        return Comparison(url, source.name, selectors, chosen, plain)

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
