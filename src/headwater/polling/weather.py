"""A simulated world of feeds: who publishes what when, on which host, and what goes wrong meanwhile.

A seed in, the same world out. Everything in it is a function of time, so that two strategies live through the same
month; only a host that limits requests answers by what was asked before. Times are seconds from `START`.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate
from math import ceil, exp, inf, log10
from random import Random

from headwater.errors import Invalid
from headwater.polling.types import FailureClass, PollFailed

START = datetime(2026, 3, 2, tzinfo=UTC)  # a Monday
HOUR = 3_600.0
DAY = 24 * HOUR
MOST_PER_DAY = 400.0
MOST_ON_A_HOST = 1_000  # 3 s apart, more could not be asked once an hour


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


def make_world(*, feeds: int, days: int, seed: int, climate: Climate = CLIMATES["mixed"]) -> World:
    """The same world for the same arguments."""
    hosts = [_host(plan, days, seed) for plan in _plan_hosts(feeds, _chance(seed, "hosts"))]
    made = [
        _feed(number, host, days, climate, _chance(seed, f"feed {index}"))
        for number, host in enumerate(hosts)
        for index in host.feeds
    ]
    night = int(days * 0.4) * DAY + 22 * HOUR
    return World(seed, days, climate, hosts, made, (Trouble(night, night + 8 * HOUR, NO_NETWORK),))


def _at(troubles: Troubles, at: float) -> tuple[Trouble | None, float]:
    next_one = bisect_right(troubles, at, key=lambda trouble: trouble.begins)
    if next_one and at < troubles[next_one - 1].ends:
        return troubles[next_one - 1], troubles[next_one - 1].ends
    return None, troubles[next_one].begins if next_one < len(troubles) else inf


def _chance(seed: int, what: str) -> Random:
    return Random(f"{seed} {what}")  # noqa: S311  a world, not a secret


# What can go wrong.

_C = FailureClass
NO_NETWORK = PollFailed(_C.DNS, "Its name cannot be found.")
NO_NAME = PollFailed(_C.DNS, "Its name cannot be found.")
TIMEOUT = PollFailed(_C.NETWORK, "It did not answer in time.")
DOWN = PollFailed(_C.UPSTREAM_FAILURE, "It is down.", 503)
NOT_FOUND = PollFailed(_C.NOT_FOUND, "It is not there.", 404)
GONE = PollFailed(_C.GONE, "It is gone.", 410)
FORBIDDEN = PollFailed(_C.FORBIDDEN, "It may not be read.", 403)
BROKEN = PollFailed(_C.PARSE_ERROR, "It cannot be read.", 200)
A_PAGE = PollFailed(_C.NOT_A_FEED, "It is a web page.", 200)
SLOW_DOWN = PollFailed(_C.RATE_LIMITED, "Too many requests.", 429)
SLOW_DOWN_FOR = PollFailed(_C.RATE_LIMITED, "Too many requests.", 429, retry_after=timedelta(minutes=5))


def _in_order(troubles: Iterable[Trouble]) -> Troubles:
    """Sorted, and one at a time: what begins while another lasts is left out."""
    kept: list[Trouble] = []
    for trouble in sorted(troubles, key=lambda trouble: trouble.begins):
        if not kept or trouble.begins >= kept[-1].ends:
            kept.append(trouble)
    return tuple(kept)


def _host_troubles(days: int, chance: Random) -> list[Trouble]:
    """What happens to any server: it is down for days, for hours, or in fits."""
    end = days * DAY
    found: list[Trouble] = []
    if chance.random() < 0.02:
        begins = chance.uniform(0, end)
        found.append(Trouble(begins, begins + chance.uniform(1, 6) * DAY, chance.choice((DOWN, TIMEOUT, NO_NAME))))
    if chance.random() < 0.005:
        begins = chance.uniform(0, end)
        found.append(Trouble(begins, begins + chance.uniform(1, 5) * DAY, FORBIDDEN))
    if chance.random() < 0.1:
        found += [_short(chance, end, 2 * HOUR) for _ in range(chance.randint(1, 3))]
    if chance.random() < 0.03:
        found += [_short(chance, end, HOUR / 6) for _ in range(6 * days)]
    return found


def _short(chance: Random, end: float, mean: float) -> Trouble:
    begins = chance.uniform(0, end)
    return Trouble(begins, begins + chance.expovariate(1 / mean), chance.choice((DOWN, DOWN, TIMEOUT)))


def _feed_troubles(days: int, chance: Random) -> list[Trouble]:
    """What happens to one feed: it goes for good, it is lost and found again, or its body is broken."""
    end, lot = days * DAY, chance.random()
    begins = chance.uniform(0, end)
    if lot < 0.02:
        return [Trouble(-inf, inf, NOT_FOUND)]
    if lot < 0.035:
        return [Trouble(begins, inf, chance.choices((NOT_FOUND, GONE), (7, 3))[0])]
    if lot < 0.045:
        return [Trouble(begins, begins + chance.uniform(1, 10) * DAY, chance.choices((NOT_FOUND, GONE), (6, 1))[0])]
    if lot < 0.055:
        return [Trouble(begins, begins + chance.uniform(0.25, 4) * DAY, chance.choice((BROKEN, A_PAGE)))]
    return []


# Hosts.


@dataclass(frozen=True, slots=True)
class _Plan:
    """A host before its troubles are known."""

    name: str
    feeds: range


PLATFORMS = {"videos": 0.08, "forum": 0.02, "letters": 0.01, "pages": 0.03, "hosted": 0.06}
"""Hosts with many feeds, and their share of all. `forum` and `letters` limit requests by address, with and without a
Retry-After; `pages` answers 404 on every feed for hours each day."""

LOST_FOR_HOURS = "pages"
IN_GROUPS = 0.25  # of all feeds: on hosts with 2 to 20 of them, the sections of a newspaper


def _plan_hosts(feeds: int, chance: Random) -> list[_Plan]:
    plans: list[_Plan] = []
    taken = 0

    def take(name: str, count: int) -> None:
        nonlocal taken
        count = min(count, feeds - taken)
        if count > 0:
            plans.append(_Plan(name, range(taken, taken + count)))
            taken += count

    for name, share in PLATFORMS.items():
        machines = ceil(feeds * share / MOST_ON_A_HOST)
        for machine in range(machines):
            take(f"{name}{machine or ''}", round(feeds * share / machines))
    grouped = taken + round(feeds * IN_GROUPS)
    while taken < grouped:
        take(f"group{taken}", chance.randint(2, 20))
    while taken < feeds:
        take(f"single{taken}", 1)
    return plans


def _host(plan: _Plan, days: int, seed: int) -> Host:
    chance = _chance(seed, plan.name)
    platform = plan.name.rstrip("0123456789")
    if platform not in PLATFORMS:
        return Host(plan.name, plan.feeds, _in_order(_host_troubles(days, chance)))
    troubles = [_short(chance, days * DAY, HOUR / 2) for _ in range(2)]
    if platform == LOST_FOR_HOURS:
        troubles += [_lost(day, chance) for day in range(days)]
    return Host(plan.name, plan.feeds, _in_order(troubles), _limit(platform, len(plan.feeds)))


def _lost(day: int, chance: Random) -> Trouble:
    begins = day * DAY + chance.uniform(0, 16) * HOUR
    return Trouble(begins, begins + chance.uniform(2, 6) * HOUR, NOT_FOUND)


def _limit(platform: str, feeds: int) -> Limit | None:
    """Limits grow with the platform, so that a small world meets them as well as a large one."""
    match platform:
        case "forum":
            return Limit(at_once=0.15 * feeds, per_second=0.9 * feeds / HOUR, refusal=SLOW_DOWN_FOR)
        case "letters":
            return Limit(at_once=0.4 * feeds, per_second=0.8 * feeds / HOUR, refusal=SLOW_DOWN)
        case _:
            return None


# Feeds.


_ANYWHERE: tuple[tuple[float, Software], ...] = (
    (0.36, Software(listed=10, lasts=HOUR)),  # WordPress: sy:updatePeriod hourly
    (0.04, Software(listed=10, lasts=HOUR, validates=False)),
    (0.15, Software(listed=20, lasts=HOUR / 6, cached=True)),  # a static site behind a cache
    (0.10, Software(listed=25)),
    (0.10, Software(listed=30, lasts=HOUR / 4)),  # ttl
    (0.10, Software(listed=20, validates=False)),
    (0.06, Software(listed=50, validates=False)),
    (0.04, Software(listed=15, dated=False)),
    (0.02, Software(listed=10, lasts=2 * HOUR, cached=True)),
    (0.015, Software(listed=20, lasts=12 * HOUR, cached=True)),
    (0.01, Software(listed=10, lasts=2 * HOUR)),
    (0.005, Software(listed=20, lasts=DAY)),  # sy:updatePeriod daily
)
_ON_PLATFORMS = {
    "videos": Software(listed=15, lasts=HOUR / 4, cached=True, validates=False),
    "forum": Software(listed=25, validates=False),
    "letters": Software(listed=20, lasts=HOUR / 12),
    "pages": Software(listed=10),
    "hosted": Software(listed=25, lasts=HOUR / 2),
}


def _feed(number: int, host: Host, days: int, climate: Climate, chance: Random) -> Feed:
    troubles = _in_order(_feed_troubles(days, chance))
    per_day = min(10 ** chance.gauss(log10(climate.median_per_day), climate.decades), MOST_PER_DAY)
    software = _ON_PLATFORMS.get(host.platform) or _drawn(per_day, chance)
    if chance.random() < climate.silent:
        published = _before(-DAY * 10 ** chance.uniform(1.8, 3.3), per_day, software.listed, chance)
    else:
        published = _before(0.0, per_day, software.listed, chance) + _during(per_day, days, chance)
    ends = min((trouble.begins for trouble in troubles if trouble.ends == inf), default=inf)
    return Feed(number, software, array("d", (at for at in published if at < max(ends, 0.0))), troubles)


def _drawn(per_day: float, chance: Random) -> Software:
    drawn = chance.choices([made for _, made in _ANYWHERE], [share for share, _ in _ANYWHERE])[0]
    if per_day > 40 and chance.random() < 0.9:  # who publishes much mostly lists much
        drawn = replace(drawn, listed=max(drawn.listed, 50))
    if drawn.lasts > HOUR and per_day > 6:  # who asks to be asked seldom does not publish often
        drawn = replace(drawn, lasts=HOUR)
    return drawn


def _before(until: float, per_day: float, listed: int, chance: Random) -> list[float]:
    gaps = (chance.expovariate(per_day / DAY) for _ in range(listed))
    return [until - gap for gap in accumulate(gaps)][::-1]


def _during(per_day: float, days: int, chance: Random) -> list[float]:
    """Round the clock, by day, or several at once when the press runs."""
    kind, zone = chance.choices(("always", "by day", "in batches"), (2, 6, 2))[0], chance.randint(-8, 9)
    if kind != "in batches":
        count = _poisson(per_day * days, chance)
        hours = chance.choices(range(days * 24), cum_weights=_busy(kind, zone, days), k=count)
        return sorted((hour + chance.random()) * HOUR for hour in hours)
    size, first = chance.randint(2, 12), chance.uniform(0, DAY)
    runs = ceil(per_day / size)  # a day
    batches = (
        chance.randrange(days) * DAY + (first + chance.randrange(runs) * DAY / runs) % DAY
        for _ in range(_poisson(per_day * days / size, chance))
    )
    return sorted(batch + chance.uniform(0, 600) for batch in batches for _ in range(size))


@cache
def _busy(kind: str, zone: int, days: int) -> tuple[float, ...]:
    """How much is published in each hour, added up; people sleep at night and rest on weekends."""
    if kind == "always":
        return tuple(accumulate(1.0 for _ in range(days * 24)))
    hours = ((hour + zone) % 24 for hour in range(days * 24))
    weights = ((1.0 if 8 <= hour < 19 else 0.35 if 6 <= hour < 23 else 0.03) for hour in hours)
    return tuple(accumulate(weight * (0.35 if number // 24 % 7 > 4 else 1.0) for number, weight in enumerate(weights)))


def _poisson(mean: float, chance: Random) -> int:
    if mean > 50:
        return max(0, round(chance.gauss(mean, mean**0.5)))
    count, left, floor = 0, chance.random(), exp(-mean)
    while left > floor:
        count, left = count + 1, left * chance.random()
    return count
