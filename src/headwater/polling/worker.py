"""Polling, step by step: claim due feeds, request, decide, write articles, schedule and event of each."""

import asyncio
import random
import time
from collections import Counter, deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

from headwater.articles.store import records
from headwater.articles.types import Kept, ListedEntry, NewArticle
from headwater.db import Connection, Database, WriteBatch
from headwater.errors import HeadwaterError, HostBusy, Unavailable
from headwater.frontier.store import queue
from headwater.frontier.types import FrontierOptions, Origin, Submission
from headwater.hosts.breaker import REFUSED, HostDecision
from headwater.hosts.decide import delay_of, pace_after, wait_of
from headwater.hosts.keys import host_id_of
from headwater.hosts.outage import OURS, OUTAGE_PROBE, OUTAGE_SITES, OUTAGE_WINDOW, OutageDetector, OutageReporter
from headwater.hosts.store import feeds as feed_hosts
from headwater.hosts.store.due import lock, wake_for_pages
from headwater.hosts.turns import OwnHost, Turns
from headwater.hosts.types import FeedRelease, Release, Wake
from headwater.ids import new_id
from headwater.images import store as images
from headwater.images.types import WantedIcon
from headwater.net import Client, FetchError, FetchFailure
from headwater.observability.log import get_logger
from headwater.polling.decide import OUTAGE_RETRY, decide, decide_host, decide_outage, decide_paused
from headwater.polling.policy import Policy, policy_of
from headwater.polling.report import Round, log_poll
from headwater.polling.request import Asked, FeedRequests
from headwater.polling.store import claims, holds, results
from headwater.polling.types import ClaimedFeed, Polled, PollFailed, PollingOptions, PollOutcome, PollReport
from headwater.sandbox import Sandbox
from headwater.types import Clock, FailureClass, SourceId, UserId
from headwater.urls import host_of, url_key

log = get_logger()

WRITTEN_AT_ONCE = 100
LANES = 2  # with one, writing took 8.5 of 9.3 s; while one batch is stored, another is prepared
DEFAULT_FRONTIER = FrontierOptions()
REDIRECT_WAIT = timedelta(seconds=10)  # for the host that a redirect leads to
PROBES = 3  # at a time, while our own network is down
SLOW_S = 2.0  # a poll that takes longer is slow
SLOW_REMEMBERED_S = 60.0
BLOCKED_REMEMBERED = 1000
ICON_SETTLED = timedelta(days=1)  # a feed that names another icon each time is believed once a day


@dataclass(frozen=True, slots=True)
class _Done:
    feed: ClaimedFeed
    policy: Policy
    asked: Asked
    took: timedelta
    is_outage: bool
    at: datetime

    @property
    def articles(self) -> Sequence[NewArticle]:
        return self.asked.outcome.feed.entries if isinstance(self.asked.outcome, Polled) else ()

    @property
    def site(self) -> str:
        return self.asked.outcome.feed.site if isinstance(self.asked.outcome, Polled) else ""

    def concerns_host(self, working: Collection[str]) -> bool:
        """Whether the outcome says something about the feed's host: not if another host failed, to which it redirects,
        nor if the feed was never read while others of the host work. Users enter any URL, dead ones and odd ports."""
        outcome, host = self.asked.outcome, self.feed.host
        if self.is_outage or not isinstance(outcome, PollFailed):
            return not self.is_outage
        is_unproven = self.feed.state.last_full_at is None and outcome.kind not in REFUSED and host in working
        return not is_unproven and (outcome.url is None or host_of(outcome.url) == host)


class Poller:
    name = "polling"

    def __init__(
        self, database: Database, client: Client, sandbox: Sandbox, clock: Clock, options: PollingOptions,
        frontier_options: FrontierOptions = DEFAULT_FRONTIER, *, outage: OutageDetector | None = None,
    ) -> None:  # fmt: skip
        self._database, self._clock, self._options = database, clock, options
        self._requests = FeedRequests(client, sandbox, clock, options)
        self._frontier_options = frontier_options
        self._turns = Turns(database, clock, delay=options.host_delay, lease=options.held_for)
        self._batch = WriteBatch[_Done, PollReport](self._write, most=WRITTEN_AT_ONCE, lanes=LANES)
        self._outage = outage or OutageDetector()
        self._misresolved: deque[tuple[datetime, SourceId]] = deque(maxlen=BLOCKED_REMEMBERED)
        self._outage_reporter = OutageReporter(self._outage, self.name)
        self._running: dict[UUID, tuple[UserId | None, float]] = {}  # current polls: of which user, since when
        self._running_new = 0  # of hosts that never answered
        self._slow: deque[tuple[UserId | None, float]] = deque()  # slow polls that have ended: of which user, when
        self._round = Round()
        self._probe_at = datetime.min.replace(tzinfo=UTC)
        self.concurrency = options.concurrency
        self.check_interval = options.check_interval

    async def claim(self, limit: int) -> Sequence[ClaimedFeed]:
        """Up to `limit` due feeds of as many hosts, held until the lease ends. Raises DatabaseUnavailable. While our
        own network is down, or seems to be, feeds of hosts known to answer are probed, due or not."""
        now = self._clock()
        if self._probe_at - now > OUTAGE_PROBE:  # the clock was set back
            self._probe_at = now
        probes: Sequence[ClaimedFeed] = ()
        if self._outage.is_outage or self._outage.is_suspected(now):
            probes = await self._claim_probes(min(limit, PROBES if self._outage.is_outage else OUTAGE_SITES), now)
        if self._outage.is_outage or len(probes) == limit:
            return probes
        first = [*probes, *await self._claim_of_others(limit - len(probes), now)]
        if len(first) == limit:
            return first
        async with self._database.transaction() as conn:
            due = await claims.claim(
                conn, lease=new_id(), now=now, leased_until=now + self._options.held_for,
                limit=limit - len(first), new_limit=max(self._options.most_new - self._running_new, 0),
            )  # fmt: skip
        if not due and not first and not self._running:
            self._round.end()
        return [*first, *due]

    async def _claim_of_others(self, limit: int, now: datetime) -> Sequence[ClaimedFeed]:
        """While slow feeds of one user take half of the slots, or just did: due feeds of others."""
        moment = time.monotonic()
        while self._slow and moment - self._slow[0][1] > SLOW_REMEMBERED_S:
            self._slow.popleft()
        slow = Counter(reader for reader, began_at in self._running.values() if moment - began_at >= SLOW_S)
        slow.update(reader for reader, _ in self._slow)  # polls that begin together end together
        readers = [reader for reader, polls in slow.items() if reader is not None and polls >= self._options.most_slow]
        if not readers:
            return ()
        async with self._database.transaction() as conn:
            chosen = await claims.list_due_of_others(conn, now=now, readers=readers, limit=limit)
        return await self._claim_chosen(chosen)

    async def _claim_probes(self, limit: int, now: datetime) -> Sequence[ClaimedFeed]:
        if now < self._probe_at:
            return ()
        self._probe_at = now + OUTAGE_PROBE
        async with self._database.transaction() as conn:
            chosen = await claims.list_probes(conn, now=now, limit=limit)
        return await self._claim_chosen(chosen)

    async def _claim_chosen(self, chosen: Sequence[SourceId]) -> Sequence[ClaimedFeed]:
        """In a transaction each: hosts locked in one transaction would have to be locked in the order of their keys."""
        claimed = [await self.claim_one(source_id) for source_id in chosen]
        return [feed for feed in claimed if feed is not None]

    async def claim_one(self, source_id: SourceId) -> ClaimedFeed | None:
        """This feed, due or not; None while its host is busy. Raises DatabaseUnavailable."""
        now = self._clock()
        async with self._database.transaction() as conn:
            return await claims.claim_one(
                conn, source_id=source_id, lease=new_id(), now=now, leased_until=now + self._options.held_for
            )

    async def lag(self) -> timedelta:
        now = self._clock()
        async with self._database.transaction() as conn:
            oldest = await claims.oldest_due_at(conn, now=now)
        return max(now - oldest, timedelta(0)) if oldest else timedelta(0)

    async def work(self, feed: ClaimedFeed) -> PollReport:
        """Poll one feed and write the result. Raises HostBusy when it is postponed, and DatabaseUnavailable: then the
        feed is due again when its lease ends."""
        started, asked_at = time.perf_counter(), self._clock()
        policy = policy_of(feed.policy or self._options.policy, self._options)
        with self._running_poll(feed):
            asked = await self._ask(feed, policy)
            took = timedelta(seconds=time.perf_counter() - started)
            is_ours = self._note_attempt(feed, asked.outcome, asked_at)
            done = _Done(feed, policy, asked, took, is_ours, self._clock())
            try:
                report = await self._batch.add(done)
            except HeadwaterError:
                raise
            except Exception as error:  # noqa: BLE001  see _broke
                report = await self._batch.add(replace(done, asked=_broke(feed, error)))
        log_poll(report)
        self._round.add(report)
        return report

    @contextmanager
    def _running_poll(self, feed: ClaimedFeed) -> Iterator[None]:
        """Count the poll, and renew the lease of its host, however long the body waits for a sandbox process."""
        loop, every = asyncio.get_running_loop(), self._options.held_for.total_seconds() / 2
        poll, began_at, is_new = new_id(), time.monotonic(), feed.host_answered_at is None
        renewals: set[asyncio.Task[None]] = set()

        def renew() -> None:
            nonlocal timer
            renewals.add(asyncio.create_task(self._renew(feed)))
            timer = loop.call_later(every, renew)

        timer = loop.call_later(every, renew)
        self._running[poll] = feed.submitted_by, began_at
        self._running_new += is_new
        try:
            yield
        finally:
            timer.cancel()
            for renewal in renewals:
                renewal.cancel()
            del self._running[poll]
            self._running_new -= is_new
            if (ended_at := time.monotonic()) - began_at >= SLOW_S:
                self._slow.append((feed.submitted_by, ended_at))

    async def _renew(self, feed: ClaimedFeed) -> None:
        with suppress(Unavailable):  # it is tried again before the lease ends
            await self._turns.renew(feed.host, feed.lease)

    async def _ask(self, feed: ClaimedFeed, policy: Policy) -> Asked:
        own = OwnHost(feed.host, self._delay(feed), feed.lease)
        try:
            check = partial(self._check_redirect, feed)
            async with self._turns.borrow(wait=REDIRECT_WAIT, own=own, check=check) as turn:
                return await self._requests.ask(feed, policy, turn)
        except HostBusy as busy:
            await self._put_off(feed, busy)
            raise
        except HeadwaterError:
            raise
        except Exception as error:  # noqa: BLE001  see _broke
            return _broke(feed, error)

    def _delay(self, feed: ClaimedFeed) -> timedelta:
        return delay_of(self._options.host_delay, feed.host_delay, slowed=feed.pace.slowed)

    async def _check_redirect(self, feed: ClaimedFeed, url: str) -> None:
        """Raises FetchError where moderators blocked the domain that a redirect leads to or rejected the feed there, or
        an operator disabled it; HostBusy if that ends by itself. An operator's own sources are not checked."""
        host, now = host_of(url), self._clock()
        is_elsewhere = url_key(url) != url_key(feed.feed_url)  # not only https or a slash at the end
        async with self._database.transaction() as conn:
            if not is_elsewhere or not await results.is_of_user(conn, source_id=feed.source_id):
                return
            domain = await results.find_blocked_domain(conn, source_id=feed.source_id, host=host)
            is_rejected = await results.leads_to_rejected(conn, source_id=feed.source_id, url=url)
            disable = await holds.find_disable(conn, url=url, now=now)
        if domain is not None and host != feed.host:
            raise FetchError(url, FetchFailure.BLOCKED, f"it redirects to {host}, and {domain} is a blocked domain")
        if is_rejected:
            raise FetchError(url, FetchFailure.BLOCKED, "it redirects to a feed that moderators have rejected")
        if disable is not None and disable.until is not None:
            raise HostBusy(host, disable.until)
        if disable is not None:
            raise FetchError(url, FetchFailure.BLOCKED, "it redirects to a feed that an operator has disabled")

    async def _put_off(self, feed: ClaimedFeed, busy: HostBusy) -> None:
        """The host that the feed redirects to is busy: poll later, without counting a failure."""
        now = self._clock()
        again = max(busy.until or now, now + self._options.interval_min * random.uniform(1, 1.5))  # noqa: S311  no secret
        release = Release(feed.host, feed.lease, now + self._delay(feed), feed.pace, now)
        async with self._database.transaction() as conn:
            await results.put_off(conn, feed=feed, until=again, host=busy.host, now=now)
            await _release_hosts(conn, [FeedRelease(release, feed.host_state, feed.source_id)], ())

    def _note_attempt(self, feed: ClaimedFeed, outcome: PollOutcome, asked_at: datetime) -> bool:
        now = self._clock()
        by_network = isinstance(outcome, PollFailed) and (outcome.kind in OURS or outcome.by_name)
        if isinstance(outcome, PollFailed) and outcome.by_name:
            self._misresolved.append((now, feed.source_id))
        return self._outage_reporter.note(feed.host, asked_at, feed.host_answered_at, now, failed_by_network=by_network)

    async def _write(self, batch: Sequence[_Done]) -> Sequence[PollReport]:
        now = self._clock()
        async with self._database.transaction() as conn:
            listing = [done for done in batch if done.articles]
            followed = await results.find_existing(conn, source_ids=[done.feed.source_id for done in listing])
            listed = [
                ListedEntry(done.feed.source_id, article, done.site)
                for done in listing
                if done.feed.source_id in followed
                for article in done.articles
            ]
            kept = await records.keep(conn, seen_at=now, listed=listed)
            found = [  # pages that a feed lists for the first time
                Submission(article.url, Origin.FEED, source_id)
                for source_id, its in kept.items()
                for article in its.links
                if article.has_page
            ]
            await images.want_icons(conn, icons=_icons(listing, followed), now=now, settled=now - ICON_SETTLED)
            wakes: list[Wake] = []
            if found:
                _, wakes = await queue.add(conn, submissions=found, now=now, options=self._frontier_options)
            failed = {done.feed.host for done in batch if isinstance(done.asked.outcome, PollFailed)}
            working = await results.find_working_hosts(conn, hosts=sorted(failed)) if failed else ()
            reports = [_decided(done, kept.get(done.feed.source_id), self._options, working) for done in batch]
            overtaken = await results.write_results(conn, reports=reports)
            for report in (report for report in reports if report.source_id in overtaken):
                await results.add_count(conn, source_id=report.source_id, articles=report.new_links)
            releases = [_released(done, report, self._options) for done, report in zip(batch, reports, strict=True)]
            await _release_hosts(conn, releases, wakes)
            if self._outage.is_outage and self._misresolved:
                await self._reenable(conn, now)
            await self._outage_reporter.write(conn, now)
        # A poll of a feed that a user changed meanwhile has no effect.
        return [
            replace(one, decision=replace(one.decision, happenings=())) if one.source_id in overtaken else one
            for one in reports
        ]

    async def _reenable(self, conn: Connection, now: datetime) -> None:
        """Enable feeds whose names resolved to private addresses just before: that was our own outage too."""
        while self._misresolved and now - self._misresolved[0][0] > OUTAGE_WINDOW:
            self._misresolved.popleft()
        ids, reason = [source_id for _, source_id in self._misresolved], FailureClass.SSRF_BLOCKED
        await results.reenable(conn, source_ids=ids, reason=reason, next_poll_at=now + OUTAGE_RETRY)


def _icons(listing: Sequence[_Done], followed: Collection[SourceId]) -> list[WantedIcon]:
    """What feeds say of their site and its icon."""
    read = [(one.feed.source_id, one.asked.outcome) for one in listing if one.feed.source_id in followed]
    return [
        WantedIcon(source_id, outcome.feed.page_url, outcome.feed.icon_url)
        for source_id, outcome in read
        if isinstance(outcome, Polled) and (outcome.feed.page_url or outcome.feed.icon_url)
    ]


async def _release_hosts(conn: Connection, releases: Sequence[FeedRelease], wakes: Sequence[Wake]) -> None:
    """Wake the hosts of new URLs and release those of the polls: locked together, to prevent deadlocks."""
    async with conn.pipeline():  # one round trip
        own = {host_id_of(one.release.host) for one in releases}
        await lock(conn, host_ids=own | {wake.host_id for wake in wakes})
        await wake_for_pages(conn, wakes=wakes)
        await feed_hosts.release(conn, releases=releases)


def _released(done: _Done, report: PollReport, options: PollingOptions) -> FeedRelease:
    """The release of the feed's host. The response of another host, after redirects, does not concern it."""
    feed, outcome = done.feed, report.outcome
    is_its_own = done.asked.host in {None, feed.host}
    has_failed = isinstance(outcome, PollFailed)
    is_limited = has_failed and outcome.kind is FailureClass.RATE_LIMITED and is_its_own
    pace = pace_after(feed.pace, int(not has_failed), was_rate_limited=is_limited)
    delay = delay_of(options.host_delay, feed.host_delay, slowed=pace.slowed)
    wait = wait_of(done.asked.retry_after if is_its_own else None, feed.pace, was_rate_limited=is_limited)
    answered_at = None if has_failed and outcome.is_silent else done.at
    release = Release(feed.host, feed.lease, done.at + max(delay, wait or delay), pace, answered_at)
    return FeedRelease(release, report.host.state, feed.source_id)


def _decided(done: _Done, kept: Kept | None, options: PollingOptions, working: Collection[str]) -> PollReport:
    kept = kept or Kept(0, 0)
    feed, outcome = done.feed, done.asked.outcome
    if isinstance(outcome, Polled) and kept.linked:
        # If all entries of a known feed are new, some may have been missed.
        missed = feed.state.last_full_at is not None and kept.linked == len(done.articles)
        outcome = replace(outcome, new=kept.linked, missed=missed)
    host = HostDecision(feed.host_state)
    if done.concerns_host(working):
        host = decide_host(feed.host_state, feed.source_id, outcome, done.policy, done.at)
    if done.is_outage:
        decision = decide_outage(feed.state, done.at)
    elif isinstance(outcome, PollFailed) and not host.counts and host.state.paused_until is not None:
        shown = replace(outcome, detail=done.policy.detail(outcome))
        decision = decide_paused(feed.state, shown, host.state.paused_until, done.at)
    else:
        decision = decide(feed.state, outcome, done.policy, options, done.at)
    return PollReport(feed, outcome, decision, host, done.took, done.at, done.asked.size, kept.linked, kept.new)


def _broke(feed: ClaimedFeed, error: Exception) -> Asked:
    """A bug in Headwater must not leave the feed without an outcome."""
    log.error("poll broke", source=str(feed.source_id), url=feed.feed_url, exc_info=error)
    return Asked(PollFailed(FailureClass.UNEXPECTED, f"Headwater itself failed: {type(error).__name__}."), 0)
