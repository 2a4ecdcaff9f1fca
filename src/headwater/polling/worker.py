"""Polling, step by step: claim due feeds, ask, read, decide, write. Leaves articles and a schedule."""

import asyncio
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import assert_never

from headwater.articles import store as articles
from headwater.db import Database
from headwater.errors import HeadwaterError
from headwater.ids import new_id
from headwater.net import Client, FetchError, Response
from headwater.observability import metrics
from headwater.observability.log import get_logger
from headwater.polling import store
from headwater.polling.classify import classify_body, classify_fetch_error, classify_status
from headwater.polling.decide import next_plan
from headwater.polling.entries import articles_of
from headwater.polling.parse import parse_feed
from headwater.polling.parse.types import UnreadableBody
from headwater.polling.types import (
    ClaimedFeed,
    FailureClass,
    NotModified,
    Plan,
    Polled,
    PollFailed,
    PollingOptions,
    PollOutcome,
    PollReport,
    Validators,
)
from headwater.types import Clock, SourceId

log = get_logger()

ACCEPT = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.9, */*;q=0.5"
)
LEASE_MARGIN = timedelta(minutes=1)  # for parsing and writing, after the network's own timeout


class Poller:
    """The polling stage."""

    name = "polling"

    def __init__(self, database: Database, client: Client, clock: Clock, options: PollingOptions) -> None:
        self._database = database
        self._client = client
        self._clock = clock
        self._options = options
        self.concurrency = options.concurrency

    async def claim(self, limit: int) -> Sequence[ClaimedFeed]:
        """Up to `limit` due feeds, ours until their lease ends. Raises DatabaseUnavailable."""
        now = self._clock()
        async with self._database.transaction() as conn:
            return await store.claim(
                conn, lease=new_id(), now=now, leased_until=now + self._options.timeout + LEASE_MARGIN, limit=limit
            )

    async def claim_one(self, source_id: SourceId) -> ClaimedFeed | None:
        """This feed, due or not; None while another worker polls it. Raises DatabaseUnavailable."""
        now = self._clock()
        async with self._database.transaction() as conn:
            return await store.claim_one(
                conn, source_id=source_id, lease=new_id(), now=now,
                leased_until=now + self._options.timeout + LEASE_MARGIN,
            )  # fmt: skip

    async def lag(self) -> timedelta:
        """How long the longest-waiting feed has been due. Raises DatabaseUnavailable."""
        now = self._clock()
        async with self._database.transaction() as conn:
            oldest = await store.oldest_due_at(conn, now=now)
        return now - oldest if oldest else timedelta(0)

    async def work(self, feed: ClaimedFeed) -> PollReport:
        """Poll one feed and write what came of it. Raises DatabaseUnavailable: then the lease gives the feed back."""
        started = time.perf_counter()
        outcome = await self._ask(feed)
        try:
            plan, new = await self._write(feed, outcome)
        except HeadwaterError:
            raise
        except Exception as error:  # noqa: BLE001  see _broke
            outcome = _broke(feed, error)
            plan, new = await self._write(feed, outcome)
        took = timedelta(seconds=time.perf_counter() - started)
        report = PollReport(feed.source_id, feed.feed_url, outcome, new, plan.next_poll_at, took)
        _tell(report)
        return report

    async def _ask(self, feed: ClaimedFeed) -> PollOutcome:
        try:
            response = await self._client.get(
                feed.feed_url,
                within=self._options.timeout,
                max_bytes=self._options.max_bytes,
                headers=_conditional(feed),
            )
            return await self._read(response)
        except FetchError as error:
            return classify_fetch_error(error)
        except Exception as error:  # noqa: BLE001  see _broke
            return _broke(feed, error)

    async def _read(self, response: Response) -> PollOutcome:
        validators = Validators(
            _storable(response.headers.get("ETag")), _storable(response.headers.get("Last-Modified"))
        )
        if response.status == 304:
            return NotModified(validators)
        if response.status != 200:
            return classify_status(response.status, response.headers, response.body, self._clock())
        try:
            feed = await asyncio.to_thread(
                parse_feed,
                response.body,
                url=response.url,
                content_type=response.headers.get("Content-Type"),
                max_entries=self._options.max_entries,
            )
        except UnreadableBody as error:
            return classify_body(error, response.status)
        return Polled(feed, validators)

    async def _write(self, feed: ClaimedFeed, outcome: PollOutcome) -> tuple[Plan, int]:
        now = self._clock()
        plan = next_plan(feed, outcome, self._options, now)
        found = articles_of(outcome.feed, feed.feed_url) if isinstance(outcome, Polled) else ()
        async with self._database.transaction() as conn:
            kept = await articles.keep(conn, source_id=feed.source_id, seen_at=now, articles=found)
            await store.answer(
                conn,
                feed=feed,
                plan=plan,
                validators=_validators(feed, outcome),
                item_count=len(found) if isinstance(outcome, Polled) else None,
                new_links=kept.linked,
                now=now,
            )
        return plan, kept.new


def _broke(feed: ClaimedFeed, error: Exception) -> PollFailed:
    """A bug of ours must not leave the feed without an outcome."""
    log.error("poll broke", source=str(feed.source_id), url=feed.feed_url, exc_info=error)
    return PollFailed(FailureClass.UNEXPECTED, f"Headwater itself failed: {type(error).__name__}.")


def _validators(feed: ClaimedFeed, outcome: PollOutcome) -> Validators:
    """What to send next time: a new answer's own, or what we had where it gave none."""
    match outcome:
        case Polled():
            return outcome.validators
        case NotModified():
            return Validators(
                outcome.validators.etag or feed.last_etag, outcome.validators.last_modified or feed.last_modified
            )
        case PollFailed():
            return Validators(feed.last_etag, feed.last_modified)
        case _:
            assert_never(outcome)


def _storable(header: str | None) -> str | None:
    """A header that can be kept word for word; bytes that are no text are no validator."""
    return header if header is not None and header.isprintable() else None


def _conditional(feed: ClaimedFeed) -> dict[str, str]:
    headers = {"Accept": ACCEPT}
    if feed.last_etag:
        headers["If-None-Match"] = feed.last_etag
    if feed.last_modified:
        headers["If-Modified-Since"] = feed.last_modified
    return headers


def _tell(report: PollReport) -> None:
    metrics.POLLS.labels(outcome=report.outcome_name).inc()
    metrics.POLL_SECONDS.observe(report.took.total_seconds())
    metrics.NEW_ARTICLES.inc(report.new_articles)
    told = log.bind(
        source=str(report.source_id), url=report.feed_url, took_ms=round(report.took / timedelta(milliseconds=1))
    )
    match report.outcome:
        case Polled(feed=feed):
            told.info("feed polled", entries=len(feed.entries), new=report.new_articles)
        case NotModified():
            told.info("feed not modified")
        case PollFailed(kind=kind, status=status, detail=detail):
            # WARN for what the world does, ERROR for what a person must look at.
            tell = told.error if kind is FailureClass.UNEXPECTED else told.warning
            tell("feed poll failed", error_type=kind.value, status=status, error=detail)
        case _:
            assert_never(report.outcome)
