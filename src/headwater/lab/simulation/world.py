"""A simulated world of feeds: who publishes what when, on which host, and what goes wrong meanwhile.

Everything in it is a function of time, so that two strategies live through the same month; only a host that limits
requests answers by what was asked before. Times are seconds from `START`.
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
class Climate:
    """What kind of feeds a world is made of: how often the living publish, how that spreads, how many are silent."""

    name: str
    median_per_day: float
    decades: float  # one standard deviation, in powers of ten
    silent: float


CLIMATES: Mapping[str, Climate] = {
    climate.name: climate
    for climate in (
        Climate("mixed", median_per_day=0.7, decades=0.8, silent=0.2),
        Climate("news", median_per_day=5.0, decades=0.6, silent=0.05),
        Climate("blogs", median_per_day=0.15, decades=0.6, silent=0.35),
    )
}


def climate_named(name: str) -> Climate:
    """The climate of this name. Raises Invalid."""
    if name not in CLIMATES:
        raise Invalid(f"There is no world {name!r}. There are: {', '.join(CLIMATES)}.")
    return CLIMATES[name]


@dataclass(frozen=True, slots=True)
class Trouble:
    """From when to when what goes wrong."""

    begins: float
    ends: float
    failed: PollFailed


Troubles = tuple[Trouble, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """How many requests a host takes from one address: so many at once, and so many a second in the long run."""

    at_once: float
    per_second: float
    refusal: PollFailed


@dataclass(frozen=True, slots=True)
class Host:
    """A server and its feeds."""

    name: str
    feeds: Sequence[int]
    troubles: Troubles = ()
    limit: Limit | None = None

    @property
    def platform(self) -> str:
        """Its name without the number of the machine."""
        return self.name.rstrip("0123456789")


@dataclass(frozen=True, slots=True)
class Software:
    """What a feed is made with: how many entries it lists, whether it knows 304 and dates, how long it says it is good.

    `cached`: that is the age of a copy which everybody gets until it is over, and not only a wish.
    """

    listed: int = 20
    validates: bool = True
    dated: bool = True
    lasts: float = 0.0
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed and its life: the moments it publishes at, in order; those before 0 are there when it is first read."""

    host: int
    software: Software
    published: Sequence[float]
    troubles: Troubles


@dataclass(frozen=True, slots=True)
class World:
    """Everything there is to poll, and our own way to it."""

    seed: int
    days: int
    climate: Climate
    hosts: Sequence[Host]
    feeds: Sequence[Feed]
    own_troubles: Troubles

    def look(self, feed: int, at: float) -> tuple[PollFailed | None, float]:
        """What a request for this feed would meet now, and until when that holds."""
        found, until = None, inf
        one = self.feeds[feed]
        for troubles in (self.own_troubles, self.hosts[one.host].troubles, one.troubles):
            trouble, holds = _at(troubles, at)
            found, until = found or (trouble.failed if trouble else None), min(until, holds)
        return found, until

    def copied_at(self, feed: int, at: float) -> float:
        """From when an answer is: from now, or from when a cache on the way last asked."""
        software = self.feeds[feed].software
        return at - (at + 977.0 * feed) % software.lasts if software.cached else at

    def well_since(self, feed: int, at: float) -> float:
        """Since when a feed that answers now has been answering without a break."""
        one = self.feeds[feed]
        lists = (self.own_troubles, self.hosts[one.host].troubles, one.troubles)
        return max((trouble.ends for troubles in lists for trouble in troubles if trouble.ends <= at), default=0.0)

    def is_cut_off(self, at: float) -> bool:
        """Whether our own network is gone."""
        return _at(self.own_troubles, at)[0] is not None

    def is_lost_for_hours(self, feed: int) -> bool:
        """Whether it is only its platform that answers 404 for hours each day, and never the feed itself."""
        one = self.feeds[feed]
        return not one.troubles and self.hosts[one.host].platform == LOST_FOR_HOURS

    def has_trouble(self, host: int, at: float) -> bool:
        """Whether a host, or our own network, is out of order."""
        return any(_at(troubles, at)[0] for troubles in (self.own_troubles, self.hosts[host].troubles))


def moment(at: float) -> datetime:
    """A time of this world as one of ours."""
    return START + timedelta(seconds=at)


def seconds(moment: datetime) -> float:
    """A time of ours as one of this world."""
    return (moment - START).total_seconds()


def _at(troubles: Troubles, at: float) -> tuple[Trouble | None, float]:
    next_one = bisect_right(troubles, at, key=lambda trouble: trouble.begins)
    if next_one and at < troubles[next_one - 1].ends:
        return troubles[next_one - 1], troubles[next_one - 1].ends
    return None, troubles[next_one].begins if next_one < len(troubles) else inf
