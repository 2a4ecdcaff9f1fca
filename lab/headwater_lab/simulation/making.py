"""Makes a world: faults, publishing times and hosts, the same for the same seed."""

from array import array
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from functools import cache
from itertools import accumulate
from math import ceil, exp, inf, log10
from random import Random

from headwater.polling.types import FailureClass, PollFailed
from headwater_lab.simulation.world import (
    DAY,
    FEED_MIXES,
    HOUR,
    LOST_FOR_HOURS,
    FeedMix,
    RequestLimit,
    SimulatedFault,
    SimulatedFaults,
    SimulatedFeed,
    SimulatedHost,
    Software,
    World,
)

NO_NETWORK = PollFailed(FailureClass.DNS, "Its name cannot be resolved.")
NO_NAME = PollFailed(FailureClass.DNS, "Its name cannot be resolved.")
TIMEOUT = PollFailed(FailureClass.NETWORK, "It did not answer in time.")
DOWN = PollFailed(FailureClass.UPSTREAM_FAILURE, "It is down.", 503)
NOT_FOUND = PollFailed(FailureClass.NOT_FOUND, "It is not there.", 404)
GONE = PollFailed(FailureClass.GONE, "It is gone.", 410)
FORBIDDEN = PollFailed(FailureClass.FORBIDDEN, "It may not be read.", 403)
BROKEN = PollFailed(FailureClass.PARSE_ERROR, "It cannot be read.", 200)
A_PAGE = PollFailed(FailureClass.NOT_A_FEED, "It is a web page.", 200)
SLOW_DOWN = PollFailed(FailureClass.RATE_LIMITED, "Too many requests.", 429)
SLOW_DOWN_FOR = PollFailed(FailureClass.RATE_LIMITED, "Too many requests.", 429, retry_after=timedelta(minutes=5))


def in_order(faults: Iterable[SimulatedFault]) -> SimulatedFaults:
    """Sorted, without overlaps: a fault that begins during another is dropped."""
    kept: list[SimulatedFault] = []
    for fault in sorted(faults, key=lambda fault: fault.begins):
        if not kept or fault.begins >= kept[-1].ends:
            kept.append(fault)
    return tuple(kept)


def host_faults(days: int, chance: Random) -> list[SimulatedFault]:
    """Faults of any server: down for days, for hours, or often and briefly."""
    end = days * DAY
    found: list[SimulatedFault] = []
    if chance.random() < 0.02:
        begins, lasts = chance.uniform(0, end), chance.uniform(1, 6) * DAY
        found.append(SimulatedFault(begins, begins + lasts, chance.choice((DOWN, TIMEOUT, NO_NAME))))
    if chance.random() < 0.005:
        begins = chance.uniform(0, end)
        found.append(SimulatedFault(begins, begins + chance.uniform(1, 5) * DAY, FORBIDDEN))
    if chance.random() < 0.1:
        found += [short(chance, end, 2 * HOUR) for _ in range(chance.randint(1, 3))]
    if chance.random() < 0.03:
        found += [short(chance, end, HOUR / 6) for _ in range(6 * days)]
    return found


def short(chance: Random, end: float, mean: float) -> SimulatedFault:
    begins = chance.uniform(0, end)
    return SimulatedFault(begins, begins + chance.expovariate(1 / mean), chance.choice((DOWN, DOWN, TIMEOUT)))


def feed_faults(days: int, chance: Random) -> list[SimulatedFault]:
    """Faults of one feed: gone for good, gone for days, or a broken body."""
    end, lot = days * DAY, chance.random()
    begins = chance.uniform(0, end)
    if lot < 0.02:
        return [SimulatedFault(-inf, inf, NOT_FOUND)]
    if lot < 0.035:
        return [SimulatedFault(begins, inf, chance.choices((NOT_FOUND, GONE), (7, 3))[0])]
    if lot < 0.045:
        lasts = chance.uniform(1, 10) * DAY
        return [SimulatedFault(begins, begins + lasts, chance.choices((NOT_FOUND, GONE), (6, 1))[0])]
    if lot < 0.055:
        return [SimulatedFault(begins, begins + chance.uniform(0.25, 4) * DAY, chance.choice((BROKEN, A_PAGE)))]
    return []


def lost(day: int, chance: Random) -> SimulatedFault:
    """Some hours of a day in which all feeds answer 404."""
    begins = day * DAY + chance.uniform(0, 16) * HOUR
    return SimulatedFault(begins, begins + chance.uniform(2, 6) * HOUR, NOT_FOUND)


MOST_PER_DAY = 400.0

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


def make_feed(number: int, host: SimulatedHost, days: int, mix: FeedMix, chance: Random) -> SimulatedFeed:
    faults = in_order(feed_faults(days, chance))
    per_day = min(10 ** chance.gauss(log10(mix.median_per_day), mix.decades), MOST_PER_DAY)
    software = _ON_PLATFORMS.get(host.platform) or _drawn(per_day, chance)
    if chance.random() < mix.silent:
        published = _before(-DAY * 10 ** chance.uniform(1.8, 3.3), per_day, software.listed, chance)
    else:
        published = _before(0.0, per_day, software.listed, chance) + _during(per_day, days, chance)
    ends = min((fault.begins for fault in faults if fault.ends == inf), default=inf)
    return SimulatedFeed(number, software, array("d", (at for at in published if at < max(ends, 0.0))), faults)


def _drawn(per_day: float, chance: Random) -> Software:
    drawn = chance.choices([made for _, made in _ANYWHERE], [share for share, _ in _ANYWHERE])[0]
    if per_day > 40 and chance.random() < 0.9:  # feeds that publish much mostly list much
        drawn = replace(drawn, listed=max(drawn.listed, 50))
    if drawn.lasts > HOUR and per_day > 6:  # feeds with a long max-age do not publish often
        drawn = replace(drawn, lasts=HOUR)
    return drawn


def _before(until: float, per_day: float, listed: int, chance: Random) -> list[float]:
    gaps = (chance.expovariate(per_day / DAY) for _ in range(listed))
    return [until - gap for gap in accumulate(gaps)][::-1]


def _during(per_day: float, days: int, chance: Random) -> list[float]:
    """At any time, by day, or in batches."""
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
    """Cumulative share of articles by hour; fewer at night and on weekends."""
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


MOST_ON_A_HOST = 1_000  # with 3 s between requests, more could not be polled once an hour

PLATFORMS = {"videos": 0.08, "forum": 0.02, "letters": 0.01, "pages": 0.03, "hosted": 0.06}
"""Hosts with many feeds, and their share of all. `forum` and `letters` limit requests by address, with and without a
Retry-After; `pages` answers 404 on every feed for hours each day."""

IN_GROUPS = 0.25  # of all feeds: on hosts with 2 to 20 of them, the sections of a newspaper


def make_world(*, feeds: int, days: int, seed: int, mix: FeedMix = FEED_MIXES["mixed"]) -> World:
    """The same world for the same arguments."""
    hosts = [_host(*plan, days, seed) for plan in _plan_hosts(feeds, _chance(seed, "hosts"))]
    made = [
        make_feed(number, host, days, mix, _chance(seed, f"feed {index}"))
        for number, host in enumerate(hosts)
        for index in host.feeds
    ]
    night = int(days * 0.4) * DAY + 22 * HOUR
    return World(seed, days, mix, hosts, made, (SimulatedFault(night, night + 8 * HOUR, NO_NETWORK),))


def _plan_hosts(feeds: int, chance: Random) -> list[tuple[str, range]]:
    """Name and feeds of each host."""
    plans: list[tuple[str, range]] = []
    taken = 0

    def take(name: str, count: int) -> None:
        nonlocal taken
        count = min(count, feeds - taken)
        if count > 0:
            plans.append((name, range(taken, taken + count)))
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


def _host(name: str, feeds: range, days: int, seed: int) -> SimulatedHost:
    chance = _chance(seed, name)
    platform = name.rstrip("0123456789")
    if platform not in PLATFORMS:
        return SimulatedHost(name, feeds, in_order(host_faults(days, chance)))
    faults = [short(chance, days * DAY, HOUR / 2) for _ in range(2)]
    if platform == LOST_FOR_HOURS:
        faults += [lost(day, chance) for day in range(days)]
    return SimulatedHost(name, feeds, in_order(faults), _limit(platform, len(feeds)))


def _limit(platform: str, feeds: int) -> RequestLimit | None:
    """Limits grow with the platform, so that they are reached in small worlds too."""
    match platform:
        case "forum":
            return RequestLimit(at_once=0.15 * feeds, per_second=0.9 * feeds / HOUR, refusal=SLOW_DOWN_FOR)
        case "letters":
            return RequestLimit(at_once=0.4 * feeds, per_second=0.8 * feeds / HOUR, refusal=SLOW_DOWN)
        case _:
            return None


def _chance(seed: int, what: str) -> Random:
    return Random(f"{seed} {what}")  # noqa: S311  a world, not a secret
