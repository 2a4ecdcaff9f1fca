"""Sitemaps, step by step: claim, read, queue the URLs that they list, decide when to read them again."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from headwater.bodies import store as bodies
from headwater.bodies.queue import BodyQueue
from headwater.bodies.types import ClaimedBody, PageSource
from headwater.db import Connection, Database
from headwater.frontier.keys import locate
from headwater.frontier.store import changes, queue
from headwater.frontier.types import FrontierOptions, Settled, Submission, SubmitOutcome
from headwater.observability.log import get_logger
from headwater.sandbox import Overrun, Sandbox
from headwater.sitemaps import store
from headwater.sitemaps.decide import after_reading, child_submissions, is_over, page_submissions, sites_of
from headwater.sitemaps.read import read_sitemap
from headwater.sitemaps.types import ListedUrl, Reading, Sitemap, SitemapOptions, UnreadableSitemap
from headwater.types import Clock, PageKind, SourceId
from headwater.urls import host_of

log = get_logger()

ATTEMPTS_MOST = 3
RETIRED = "retired"
UNREADABLE = "unreadable"
SOURCE_DISABLED = "source_disabled"  # its sitemaps are deleted from the frontier already
SOURCE_DELETED = "source_deleted"  # while the sitemap was being read: nothing is stored


@dataclass(frozen=True, slots=True)
class SitemapResult:
    page: ClaimedBody
    listed: int = 0
    queued: int = 0
    is_retired: bool = False
    failure: str | None = None


class SitemapReader:
    name = "sitemaps"

    def __init__(
        self, database: Database, sandbox: Sandbox, clock: Clock, options: SitemapOptions, frontier: FrontierOptions
    ) -> None:
        self._database, self._sandbox, self._clock = database, sandbox, clock
        self._options, self._frontier_options = options, frontier
        waiting = BodyQueue(database, clock, PageKind.SITEMAP, options.lease)
        self.claim, self.lag = waiting.claim, waiting.lag
        self.concurrency = options.concurrency

    async def work(self, page: ClaimedBody) -> SitemapResult:
        """Read a sitemap and queue its URLs. Raises DatabaseUnavailable: then it is claimed again after its lease."""
        async with self._database.transaction() as conn:
            source = await bodies.find_source(conn, source_id=page.source_id) if page.source_id else None
        read = await self._read(page, source)
        async with self._database.transaction() as conn:
            done = await self._write(conn, page, source, read)
        write = log.warning if done.failure == UNREADABLE else log.debug
        source_id = str(page.source_id) if page.source_id else None
        fields = {"listed": done.listed, "queued": done.queued, "retired": done.is_retired, "failure": done.failure}
        write("sitemap read", url=page.url, source_id=source_id, **fields)
        return done

    async def _read(self, page: ClaimedBody, source: PageSource | None) -> Sitemap | UnreadableSitemap:
        if page.attempts >= ATTEMPTS_MOST:
            return UnreadableSitemap(UNREADABLE, "The process that read it died.")
        sites = [host_of(address) for address in sites_of(page, source)]
        patterns: Sequence[str] = source.article_url_patterns if source else []
        now, limits = self._clock(), self._options.limits
        try:
            return await self._sandbox.run(
                read_sitemap, page.body, url=page.final_url, now=now, sites=sites, patterns=patterns, limits=limits
            )
        except UnreadableSitemap as error:
            return error
        except Overrun as error:
            return UnreadableSitemap(UNREADABLE, f"It exceeds our limits: {error}")
        except Exception as error:  # a bug in Headwater must not leave the page without an outcome
            log.exception("reading a sitemap broke", url=page.url)
            return UnreadableSitemap(UNREADABLE, f"Headwater itself failed: {type(error).__name__}.")

    async def _write(
        self, conn: Connection, page: ClaimedBody, source: PageSource | None, read: Sitemap | UnreadableSitemap
    ) -> SitemapResult:
        """Queue the URLs and store the results; nothing if the lease was lost or the source is deleted or disabled. A
        URL that never was a sitemap is given up; one that was, or exceeds our limits, is read less often."""
        is_deleted = page.source_id is not None and await bodies.find_source(conn, source_id=page.source_id) is None
        if not await bodies.done(conn, bodies=[page]):
            return SitemapResult(page, failure="taken_over")
        if is_deleted or (source is not None and not source.enabled):
            return SitemapResult(page, failure=SOURCE_DELETED if is_deleted else SOURCE_DISABLED)
        now = self._clock()
        sitemap, failure = (read, None) if isinstance(read, Sitemap) else (None, read.reason)
        spent = await _spend(conn, source.id, now, 1) if source else 0
        children: Sequence[ListedUrl] = sitemap.children if sitemap and page.depth < self._options.max_depth else []
        known = await store.find_readings(conn, urls=[page.url, *(child.url for child in children)])
        if isinstance(read, UnreadableSitemap) and page.url not in known and failure != UNREADABLE:
            await self._settle(conn, Settled.dead(page.url, f"{read.reason}: {read.detail}"), now)
            return SitemapResult(page, failure=failure)
        wanted = page_submissions(page, source, sitemap.pages) if sitemap else []
        if children:
            queued = await queue.find_known(conn, urls=[child.url for child in children])
            wanted += child_submissions(page, source, children, known, queued, self._options.budget - spent)
        new = await self._queue(conn, source, wanted, known, now)
        reading = after_reading(page, known.get(page.url), sitemap, new, now)
        is_retired = is_over(reading, sitemap, page.depth, self._options, now)
        await store.keep_reading(conn, reading=replace(reading, retired_at=now if is_retired else None))
        read_again = Settled(page.url, hashlib.sha256(page.body).digest(), changed=new > 0)
        await self._settle(conn, Settled.dead(page.url, RETIRED) if is_retired else read_again, now)
        return SitemapResult(page, reading.url_count if sitemap else 0, new, is_retired, failure)

    async def _queue(
        self, conn: Connection, source: PageSource | None, wanted: Sequence[Submission],
        known: Mapping[str, Reading], now: datetime,
    ) -> int:  # fmt: skip
        """Queue URLs; retired sitemaps that have changed since are retried. Returns how many are new."""
        if not wanted:
            return 0
        results = await queue.submit(conn, submissions=wanted, now=now, options=self._frontier_options)
        retired = {url for url, reading in known.items() if reading.retired_at is not None}
        again = {one.url: locate(one.url).key.id for one in wanted if one.url in retired}
        if again:
            await changes.retry(conn, ids=list(again.values()), now=now)
        pairs = zip(wanted, results, strict=True)
        new = [one.kind for one, queued in pairs if queued.result is SubmitOutcome.QUEUED or queued.url in again]
        if source is not None and (requests := new.count(PageKind.SITEMAP)):
            await _spend(conn, source.id, now, requests)
        return len(new)

    async def _settle(self, conn: Connection, settled: Settled, now: datetime) -> None:
        await changes.settle(conn, contents=[settled], now=now, options=self._frontier_options)


async def _spend(conn: Connection, source_id: SourceId, now: datetime, requests: int) -> int:
    return await bodies.spend(conn, source_id=source_id, kind=PageKind.SITEMAP, now=now, count=requests)
