"""How long a host gets no requests after one, how fast it is asked from then on, and what its robots.txt allows. Pure.
The rules are in docs/fetching.md."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from headwater.hosts.types import Pace, Robots

MAX_DELAY = timedelta(minutes=5)  # however often a host answered 429
EASED_AFTER = 20  # successes that halve the delay of a slowed host again
LONGEST_WAIT = timedelta(days=1)
FIRST_GUESS = timedelta(minutes=5)
LONGEST_GUESS = timedelta(hours=8)
NO_TIME = timedelta(0)
ROBOTS_LAST = timedelta(hours=24)
ROBOTS_EASED_AFTER = timedelta(days=30)
ROBOTS_FIRST_RETRY = timedelta(minutes=5)


def delay_of(*asked: timedelta | None, slowed: int, max_delay: timedelta = MAX_DELAY) -> timedelta:
    """Between two requests to a host: the longest that is asked for, doubled for every 429."""
    base = max((one for one in asked if one is not None), default=NO_TIME)
    return max(base, min(base * 2**slowed, max_delay))


def pace_after(
    pace: Pace, successes: int, *, was_rate_limited: bool, eased_after: int = EASED_AFTER, most: int = 10
) -> Pace:
    """The pace after some requests, of which so many succeeded."""
    if was_rate_limited:
        return Pace(min(pace.slowed + 1, most), 0)
    if pace.slowed == 0:
        return Pace()
    successes += pace.successes
    return Pace(pace.slowed - 1, 0) if successes >= eased_after else Pace(pace.slowed, successes)


def wait_of(asked: timedelta | None, pace: Pace, *, was_rate_limited: bool) -> timedelta | None:
    """How long a host accepts no request at all: its Retry-After, or our guess after a 429."""
    if asked is not None:
        return min(asked, LONGEST_WAIT)
    return min(FIRST_GUESS * 2 ** min(pace.slowed, 10), LONGEST_GUESS) if was_rate_limited else None


def robots_read(
    origin: str, body: str | None, status: int | None, now: datetime, sitemaps: Sequence[str] = ()
) -> Robots:
    """A robots.txt that was answered: with rules, or, without a body, allowing all."""
    return Robots(origin, status, body, now, now + ROBOTS_LAST, sitemaps=sitemaps)


def robots_unreachable(
    origin: str, before: Robots | None, status: int | None, now: datetime, asked_wait: timedelta | None = None
) -> Robots:
    """A robots.txt that could not be read. Retried after as long as it has been failing, at least once a day."""
    since = before.unreachable_since if before and before.unreachable_since else now
    wait = min(max(now - since, ROBOTS_FIRST_RETRY, asked_wait or NO_TIME), ROBOTS_LAST)
    known = before or Robots(origin, None, None, now, now)
    return replace(known, status=status, fetched_at=now, expires_at=now + wait, unreachable_since=since)


def is_closed(robots: Robots, now: datetime) -> bool:
    """Whether no page may be fetched, because the rules are unknown."""
    return robots.unreachable_since is not None and now - robots.unreachable_since < ROBOTS_EASED_AFTER


def have_changed(before: Robots | None, robots: Robots) -> bool:
    """Whether URLs that were blocked may be allowed now."""
    return before is not None and before.body != robots.body
