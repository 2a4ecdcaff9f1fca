"""How often to poll a feed, by the dates of its entries. Pure. docs/performance.md says why it is the square root."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import sqrt
from uuid import UUID
from zlib import crc32

from headwater.polling.types import FeedState, NotModified, Polled, PollHints, PollingOptions, ReadFeed

OFTEN = timedelta(hours=3)
SELDOM = timedelta(days=7)
ENTRIES_LOOKED_AT = 20
SPREAD = 0.1  # of our own waits: feeds that were added together are not polled together for ever
FULL_AFTER = timedelta(days=6)  # once a week at the latest, and the next poll may be a day away
HOURS_OF_A_WEEK = 7 * 24


@dataclass(frozen=True, slots=True)
class Rhythm:
    mean_gap: timedelta | None
    last_new_at: datetime | None


def rhythm_of(state: FeedState, outcome: Polled | NotModified, now: datetime) -> Rhythm:
    """The rhythm after this poll. A response without entries does not change it; a delta does not change the gap."""
    if isinstance(outcome, NotModified) or not outcome.feed.entries:
        return Rhythm(state.mean_gap, state.last_new_at)
    dates = _dates(outcome.feed, now)
    if not dates:
        return _as_seen(state, outcome.new, now)
    if outcome.is_delta:
        return Rhythm(state.mean_gap, max(dates[0], state.last_new_at or dates[0]))
    gap = (dates[0] - dates[-1]) / (len(dates) - 1) if len(dates) > 1 else state.mean_gap
    return Rhythm(gap, dates[0])


def _as_seen(state: FeedState, new: int, now: datetime) -> Rhythm:
    """The rhythm of entries without dates, by when they were first seen."""
    if state.last_new_at is None:
        return Rhythm(None, now)
    if not new:
        return Rhythm(state.mean_gap, state.last_new_at)
    gap = max(now - state.last_new_at, timedelta(0)) / new  # clocks differ from machine to machine
    return Rhythm(gap if state.mean_gap is None else (3 * state.mean_gap + gap) / 4, now)


def next_after_success(
    state: FeedState, outcome: Polled | NotModified, options: PollingOptions, now: datetime
) -> datetime:
    """The longest of what the source or its rhythm, the response and the feed ask for, within bounds."""
    chance = _chance(state.source_id, now)
    if state.own_interval is not None:
        wait = state.own_interval * (1 + SPREAD * chance)
    else:
        wait = options.interval * (_pace(state, outcome, now) * (1 + SPREAD * (chance - 0.5)))
    wait = max(wait, outcome.fresh_for, options.interval_min)
    if state.hints is None:
        return now + min(wait, options.interval_max)
    due = now + min(max(wait, state.hints.gap), options.interval_max)
    return _outside_break(due, state.hints, options.interval_max)


def needs_full_response(state: FeedState, now: datetime) -> bool:
    """Some servers send 304 wrongly: at least once a week the request has no validators."""
    return state.last_full_at is None or now - state.last_full_at >= FULL_AFTER


def _pace(state: FeedState, outcome: Polled | NotModified, now: datetime) -> float:
    """How many intervals to wait; half as many if entries may have been missed."""
    pace = 1.0
    if state.last_new_at is not None:
        # Entries with the same date have no gap; a feed without new entries is polled less and less often.
        gap = max(state.mean_gap or OFTEN, (now - state.last_new_at) / 2, timedelta(0))
        pace = sqrt(gap / OFTEN) if gap < OFTEN else max(gap / SELDOM, 1.0)
    may_have_missed = isinstance(outcome, Polled) and outcome.missed and not outcome.is_delta
    return pace / 2 if may_have_missed else pace


def _dates(feed: ReadFeed, now: datetime) -> list[datetime]:
    known = [date for entry in feed.entries if (date := entry.published_at) is not None and date <= now]
    return sorted(known, reverse=True)[:ENTRIES_LOOKED_AT]


def _chance(source_id: UUID, now: datetime) -> float:
    """A number from 0 to 1, the same for the same poll, so that a decision can be reproduced."""
    moment = int(now.timestamp() * 1_000_000).to_bytes(8, signed=True)
    return crc32(source_id.bytes + moment) / 0xFFFFFFFF


def _outside_break(due: datetime, hints: PollHints, most: timedelta) -> datetime:
    """The first hour from `due` on that the publisher does not skip, at most `most` later. A longer break is waited for
    in steps; if all hours are skipped, the hint is ignored."""
    if not _is_skipped(due, hints):
        return due
    hours = (due.replace(second=0, microsecond=0) + timedelta(hours=hour) for hour in range(1, HOURS_OF_A_WEEK))
    ends_at = next((hour for hour in hours if not _is_skipped(hour, hints)), None)
    return due if ends_at is None else min(ends_at, due + most)


def _is_skipped(at: datetime, hints: PollHints) -> bool:
    return at.hour in hints.skip_hours or at.weekday() in hints.skip_days
