"""Publishing: what a feed is made with, and when it has something new."""

from array import array
from dataclasses import replace
from functools import cache
from itertools import accumulate
from math import ceil, exp, inf, log10
from random import Random

from headwater.lab.simulation.troubles import in_order, of_a_feed
from headwater.lab.simulation.world import DAY, HOUR, Climate, Feed, Host, Software

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


def make_feed(number: int, host: Host, days: int, climate: Climate, chance: Random) -> Feed:
    """A feed on this host, the one of this number."""
    troubles = in_order(of_a_feed(days, chance))
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
