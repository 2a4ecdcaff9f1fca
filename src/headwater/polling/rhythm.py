"""How often a feed is worth asking. Pure: what it published in, an interval out.

The wait grows with the square root of the gap between a feed's entries: for a given number of requests, that is what
makes the mean delay from publication to article smallest. A feed that publishes every four hours is asked every hour.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import sqrt
from uuid import UUID

from headwater.polling.parse.types import ParsedFeed
from headwater.polling.types import FeedState, Freshness, NotModified, Polled, PollingOptions

ASKED_HOURLY = timedelta(hours=4)
ENTRIES_LOOKED_AT = 20
SPREAD = 0.1  # of the interval: feeds that were added together do not stay together
A_WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How far a feed's entries lie apart, and when the newest one came."""

    mean_gap: timedelta | None
    last_new_at: datetime | None


def rhythm_of(state: FeedState, outcome: Polled | NotModified, now: datetime) -> Rhythm:
    """The rhythm after this poll; an answer without entries tells nothing new."""
    if isinstance(outcome, NotModified):
        return Rhythm(state.mean_gap, state.last_new_at)
    dates = _dates(outcome.feed, now)
    if not dates:
        return Rhythm(state.mean_gap, state.last_new_at)
    gap = (dates[0] - dates[-1]) / (len(dates) - 1) if len(dates) > 1 else state.mean_gap
    return Rhythm(gap, dates[0])


def next_after_success(
    state: FeedState, outcome: Polled | NotModified, options: PollingOptions, now: datetime
) -> datetime:
    """The longest of what the source, its rhythm and the answer ask for, within bounds, a little spread."""
    rhythm = _adapted(state, options, now)
    if isinstance(outcome, Polled) and outcome.missed:
        rhythm /= 2
    wait = max(state.own_interval or rhythm, outcome.freshness.lasts)
    wait = min(max(wait, options.interval_min), options.interval_max)
    wait = min(wait * (1 + SPREAD * _chance(state.source_id, now)), options.interval_max)
    return _outside_rest(now + wait, outcome.freshness, options.interval_max)


def wants_full_answer(state: FeedState, now: datetime) -> bool:
    """Servers lie about 304: once a week at the latest we ask without validators."""
    return state.last_full_at is None or now - state.last_full_at >= A_WEEK


def _adapted(state: FeedState, options: PollingOptions, now: datetime) -> timedelta:
    if state.mean_gap is None or state.last_new_at is None:
        return options.interval
    # A feed that has fallen silent is as slow as its silence.
    gap = max(state.mean_gap, (now - state.last_new_at) / 2)
    return options.interval * sqrt(max(gap, timedelta(0)) / ASKED_HOURLY)


def _dates(feed: ParsedFeed, now: datetime) -> list[datetime]:
    known = (entry.published_at or entry.updated_at for entry in feed.entries)
    return sorted((date for date in known if date is not None and date <= now), reverse=True)[:ENTRIES_LOOKED_AT]


def _chance(source_id: UUID, now: datetime) -> float:
    """A number from 0 to 1 that is the same for the same poll, so that a decision can be told again."""
    digest = hashlib.blake2b(source_id.bytes + now.isoformat().encode(), digest_size=4).digest()
    return int.from_bytes(digest) / 0xFFFFFFFF


def _outside_rest(due: datetime, freshness: Freshness, most: timedelta) -> datetime:
    """The first hour from `due` on that the publisher does not ask to skip; a rest without end is not heeded."""
    first = due
    for _ in range(24 * 7):
        if due.hour not in freshness.skip_hours and due.weekday() not in freshness.skip_days:
            return due
        due = (due + timedelta(hours=1)).replace(minute=first.minute, second=0, microsecond=0)
        if due - first > most:
            break
    return first
