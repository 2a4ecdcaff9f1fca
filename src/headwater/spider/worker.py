"""The spider, step by step: claim pages, find their links, queue what is new. Leaves URLs and the page's next visit."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from headwater.bodies import store as bodies
from headwater.bodies.queue import BodyQueue
from headwater.bodies.types import ClaimedBody, PageSource
from headwater.db import Connection, Database
from headwater.frontier.store import changes, queue
from headwater.frontier.types import FrontierOptions, Settled, SubmitOutcome
from headwater.observability.log import get_logger
from headwater.sandbox import Overrun, Sandbox
from headwater.spider.decide import candidates, sites_of
from headwater.spider.find_links import find_links
from headwater.spider.types import Links, SpiderOptions
from headwater.types import Clock, PageKind
from headwater.urls import host_of

log = get_logger()

ATTEMPTS_MOST = 3
UNREADABLE = "unreadable"
NOT_SPIDERED = "not_spidered"
SOURCE_DELETED = "source_deleted"  # while the page was being read: nothing is stored


@dataclass(frozen=True, slots=True)
class SpiderResult:
    page: ClaimedBody
    found: int = 0
    queued: int = 0
    failure: str | None = None


class Spider:
    name = "spider"

    def __init__(
        self, database: Database, sandbox: Sandbox, clock: Clock, options: SpiderOptions, frontier: FrontierOptions
    ) -> None:
        self._database, self._sandbox, self._clock = database, sandbox, clock
        self._options, self._frontier_options = options, frontier
        waiting = BodyQueue(database, clock, PageKind.LIST, options.lease)
        self.claim, self.lag = waiting.claim, waiting.lag
        self.concurrency = options.concurrency

    async def work(self, page: ClaimedBody) -> SpiderResult:
        """Find the links of a page and queue them. Raises DatabaseUnavailable: then it is claimed again."""
        async with self._database.transaction() as conn:
            source = await bodies.find_source(conn, source_id=page.source_id) if page.source_id else None
        links = await self._find(page, source)
        async with self._database.transaction() as conn:
            done = await self._write(conn, page, source, links)
        write = log.warning if done.failure == UNREADABLE else log.debug
        source_id = str(page.source_id) if page.source_id else None
        fields = {"found": done.found, "queued": done.queued, "failure": done.failure}
        write("page spidered", url=page.url, source_id=source_id, **fields)
        return done

    async def _find(self, page: ClaimedBody, source: PageSource | None) -> Links | str:
        if source is not None and (source.ingestion_mode == "feed" or not source.enabled):
            return NOT_SPIDERED
        if page.attempts >= ATTEMPTS_MOST:
            return UNREADABLE
        url, content_type, most = page.final_url, page.content_type, self._options.max_links
        sites = [host_of(address) for address in sites_of(page, source)]
        patterns: Sequence[str] = source.article_url_patterns if source else []
        try:
            return await self._sandbox.run(
                find_links, page.body, url=url, content_type=content_type, sites=sites, patterns=patterns, most=most
            )
        except Overrun:
            return UNREADABLE
        except Exception:  # a bug in Headwater must not leave the page without an outcome
            log.exception("spider broke", url=page.url)
            return UNREADABLE

    async def _write(
        self, conn: Connection, page: ClaimedBody, source: PageSource | None, links: Links | str
    ) -> SpiderResult:
        """Queue the links and schedule the page; nothing if the lease was lost."""
        if not await bodies.done(conn, bodies=[page]):
            return SpiderResult(page, failure="taken_over")
        if page.source_id is not None and await bodies.find_source(conn, source_id=page.source_id) is None:
            return SpiderResult(page, failure=SOURCE_DELETED)
        now = self._clock()
        is_list = (await queue.find_known(conn, urls=[page.url])).get(page.url) is PageKind.LIST
        if isinstance(links, str):
            done = SpiderResult(page, failure=links)
            again = Settled(page.url, None, changed=False)  # a page that exceeded our limits is read less often
            settled = again if links == UNREADABLE else Settled.dead(page.url, links)
        else:
            done = SpiderResult(page, links.found, await self._queue(conn, page, source, links))
            digest = hashlib.sha256("\n".join([*links.articles, *links.lists]).encode()).digest()
            settled = Settled(page.url, digest, changed=done.queued > 0)
        if is_list:  # extraction schedules articles
            await changes.settle(conn, contents=[settled], now=now, options=self._frontier_options)
        return done

    async def _queue(self, conn: Connection, page: ClaimedBody, source: PageSource | None, links: Links) -> int:
        """Queue new links, within the rest of the day's budget. Returns how many."""
        now = self._clock()
        budget = (source.page_budget if source else None) or self._options.budget
        # Locks its row, so that no other worker spends of the same budget meanwhile.
        spent = await bodies.spend(conn, source_id=source.id, kind=PageKind.LIST, now=now, count=0) if source else 0
        found = candidates(page, source, links)
        known = await queue.find_known(conn, urls=[one.url for one in found], source_id=source.id if source else None)
        wanted = [one for one in found if one.url not in known][: max(budget - spent, 0)]
        if not wanted:
            return 0
        results = await queue.submit(conn, submissions=wanted, now=now, options=self._frontier_options)
        queued = sum(one.result is SubmitOutcome.QUEUED for one in results)
        if source is not None and queued:
            await bodies.spend(conn, source_id=source.id, kind=PageKind.LIST, now=now, count=queued)
        return queued
