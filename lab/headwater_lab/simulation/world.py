"""A simulated world of feeds: what each publishes and when, on which host, and which faults there are.

All of it is a function of time, so that two strategies poll the same month; only a host that limits requests depends on
earlier requests. Times are seconds from `START`.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import inf

from headwater.errors import Invalid
from headwater.polling.types import PollFailed

START = datetime(2026, 3, 2, tzinfo=UTC)  # a Monday
HOUR = 3_600.0
DAY = 24 * HOUR

LOST_FOR_HOURS = "pages"
"""The platform that answers 404 on every feed for hours each day."""


@dataclass(frozen=True, slots=True)
class FeedMix:
    """The kind of feeds in a world: how often they publish, its spread, and the share that is silent."""

    name: str
    median_per_day: float
    decades: float  # one standard deviation, in powers of ten
    silent: float


FEED_MIXES: Mapping[str, FeedMix] = {
    "mixed": FeedMix("mixed", median_per_day=0.7, decades=0.8, silent=0.2),
    "news": FeedMix("news", median_per_day=5.0, decades=0.6, silent=0.05),
    "blogs": FeedMix("blogs", median_per_day=0.15, decades=0.6, silent=0.35),
}


def mix_named(name: str) -> FeedMix:
    """Raises Invalid."""
    if name not in FEED_MIXES:
        raise Invalid(f"There is no world {name!r}. There are: {', '.join(FEED_MIXES)}.")
    return FEED_MIXES[name]


@dataclass(frozen=True, slots=True)
class SimulatedFault:
    begins: float
    ends: float
    failed: PollFailed


SimulatedFaults = tuple[SimulatedFault, ...]


@dataclass(frozen=True, slots=True)
class RequestLimit:
    """A host's rate limit: a burst, and a number of requests a second."""

    at_once: float
    per_second: float
    refusal: PollFailed


@dataclass(frozen=True, slots=True)
class SimulatedHost:
    name: str
    feeds: Sequence[int]
    faults: SimulatedFaults = ()
    limit: RequestLimit | None = None

    @property
    def platform(self) -> str:
        return self.name.rstrip("0123456789")


@dataclass(frozen=True, slots=True)
class Software:
    """How a feed is served: number of entries, support of 304 and dates, and its max-age.

    `cached`: all clients get one copy until max-age is over.
    """

    listed: int = 20
    validates: bool = True
    dated: bool = True
    lasts: float = 0.0
    cached: bool = False


@dataclass(frozen=True, slots=True)
class SimulatedFeed:
    """A feed: when it publishes, in order; entries before 0 exist when it is first polled."""

    host: int
    software: Software
    published: Sequence[float]
    faults: SimulatedFaults


@dataclass(frozen=True, slots=True)
class World:
    seed: int
    days: int
    mix: FeedMix
    hosts: Sequence[SimulatedHost]
    feeds: Sequence[SimulatedFeed]
    own_faults: SimulatedFaults

    def look(self, feed: int, at: float) -> tuple[PollFailed | None, float]:
        """The failure that a request for this feed would have now, and until when that holds."""
        found, until = None, inf
        one = self.feeds[feed]
        for faults in (self.own_faults, self.hosts[one.host].faults, one.faults):
            fault, holds = _at(faults, at)
            found, until = found or (fault.failed if fault else None), min(until, holds)
        return found, until

    def copied_at(self, feed: int, at: float) -> float:
        """The age of a response: now, or when a cache last fetched it."""
        software = self.feeds[feed].software
        return at - (at + 977.0 * feed) % software.lasts if software.cached else at

    def working_since(self, feed: int, at: float) -> float:
        """Since when a feed that works now has worked without interruption."""
        one = self.feeds[feed]
        lists = (self.own_faults, self.hosts[one.host].faults, one.faults)
        return max((fault.ends for faults in lists for fault in faults if fault.ends <= at), default=0.0)

    def is_offline(self, at: float) -> bool:
        return _at(self.own_faults, at)[0] is not None

    def is_lost_for_hours(self, feed: int) -> bool:
        """Whether only its platform fails, by answering 404 for hours each day."""
        one = self.feeds[feed]
        return not one.faults and self.hosts[one.host].platform == LOST_FOR_HOURS

    def has_fault(self, host: int, at: float) -> bool:
        return any(_at(faults, at)[0] for faults in (self.own_faults, self.hosts[host].faults))


def moment(at: float) -> datetime:
    return START + timedelta(seconds=at)


def seconds(moment: datetime) -> float:
    return (moment - START).total_seconds()


def _at(faults: SimulatedFaults, at: float) -> tuple[SimulatedFault | None, float]:
    next_one = bisect_right(faults, at, key=lambda fault: fault.begins)
    if next_one and at < faults[next_one - 1].ends:
        return faults[next_one - 1], faults[next_one - 1].ends
    return None, faults[next_one].begins if next_one < len(faults) else inf
