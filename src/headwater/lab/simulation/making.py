"""Making a world: a seed in, the same world out."""

from dataclasses import dataclass
from math import ceil
from random import Random

from headwater.lab.simulation.publishing import make_feed
from headwater.lab.simulation.troubles import (
    NO_NETWORK,
    SLOW_DOWN,
    SLOW_DOWN_FOR,
    in_order,
    lost,
    of_a_host,
    short,
)
from headwater.lab.simulation.world import CLIMATES, DAY, HOUR, LOST_FOR_HOURS, Climate, Host, Limit, Trouble, World

MOST_ON_A_HOST = 1_000  # 3 s apart, more could not be asked once an hour

PLATFORMS = {"videos": 0.08, "forum": 0.02, "letters": 0.01, "pages": 0.03, "hosted": 0.06}
"""Hosts with many feeds, and their share of all. `forum` and `letters` limit requests by address, with and without a
Retry-After; `pages` answers 404 on every feed for hours each day."""

IN_GROUPS = 0.25  # of all feeds: on hosts with 2 to 20 of them, the sections of a newspaper


def make_world(*, feeds: int, days: int, seed: int, climate: Climate = CLIMATES["mixed"]) -> World:
    """The same world for the same arguments."""
    hosts = [_host(plan, days, seed) for plan in _plan_hosts(feeds, _chance(seed, "hosts"))]
    made = [
        make_feed(number, host, days, climate, _chance(seed, f"feed {index}"))
        for number, host in enumerate(hosts)
        for index in host.feeds
    ]
    night = int(days * 0.4) * DAY + 22 * HOUR
    return World(seed, days, climate, hosts, made, (Trouble(night, night + 8 * HOUR, NO_NETWORK),))


@dataclass(frozen=True, slots=True)
class _Plan:
    """A host before its troubles are known."""

    name: str
    feeds: range


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
        return Host(plan.name, plan.feeds, in_order(of_a_host(days, chance)))
    troubles = [short(chance, days * DAY, HOUR / 2) for _ in range(2)]
    if platform == LOST_FOR_HOURS:
        troubles += [lost(day, chance) for day in range(days)]
    return Host(plan.name, plan.feeds, in_order(troubles), _limit(platform, len(plan.feeds)))


def _limit(platform: str, feeds: int) -> Limit | None:
    """Limits grow with the platform, so that a small world meets them as well as a large one."""
    match platform:
        case "forum":
            return Limit(at_once=0.15 * feeds, per_second=0.9 * feeds / HOUR, refusal=SLOW_DOWN_FOR)
        case "letters":
            return Limit(at_once=0.4 * feeds, per_second=0.8 * feeds / HOUR, refusal=SLOW_DOWN)
        case _:
            return None


def _chance(seed: int, what: str) -> Random:
    return Random(f"{seed} {what}")  # noqa: S311  a world, not a secret
