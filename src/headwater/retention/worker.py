"""The retaining stage: create partitions for coming months, detach expired ones, drop them. Every step is small and
consistent, so a run may be killed anywhere. Readers never wait: a month that is locked is retried later."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import date, datetime, timedelta
from itertools import takewhile
from typing import Protocol

from headwater.accounts.store import events
from headwater.alerts.store import facts
from headwater.analytics import store as analytics
from headwater.articles.store import records
from headwater.articles.store import state as article_state
from headwater.bodies import store as bodies
from headwater.channels.store import deliveries
from headwater.db import Connection, Database
from headwater.documents import store as documents
from headwater.documents.types import Action, DocumentEntry
from headwater.frontier.store import changes
from headwater.hosts.store.repair import repair_schedules as repair_hosts
from headwater.ids import new_id
from headwater.images import store as images
from headwater.images.decide import ICON_RENEWED
from headwater.library.store import marks
from headwater.observability import metrics
from headwater.observability.log import get_logger
from headwater.polling.store import cleanup as feed_cleanup
from headwater.retention import store
from headwater.retention.decide import (
    FOREVER,
    ends_before,
    expired_months,
    is_published_before,
    last_month_needed,
    next_run_at,
)
from headwater.retention.store import Busy
from headwater.retention.types import Planned, RetainedKind, RetentionOptions, RetentionReport, RetentionTurn
from headwater.timekeeping import store as clocks
from headwater.timekeeping.decide import clock_problem, was_ahead
from headwater.types import Clock

log = get_logger()

TEXTS_AT_ONCE = 500
ROWS_AT_ONCE = 5_000
SOON = timedelta(minutes=10)
MARGIN = timedelta(minutes=5)  # between the end of a run and that of its lease
NOTED_EVERY_S = 60.0
REPAIRED_EVERY_S = 300.0
LOGGED_EVERY_S = 3600.0
LONGEST_FETCH_WAIT = timedelta(days=32)
LONGEST_IMAGE_WAIT = ICON_RENEWED + timedelta(days=1)
LONGEST_RUN = timedelta(days=2)
LATEST_LISTED = timedelta(days=3)  # after now; a time beyond it was set by a clock that was ahead


class RemoveBefore(Protocol):
    """Delete the oldest rows before a time; returns how many."""

    def __call__(self, conn: Connection, *, before: datetime, limit: int) -> Awaitable[int]: ...


class Retainer:
    name = "retaining"
    concurrency = 1

    def __init__(self, database: Database, clock: Clock, options: RetentionOptions) -> None:
        self._database, self._clock, self._options = database, clock, options
        kinds = (RetainedKind.EVENTS, RetainedKind.POLLS, RetainedKind.CLICKS)
        self._kept = dict(zip(kinds, (options.events, options.polls, options.clicks), strict=True))
        self._months_until: date | None = None
        self._is_draining = False
        self._note_at = self._repair_at = self._thorough_at = self._log_at = 0.0

    async def claim(self, _limit: int) -> Sequence[RetentionTurn]:
        """Claim a run if one is due; none while the clock cannot be trusted. Raises DatabaseUnavailable."""
        if await self.check_clock():
            return []
        now = self._clock()
        await self._make_months(now)
        turn = RetentionTurn(new_id(), now + self._options.at_once)
        async with self._database.transaction() as conn:
            is_ours = await store.claim(conn, lease=turn.lease, now=now, ends_at=turn.ends_at + MARGIN)
        return [turn] if is_ours else []

    async def check_clock(self) -> str | None:
        """Why this machine's clock cannot be trusted, or None. Repairs its schedules. Raises DatabaseUnavailable."""
        now, started = self._clock(), time.monotonic()
        async with self._database.transaction() as conn:
            state = await clocks.read(conn)
            problem = clock_problem(now, state, self._options.clock)
            is_new = problem is not None and (state.latest_at is None or now - state.latest_at > MARGIN)
            if started >= self._note_at or is_new:
                await clocks.note(conn, now=now, is_trusted=problem is None)
                self._note_at = started + NOTED_EVERY_S
        metrics.CLOCK_PROBLEM.set(problem is not None)
        if problem is None:
            self._log_at = 0.0
            await self._repair(now, started, thoroughly=was_ahead(now, state) and started >= self._thorough_at)
        elif started >= self._log_at:
            log.error("clock cannot be trusted", problem=problem, hint="Nothing is deleted until it is right.")
            self._log_at = started + LOGGED_EVERY_S
        return problem

    async def _repair(self, now: datetime, started: float, *, thoroughly: bool) -> None:
        if started < self._repair_at and not thoroughly:
            return
        await repair_schedules(self._database, self._options, now, thoroughly=thoroughly)
        if thoroughly:
            async with self._database.transaction() as conn:
                await clocks.forget_latest(conn, now=now)
            self._thorough_at = started + REPAIRED_EVERY_S
        self._repair_at = started + REPAIRED_EVERY_S

    async def lag(self) -> timedelta:
        """For how long a run has been due. Raises DatabaseUnavailable."""
        async with self._database.transaction() as conn:
            state = await store.find_state(conn)
        return max(self._clock() - state.due_at, timedelta(0))

    def drain(self) -> None:
        self._is_draining = True

    async def work(self, turn: RetentionTurn) -> RetentionReport:
        """Run until all is done or the time is up. Raises DatabaseUnavailable: then the lease expires."""
        report = await self.run(turn)
        months, rows = [str(one.month) for one in report.months], {kind.value: n for kind, n in report.rows.items()}
        log.info("retention ran", months=months, rows=rows, done=report.is_done, left=report.left)
        return report

    async def run(self, turn: RetentionTurn) -> RetentionReport:
        """Run, and set when the next run is due. Raises DatabaseUnavailable."""
        report = RetentionReport()
        if not await self._is_clock_wrong(report):
            await self._make_months(self._clock())
            await self._drop_detached(turn, report)
        for month in await self._expired_months() if report.is_done else ():
            if report.is_done and not await self._is_clock_wrong(report):
                await self._drop_month(month, turn, report)
        for kind, kept in self._kept.items():
            if kept != FOREVER:
                await self._remove_rows(kind, self._clock() - kept, turn, report)
        now = self._clock()
        due_at = next_run_at(now, self._options.every, SOON, is_done=report.is_done)
        async with self._database.as_system() as conn:
            await store.analyze(conn)
        async with self._database.transaction() as conn:
            await store.finish(conn, lease=turn.lease, now=now, due_at=due_at)
        return report

    async def _is_clock_wrong(self, report: RetentionReport) -> bool:
        """Delete nothing while the clock cannot be trusted."""
        if problem := await self.check_clock():
            report.is_done, report.left = False, problem
        return problem is not None

    async def plan(self) -> Planned:
        """What a run would do now. Changes nothing. Raises DatabaseUnavailable."""
        planned = Planned()
        for month in await self._expired_months():
            async with self._database.as_system() as conn:
                planned.months.append(await store.count_month(conn, month=month))
        for kind, kept in self._kept.items():
            if kept != FOREVER:
                async with self._database.as_system() as conn:
                    planned.rows[kind] = await store.count_rows(conn, kind=kind, before=self._clock() - kept)
        return planned

    async def _expired_months(self) -> list[date]:
        async with self._database.transaction() as conn:
            months = await store.list_months(conn)
            now, kept = self._clock(), self._options.articles
            past = expired_months(months, now, kept)
            newest = {month: await store.newest_published_at(conn, month=month) for month in past}
        return list(takewhile(lambda month: is_published_before(month, newest[month], now, kept), past))

    async def _make_months(self, now: datetime) -> None:
        until = last_month_needed(now)
        if until == self._months_until:
            return
        try:
            async with self._database.as_system() as conn:
                made = await store.make_months(conn, until=until)
        except Busy:
            return  # retried with the next claim
        self._months_until = until
        if made:
            log.info("months made", count=made, until=str(until))

    async def _drop_month(self, month: date, turn: RetentionTurn, report: RetentionReport) -> None:
        async with self._database.as_system() as conn:
            counted = await store.count_month(conn, month=month)
        turn.progress(f"{month:%Y-%m}: {counted.articles} articles, {counted.starred} of them starred")
        count = 1
        while count and not self._is_over(turn, report):
            async with self._database.as_system() as conn:
                count = await store.reassign_texts(conn, before=ends_before(month), most=TEXTS_AT_ONCE)
            report.reassigned += count
        if report.is_done and await self._retrying(
            turn, report, lambda conn: store.detach_month(conn, month=month), f"{month:%Y-%m} is being read"
        ):
            report.months.append(counted)
            metrics.FORGOTTEN.labels(kind=RetainedKind.ARTICLES).inc(counted.articles - counted.starred)
            await self._drop_detached(turn, report)

    async def _drop_detached(self, turn: RetentionTurn, report: RetentionReport) -> None:
        """Drop detached tables, after deletions of their texts are queued for the search index."""
        async with self._database.transaction() as conn:
            tables = await store.list_detached(conn)
            is_indexed = await documents.is_listening(conn)
        for table in tables:
            count = ROWS_AT_ONCE if is_indexed and table.startswith("content_") else 0
            while count == ROWS_AT_ONCE and not self._is_over(turn, report):
                count = await self._queue_deletions(table)
            if not report.is_done:
                return
            await self._retrying(
                turn, report, lambda conn, table=table: store.drop_detached(conn, table=table), "in use"
            )
            turn.progress(f"{table} dropped")

    async def _queue_deletions(self, table: str) -> int:
        async with self._database.as_system() as conn:
            texts = await store.take_detached_texts(conn, table=table, most=ROWS_AT_ONCE)
            gone = [text for text in texts if not text.is_kept]
            entries = [DocumentEntry(text.article_id, text.url_key, text.version, Action.DELETE) for text in gone]
            await documents.enqueue(conn, entries=entries, now=self._clock())
        return len(texts)

    async def _remove_rows(
        self, kind: RetainedKind, before: datetime, turn: RetentionTurn, report: RetentionReport
    ) -> None:
        remove, count = REMOVES[kind], ROWS_AT_ONCE
        report.rows[kind] = 0
        while count == ROWS_AT_ONCE and not self._is_over(turn, report) and not await self._is_clock_wrong(report):
            async with self._database.as_system() as conn:
                count = await remove(conn, before=before, limit=ROWS_AT_ONCE)
            report.rows[kind] += count
            metrics.FORGOTTEN.labels(kind=kind).inc(count)
        turn.progress(f"{report.rows[kind]} {kind.value} deleted")

    async def _retrying(
        self, turn: RetentionTurn, report: RetentionReport, step: Callable[[Connection], Awaitable[object]], busy: str
    ) -> bool:
        """Run a step, and retry it after a pause while its tables are locked, so that no reader waits for it."""
        for _ in range(self._options.tries):
            try:
                async with self._database.as_system() as conn:
                    await step(conn)
            except Busy:
                if self._is_over(turn, report):
                    return False
                await asyncio.sleep(self._options.pause.total_seconds())
            else:
                return True
        report.is_done, report.left = False, busy
        return False

    def _is_over(self, turn: RetentionTurn, report: RetentionReport) -> bool:
        if self._is_draining or self._clock() >= turn.ends_at:
            report.is_done, report.left = False, "the time is up"
        return not report.is_done


REMOVES: dict[RetainedKind, RemoveBefore] = {
    RetainedKind.EVENTS: events.remove_before,
    RetainedKind.POLLS: feed_cleanup.delete_events,
    RetainedKind.CLICKS: analytics.remove_before,
}


async def repair_schedules(
    database: Database, options: RetentionOptions, now: datetime, *, thoroughly: bool = False
) -> None:
    """Make waits due that a clock that was ahead made too long, table by table. Raises DatabaseUnavailable."""
    async with database.transaction() as conn:
        feeds = await feed_cleanup.repair_schedules(conn, now=now, latest=now + options.longest_poll_wait)
    async with database.transaction() as conn:
        latest = now + LONGEST_FETCH_WAIT
        await changes.repair_schedules(conn, now=now, latest=latest, thoroughly=thoroughly)
        hosts = await repair_hosts(conn, now=now, latest=latest, thoroughly=thoroughly)
    async with database.transaction() as conn:
        waiting = await bodies.repair_schedules(conn, now=now) + await documents.repair_schedules(conn, now=now)
        waiting += await article_state.repair_schedules(conn, now=now)
        waiting += await deliveries.repair_schedules(conn, now=now)
        waiting += await images.repair_schedules(conn, now=now, latest=now + LONGEST_IMAGE_WAIT)
        await facts.repair_schedules(conn, now=now)
        await store.repair_schedule(conn, now=now, latest=now + options.every + LONGEST_RUN)
    async with database.as_system() as conn:
        latest = now + LATEST_LISTED
        await records.repair_times(conn, now=now, latest=latest)
        await marks.repair_read_until(conn, now=now, latest=latest)
    if feeds or hosts or waiting:
        log.warning("schedules repaired", feeds=feeds, hosts=hosts, waiting=waiting)
