"""Fetching, step by step: claim hosts, take a turn at each, write bodies and the outcome of each URL."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from headwater.bodies import store as bodies
from headwater.bodies.types import NewBody
from headwater.db import Connection, Database, WriteBatch
from headwater.errors import HeadwaterError, Unavailable
from headwater.fetching import store
from headwater.fetching.pacing import Drain
from headwater.fetching.report import report
from headwater.fetching.turn import PageTurn
from headwater.fetching.types import ClaimedTurn, FetchingOptions, TurnResult
from headwater.frontier.store import changes, claims, queue
from headwater.frontier.types import (
    ClaimedUrl,
    FetchFailed,
    FrontierOptions,
    HostAnswer,
    Origin,
    Redirected,
    Submission,
)
from headwater.hosts.outage import OutageDetector, OutageReporter
from headwater.hosts.robots import origin_of
from headwater.hosts.store import robots as robots_store
from headwater.hosts.store.pages import next_ready_at
from headwater.hosts.store.turns import delete_unused
from headwater.hosts.turns import Turns
from headwater.ids import new_id
from headwater.library.saved.operate import follow_redirect
from headwater.net import Client
from headwater.observability.log import get_logger
from headwater.types import Clock, PageKind, UserId

log = get_logger()

WRITTEN_AT_ONCE = 50  # hosts
WRITTEN_BYTES = 16_000_000
OUTAGE_PAUSE = timedelta(minutes=1)
STOP_WITHIN = timedelta(seconds=5)  # for requests under way, when Headwater stops
TIDIED_EVERY_S = 30.0
RECHECKED_EVERY_S = 3600.0
RECHECKED_AT_ONCE = 1000  # hosts
DELETED_AT_ONCE = 1000  # unused hosts
SLOW = timedelta(seconds=2)  # a request on average
SLOW_REMEMBERED_S = 60.0
PUT_OFF = timedelta(minutes=15)
UNREAD_MOST = timedelta(minutes=30)  # of reading, for the fetched pages of one owner
PUT_OFF_ROUNDS = 50  # of hosts, for one claim
WRITE_AGAIN_S = 0.25
WRITE_AGAIN_MOST_S = 2.0
WRITTEN_LATE_S = 300.0


class Fetcher:
    name = "fetching"

    def __init__(
        self, database: Database, client: Client, clock: Clock, options: FetchingOptions,
        frontier_options: FrontierOptions, *, outage: OutageDetector | None = None,
    ) -> None:  # fmt: skip
        self._database, self._client, self._clock = database, client, clock
        self._options, self._frontier_options = options, frontier_options
        self._batch = WriteBatch[TurnResult, TurnResult](self._write, most=WRITTEN_AT_ONCE)
        self._drain = Drain()
        self._outage = outage or OutageDetector()
        self._outage_reporter = OutageReporter(self._outage, self.name)
        self._turns = Turns(database, clock, delay=frontier_options.min_delay, lease=options.lease)
        self._slow: deque[tuple[Sequence[ClaimedUrl], float]] = deque()  # slow turns: for which URLs, when they ended
        self._look_again_at = 0.0
        self._tidy_at = time.monotonic() + TIDIED_EVERY_S
        self._recheck_at = 0.0
        self.concurrency = options.concurrency

    async def claim(self, limit: int) -> Sequence[ClaimedTurn]:
        """Up to `limit` ready hosts, held until the lease ends. Raises DatabaseUnavailable."""
        started = time.monotonic()
        if self._drain.has_begun or started < self._look_again_at:
            return ()
        if started >= self._tidy_at:
            await self._tidy(started)
        if started >= self._recheck_at:
            await self._recheck_blocked_hosts(started)
        slow, kept = await self._slow_readers(started), list[ClaimedTurn]()
        for _ in range(PUT_OFF_ROUNDS):
            claimed = await self._claim(limit - len(kept), started)
            others = await self._put_off(claimed, slow) if claimed else []
            kept += others
            if len(others) == len(claimed) or len(kept) == limit:
                break
        if not kept:
            self._look_again_at = started + self._options.idle.total_seconds()
        return kept

    async def work(self, claimed: ClaimedTurn) -> TurnResult:
        """Take a turn at one host and write its results. Raises DatabaseUnavailable: then it is repeated later."""
        turn = PageTurn(claimed, self._client, self._turns, self._options, self._drain)
        asked_at = self._clock()
        result = self._unless_outage(await turn.run(), asked_at)
        if result.requests and result.waited / result.requests >= SLOW:
            self._slow.append((claimed.host.urls, time.monotonic()))
        try:
            result = await self._written(result)
        except HeadwaterError:
            raise
        except Exception:  # a bug in Headwater must not leave the URLs without an outcome
            log.exception("turn broke", host=claimed.host.host)
            failed = FetchFailed("unexpected", "Headwater itself failed to write the result.")
            answered = [replace(one, answer=failed) for one in result.answered]
            result = await self._written(replace(result, answered=answered, pages=(), robots=()))
        report(result, self._frontier_options)
        return result

    async def lag(self) -> timedelta:
        now = self._clock()
        async with self._database.transaction() as conn:
            oldest = await next_ready_at(conn)
        return max(now - oldest, timedelta(0)) if oldest else timedelta(0)

    def drain(self) -> None:
        """Release every host as soon as its current request has ended, or has taken too long."""
        self._drain.begin(STOP_WITHIN)

    async def _claim(self, limit: int, started: float) -> Sequence[ClaimedTurn]:
        now, lease = self._clock(), self._options.lease
        async with self._database.transaction() as conn:
            hosts = await claims.claim(
                conn, lease=new_id(), now=now, leased_until=now + lease, hosts=limit,
                urls_per_host=self._options.urls_per_host, options=self._frontier_options,
            )  # fmt: skip
            origins = {origin_of(url.url) for host in hosts for url in host.urls}
            known = await robots_store.find(conn, origins=sorted(origins)) if origins else {}
        ours_until = started + lease.total_seconds()
        return [ClaimedTurn(host, known, ours_until) for host in hosts]

    async def _slow_readers(self, started: float) -> set[UserId]:
        """Users whose sources or saved pages had slow hosts in half of the slots or more, within the last minute."""
        while self._slow and started - self._slow[0][1] > SLOW_REMEMBERED_S:
            self._slow.popleft()
        most = max(self.concurrency // 2, 1)
        if len(self._slow) < most:
            return set()
        readers = await self._find_readers([url for urls, _ in self._slow for url in urls])
        turns = Counter(
            reader for urls, _ in self._slow for reader in {one for url in urls for one in readers.get(url.id, ())}
        )
        return {reader for reader, slow in turns.items() if slow >= most}

    async def _find_readers(self, urls: Sequence[ClaimedUrl]) -> dict[UUID, set[UserId]]:
        """Who needs each of these URLs: the user who added its source, or those who saved the page. Others are left
        out."""
        ids = {url.source_id for url in urls if url.source_id is not None}
        saved = [url.url for url in urls if url.origin is Origin.SAVED]
        async with self._database.as_system() as conn:
            submitters = await store.find_submitters(conn, source_ids=sorted(ids))
            savers = await store.find_savers(conn, urls=saved) if saved else {}
        found = {url.id: savers[url.url] for url in urls if url.url in savers}
        return found | {
            url.id: {submitters[url.source_id]} for url in urls if url.source_id and url.source_id in submitters
        }

    async def _put_off(self, claimed: Sequence[ClaimedTurn], slow: set[UserId]) -> list[ClaimedTurn]:
        """Postpone hosts that are needed only by these users, or by owners of many pages that wait to be read: others
        would wait for hours. At hosts that others need, too, only their URLs are postponed. Returns the others."""
        now, urls = self._clock(), [url for one in claimed for url in one.host.urls]
        readers = await self._find_readers(urls) if slow else {}
        late = [url for url in urls if slow.issuperset(readers.get(url.id, {None}))]
        saved = {url.id for url in late if url.origin is Origin.SAVED}
        async with self._database.transaction() as conn:
            ids = sorted({url.source_id for url in urls if url.source_id is not None})
            busy = await bodies.list_backlogged(conn, source_ids=ids, after=now + UNREAD_MOST)
            busy |= {url.source_id for url in late if url.source_id is not None}
            theirs = [one for one in claimed if all(url.source_id in busy or url.id in saved for url in one.host.urls)]
            if theirs:
                until, names = now + PUT_OFF, [one.host.host for one in theirs]
                shared = await changes.postpone(
                    conn, hosts=names, source_ids=sorted(busy), url_ids=sorted(saved), now=now, until=until
                )
                pauses = {name: None if name in shared else until for name in names}
                answers = [HostAnswer(one.host, None, pages_paused_until=pauses[one.host.host]) for one in theirs]
                await claims.answer(conn, answers=answers, now=now, options=self._frontier_options)
        return [one for one in claimed if one not in theirs]

    async def _tidy(self, started: float) -> None:
        async with self._database.transaction() as conn:
            await changes.tidy(conn, now=self._clock())
        async with self._database.transaction() as conn:
            await delete_unused(conn, now=self._clock(), limit=DELETED_AT_ONCE)
        self._tidy_at = started + TIDIED_EVERY_S

    async def _recheck_blocked_hosts(self, started: float) -> None:
        """If robots.txt blocks all URLs of a host, no fetch would ever notice that it has changed."""
        now = self._clock()
        async with self._database.transaction() as conn:
            blocked = await store.list_expired_blocks(conn, now=now, limit=RECHECKED_AT_ONCE)
            if blocked:
                await changes.retry(conn, ids=blocked, now=now)
        self._recheck_at = started + RECHECKED_EVERY_S

    def _unless_outage(self, result: TurnResult, asked_at: datetime) -> TurnResult:
        """While our own network is down, failures of a host do not count, and it is requested again soon."""
        if result.requests == 0:
            return result
        now, host = self._clock(), result.host
        if not self._outage_reporter.note(
            host.host, asked_at, host.answered_at, now, failed_by_network=result.was_silent
        ):
            return result
        return replace(result, answered=(), robots=(), pages_paused_until=now + OUTAGE_PAUSE)

    async def _written(self, result: TurnResult) -> TurnResult:
        """Write, with retries while the database is unavailable, even after the lease: pages are not fetched again."""
        wait = WRITE_AGAIN_S
        while True:
            try:
                return await self._batch.add(result)
            except Unavailable:
                if time.monotonic() > result.ours_until + WRITTEN_LATE_S:
                    raise
            await asyncio.sleep(wait)
            wait = min(wait * 2, WRITE_AGAIN_MOST_S)

    async def _write(self, batch: Sequence[TurnResult]) -> Sequence[TurnResult]:
        await self._write_consequences([result for result in batch if result.robots])
        await self._move_saved(batch)
        readers = await self._find_savers(batch)
        async with self._database.transaction() as conn:
            for part in in_parts([page for result in batch for page in result.pages]):
                await bodies.keep(conn, bodies=part, now=self._clock(), readers=readers)
            await claims.answer(conn, answers=batch, now=self._clock(), options=self._frontier_options)
            for robots in (robots for result in batch for robots in result.robots):
                await robots_store.keep(conn, robots=robots)
            await self._outage_reporter.write(conn, self._clock())
        return batch

    async def _find_savers(self, batch: Sequence[TurnResult]) -> dict[str, UserId]:
        """One of those who saved each of these pages, by URL: their pages are read in turn."""
        answered = [one for result in batch if result.pages for one in result.answered]
        urls = [one.url.url for one in answered if one.url.origin is Origin.SAVED]
        if not urls:
            return {}
        async with self._database.as_system() as conn:
            found = await store.find_savers(conn, urls=urls)
        return {url: min(users) for url, users in found.items()}

    async def _move_saved(self, batch: Sequence[TurnResult]) -> None:
        """What readers saved is the page that it redirects to. Before the redirect is stored, as above."""
        for one in (one for result in batch for one in result.answered if one.url.origin is Origin.SAVED):
            if isinstance(one.answer, Redirected):
                async with self._database.as_system() as conn:
                    await follow_redirect(conn, from_url=one.url.url, to_url=one.answer.to)

    async def _write_consequences(self, batch: Sequence[TurnResult]) -> None:
        """Queue what a robots.txt allows or names, before it is stored: otherwise this could be lost. In transactions
        of their own, since the frontier is written once in each; doing it twice does no harm."""
        now = self._clock()
        for result in batch:
            if result.robots_changed:
                async with self._database.transaction() as conn:
                    await changes.revive_blocked(conn, host=result.host.host, now=now)
        if any(robots.sitemaps for result in batch for robots in result.robots):
            async with self._database.transaction() as conn:
                await queue.submit(
                    conn, submissions=await _sitemaps(conn, batch), now=now, options=self._frontier_options
                )


async def _sitemaps(conn: Connection, batch: Sequence[TurnResult]) -> Sequence[Submission]:
    """The sitemaps that robots.txt names, for the sources that read sitemaps."""
    named = [result for result in batch if any(robots.sitemaps for robots in result.robots)]
    sources = {url.source_id for result in named for url in result.host.urls if url.source_id is not None}
    wanting = await store.find_sitemap_sources(conn, sources=sorted(sources))
    return [
        Submission(sitemap, Origin.SITEMAP, source_id, kind=PageKind.SITEMAP)
        for result in named
        if (source_id := next((url.source_id for url in result.host.urls if url.source_id in wanting), None))
        for robots in result.robots
        for sitemap in robots.sitemaps
    ]


def in_parts(kept: Sequence[NewBody]) -> Iterator[Sequence[NewBody]]:
    """Bodies in parts of the size of one statement."""
    part: list[NewBody] = []
    size = 0
    for page in kept:
        size += len(page.body)
        if part and size > WRITTEN_BYTES:
            yield part
            part, size = [], len(page.body)
        part.append(page)
    if part:
        yield part
