"""Sitemaps, step by step: claim, read, queue the URLs that they list, decide when to read them again."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from headwater.bodies import store as bodies
from headwater.bodies.queue import BodyQueue
from headwater.bodies.types import ClaimedBody
from headwater.db import Connection, Database
from headwater.frontier.keys import locate
from headwater.frontier.store import changes, queue
from headwater.frontier.types import Fate, FrontierOptions, Settled, Submission
from headwater.observability.log import get_logger
from headwater.sandbox import Overrun, Sandbox
from headwater.sitemaps import store
from headwater.sitemaps.decide import (
    after_failure,
    after_reading,
    child_submissions,
    is_over,
    page_submissions,
    sites_of,
)
from headwater.sitemaps.read import read_sitemap
from headwater.sitemaps.types import Reading, Sitemap, SitemapOptions, SitemapSource, UnreadableSitemap
from headwater.types import Clock, PageKind
from headwater.urls import host_of

log = get_logger()

ATTEMPTS_MOST = 3
RETIRED = "retired"
UNREADABLE = "unreadable"
SWITCHED_OFF = "switched_off"  # its source; its sitemaps are deleted from the frontier already
SOURCE_DELETED = "source_deleted"  # while the sitemap was being read: nothing is stored


@dataclass(frozen=True, slots=True)
class SitemapResult:
    page: ClaimedBody
    listed: int
    queued: int
    is_retired: bool = False
    failure: str | None = None


class SitemapReader:
    """The sitemaps stage."""

    name = "sitemaps"

    def __init__(
        self,
        database: Database,
        sandbox: Sandbox,
        clock: Clock,
        options: SitemapOptions,
        frontier_options: FrontierOptions,
    ) -> None:
        self._database = database
        self._sandbox = sandbox
        self._clock = clock
        self._options = options
        self._frontier_options = frontier_options
        waiting = BodyQueue(database, clock, PageKind.SITEMAP, options.lease)
        self.claim, self.lag = waiting.claim, waiting.lag
        self.concurrency = options.concurrency

    async def work(self, page: ClaimedBody) -> SitemapResult:
        """Read a sitemap and queue its URLs. Raises DatabaseUnavailable: then it is claimed again after its lease."""
        async with self._database.transaction() as conn:
            source = await store.find_source(conn, source_id=page.source_id) if page.source_id else None
        read = await self._read(page, source)
        async with self._database.transaction() as conn:
            if page.source_id is not None and await store.find_source(conn, source_id=page.source_id) is None:
                await bodies.done(conn, bodies=[page])
                done = SitemapResult(page, 0, 0, failure=SOURCE_DELETED)
            elif source is not None and not source.enabled:
                await bodies.done(conn, bodies=[page])
                done = SitemapResult(page, 0, 0, failure=SWITCHED_OFF)
            elif isinstance(read, Sitemap):
                done = await self._write(conn, page, source, read)
            else:
                done = await self._write_failure(conn, page, read)
        _log(done)
        return done

    async def _read(self, page: ClaimedBody, source: SitemapSource | None) -> Sitemap | UnreadableSitemap:
        if page.attempts >= ATTEMPTS_MOST:
            return UnreadableSitemap(UNREADABLE, "The process that read it died.")
        try:
            return await self._sandbox.run(
                read_sitemap,
                page.body,
                url=page.final_url,
                now=self._clock(),
                sites=[host_of(address) for address in sites_of(page, source)],
                patterns=list(source.article_url_patterns) if source else [],
                limits=self._options.limits,
            )
        except UnreadableSitemap as error:
            return error
        except Overrun as error:
            return UnreadableSitemap(UNREADABLE, f"It cannot be read within our limits: {error}")
        except Exception as error:  # a bug in Headwater must not leave the page without an outcome
            log.exception("reading a sitemap broke", url=page.url)
            return UnreadableSitemap(UNREADABLE, f"Headwater itself failed: {type(error).__name__}.")

    async def _write(
        self, conn: Connection, page: ClaimedBody, source: SitemapSource | None, sitemap: Sitemap
    ) -> SitemapResult:
        """Queue the URLs and store the results; nothing if the lease was lost."""
        if not await bodies.done(conn, bodies=[page]):
            return SitemapResult(page, 0, 0, failure="taken_over")
        now = self._clock()
        spent = await store.spend(conn, source_id=source.id, now=now, requests=1) if source else 0
        listed = [child.url for child in sitemap.children] if page.depth < self._options.max_depth else []
        known = await store.find_readings(conn, urls=[page.url, *listed])
        children: list[Submission] = []
        if listed:
            queued = await store.find_queued(conn, urls=listed)
            left = self._options.budget - spent
            children = child_submissions(page, source, sitemap.children, known, queued, left)
        wanted = [*page_submissions(page, source, sitemap.pages), *children]
        is_new = await self._queue(conn, wanted, known, now)
        if source is not None and (asked := sum(is_new[len(sitemap.pages) :])):
            await store.spend(conn, source_id=source.id, now=now, requests=asked)
        reading = after_reading(page, known.get(page.url), sitemap, sum(is_new), now)
        over = is_over(reading, sitemap, page.depth, self._options, now)
        await self._remember(conn, page, reading, over=over)
        return SitemapResult(page, sitemap.url_count, reading.new_count, over)

    async def _queue(
        self, conn: Connection, wanted: Sequence[Submission], known: Mapping[str, Reading], now: datetime
    ) -> list[bool]:
        """Queue URLs; retired sitemaps that have changed since are retried. Returns which are new."""
        if not wanted:
            return []
        results = await queue.submit(conn, submissions=wanted, now=now, options=self._frontier_options)
        again = {one.url: locate(one.url).key.id for one in wanted if _is_retired(known.get(one.url))}
        if again:
            await changes.retry(conn, ids=list(again.values()), now=now)
        return [result.fate is Fate.QUEUED or result.url in again for result in results]

    async def _write_failure(self, conn: Connection, page: ClaimedBody, failure: UnreadableSitemap) -> SitemapResult:
        """Give up a URL that is not a sitemap; one that was a sitemap, or exceeded our limits, is read less often."""
        if not await bodies.done(conn, bodies=[page]):
            return SitemapResult(page, 0, 0, failure="taken_over")
        now = self._clock()
        if page.source_id is not None:
            await store.spend(conn, source_id=page.source_id, now=now, requests=1)
        before = (await store.find_readings(conn, urls=[page.url])).get(page.url)
        if before is None and failure.reason != UNREADABLE:
            reason = f"{failure.reason}: {failure.detail}"
            await changes.settle(
                conn, contents=[Settled.dead(page.url, reason)], now=now, options=self._frontier_options
            )
            return SitemapResult(page, 0, 0, failure=failure.reason)
        reading = after_failure(page, before, now)
        over = is_over(reading, None, page.depth, self._options, now)
        await self._remember(conn, page, reading, over=over)
        return SitemapResult(page, 0, 0, over, failure.reason)

    async def _remember(self, conn: Connection, page: ClaimedBody, reading: Reading, *, over: bool) -> None:
        now = reading.last_read_at
        await store.keep_reading(conn, reading=replace(reading, retired_at=now if over else None))
        digest = hashlib.sha256(page.body).digest()
        settled = Settled.dead(page.url, RETIRED) if over else Settled(page.url, digest, reading.new_count > 0)
        await changes.settle(conn, contents=[settled], now=now, options=self._frontier_options)


def _is_retired(reading: Reading | None) -> bool:
    return reading is not None and reading.retired_at is not None


def _log(done: SitemapResult) -> None:
    write = log.warning if done.failure == UNREADABLE else log.debug
    write(
        "sitemap read",
        url=done.page.url,
        source_id=str(done.page.source_id) if done.page.source_id else None,
        listed=done.listed,
        queued=done.queued,
        retired=done.is_retired,
        failure=done.failure,
    )
