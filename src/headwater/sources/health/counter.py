"""Counting: sums polls by hour and day, and ranks sources. Polling only writes events; this stage counts them later,
one past hour at a time, or several when it is behind. Its progress is written with the counts, so that it can stop
anywhere and run in any number of processes."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from headwater.db import Connection, Database, see_all_users
from headwater.sources.health.store import counts
from headwater.sources.health.types import Counting, Period
from headwater.timekeeping import store as clocks
from headwater.timekeeping.decide import AHEAD, DEFAULT_CLOCK_OPTIONS, ClockOptions, clock_problem
from headwater.types import Clock

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
SPAN_MOST = timedelta(hours=6)  # when it is behind: a quarter of a million polls take about a second
KEPT = timedelta(days=30)  # as long as the polls themselves
STRAGGLERS = timedelta(minutes=5)  # a poll is written shortly after it ended, by a clock that may differ
RANKED_EVERY = timedelta(minutes=2)
SHARE = 60  # ranking takes at most 1/60 of the time, also with very many sources


class Counter:
    name = "counting"
    concurrency = 1

    def __init__(self, database: Database, clock: Clock, clock_options: ClockOptions = DEFAULT_CLOCK_OPTIONS) -> None:
        self._database, self._clock, self._clock_options = database, clock, clock_options
        self._pause = RANKED_EVERY

    async def claim(self, limit: int) -> Sequence[Counting]:
        """The progress, if there is something to count or rank. Raises Unavailable."""
        now = self._clock()
        async with self._database.transaction() as conn:
            state = await counts.find_counting(conn)
            if clock_problem(now, await clocks.read(conn), self._clock_options):
                return ()  # counts made with a wrong clock cannot be repeated
        until = state.counted_until
        is_due = is_ahead(until, now) or next_span(until, now) is not None or self._is_stale(state, now)
        return [state][:limit] if is_due else ()

    async def work(self, _state: Counting) -> None:
        """Count one past span, or rank the sources. Raises Unavailable."""
        now = self._clock()
        async with self._database.transaction() as conn:
            state = await counts.take_counting(conn)  # another process may have counted meanwhile, or is counting
            if state is None:
                return
            if is_ahead(state.counted_until, now):
                await counts.recount(conn, since=_hour(now).replace(hour=0))
            elif span := next_span(state.counted_until, now):
                await counts.count_span(conn, since=span[0], until=span[1])
                await counts.remove_before(conn, before=now - KEPT)
            elif self._is_stale(state, now):
                started = time.perf_counter()
                await rank_all(conn, state, now)
                self._pause = max(RANKED_EVERY, timedelta(seconds=time.perf_counter() - started) * SHARE)

    async def lag(self) -> timedelta:
        """How long the oldest past hour has not been counted. Raises Unavailable."""
        async with self._database.transaction() as conn:
            state = await counts.find_counting(conn)
        if state.counted_until is None:
            return timedelta(0)
        return max(self._clock() - state.counted_until - HOUR - STRAGGLERS, timedelta(0))

    def _is_stale(self, state: Counting, now: datetime) -> bool:
        return state.ranked_at is None or abs(now - state.ranked_at) >= self._pause  # the clock may have been ahead


def is_ahead(counted_until: datetime | None, now: datetime) -> bool:
    """Whether a clock that was ahead counted hours that are not over: polls in them would never be counted."""
    return counted_until is not None and counted_until > now + AHEAD


def next_span(counted_until: datetime | None, now: datetime) -> tuple[datetime, datetime] | None:
    """The next whole past hours of one day to count; None if there are none."""
    if counted_until is None:
        return None
    over = _hour(now - STRAGGLERS)
    since = max(counted_until, _hour(now - KEPT))
    until = min(over, since + SPAN_MOST, since.replace(hour=0) + DAY)
    return (since, until) if since < until else None


async def rank_all(conn: Connection, state: Counting, now: datetime) -> None:
    await counts.begin_ranking(conn, at=now)
    for period in Period:
        since = now - period.length
        counted = state.counted_until or since
        # A day is read poll by poll; longer periods from counted days and the polls after them.
        events_since = since if period is Period.DAY else max(counted, since)
        days_since = now.date() + DAY if period is Period.DAY else since.date() + DAY
        await counts.rank(conn, period=period, days_since=days_since, events_since=events_since, polls_since=since)
        if period is Period.WEEK:
            await see_all_users(conn)  # counts readers
            await counts.write_numbers(conn, days_since=days_since, events_since=events_since)


def _hour(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
