"""What goes wrong: with any server, with one feed, and on a platform that loses its feeds for hours each day."""

from collections.abc import Iterable
from datetime import timedelta
from math import inf
from random import Random

from headwater.lab.simulation.world import DAY, HOUR, Trouble, Troubles
from headwater.polling.types import FailureClass, PollFailed

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


def in_order(troubles: Iterable[Trouble]) -> Troubles:
    """Sorted, and one at a time: what begins while another lasts is left out."""
    kept: list[Trouble] = []
    for trouble in sorted(troubles, key=lambda trouble: trouble.begins):
        if not kept or trouble.begins >= kept[-1].ends:
            kept.append(trouble)
    return tuple(kept)


def of_a_host(days: int, chance: Random) -> list[Trouble]:
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
        found += [short(chance, end, 2 * HOUR) for _ in range(chance.randint(1, 3))]
    if chance.random() < 0.03:
        found += [short(chance, end, HOUR / 6) for _ in range(6 * days)]
    return found


def short(chance: Random, end: float, mean: float) -> Trouble:
    """Some time it is down, or does not answer."""
    begins = chance.uniform(0, end)
    return Trouble(begins, begins + chance.expovariate(1 / mean), chance.choice((DOWN, DOWN, TIMEOUT)))


def of_a_feed(days: int, chance: Random) -> list[Trouble]:
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


def lost(day: int, chance: Random) -> Trouble:
    """Some hours of a day in which nothing is found."""
    begins = day * DAY + chance.uniform(0, 16) * HOUR
    return Trouble(begins, begins + chance.uniform(2, 6) * HOUR, NOT_FOUND)
