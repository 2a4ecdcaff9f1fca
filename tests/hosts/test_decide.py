from dataclasses import replace
from datetime import timedelta

import pytest

from headwater.hosts.decide import (
    delay_of,
    have_changed,
    is_closed,
    pace_after,
    robots_read,
    robots_unreachable,
    wait_of,
)
from headwater.hosts.types import Pace, Robots
from tests.clock import START

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


@pytest.mark.parametrize(
    ("asked", "slowed", "delay"),
    [
        ((3 * SECOND, None), 0, 3 * SECOND),
        ((3 * SECOND, 10 * SECOND, 5 * SECOND), 0, 10 * SECOND),  # the longest of kind, robots.txt and source
        ((SECOND,), 3, 8 * SECOND),
        ((SECOND,), 20, 5 * MINUTE),  # however often it was slowed
        ((HOUR,), 2, HOUR),  # what is asked for is never shortened
        ((), 5, timedelta(0)),
    ],
)
def test_a_delay_is_the_longest_that_is_asked_for_doubled_for_every_429(
    asked: tuple[timedelta | None, ...], slowed: int, delay: timedelta
) -> None:
    assert delay_of(*asked, slowed=slowed) == delay


def test_the_pace_slows_at_once_and_eases_slowly() -> None:
    assert pace_after(Pace(0, 0), 5, was_rate_limited=True) == Pace(1, 0)
    assert pace_after(Pace(2, 15), 4, was_rate_limited=False) == Pace(2, 19)
    assert pace_after(Pace(2, 15), 5, was_rate_limited=False) == Pace(1, 0)
    assert pace_after(Pace(0, 0), 100, was_rate_limited=False) == Pace()
    assert [pace_after(Pace(slowed), 0, was_rate_limited=True).slowed for slowed in (8, 9, 10, 99)] == [9, 10, 10, 10]


def test_retry_after_is_respected_up_to_a_day() -> None:
    assert wait_of(HOUR, Pace(7), was_rate_limited=True) == HOUR
    assert wait_of(720 * HOUR, Pace(), was_rate_limited=False) == 24 * HOUR


def test_the_wait_after_a_429_without_retry_after_doubles_each_time() -> None:
    waits = [wait_of(None, Pace(slowed), was_rate_limited=True) for slowed in range(9)]

    assert [wait / (5 * MINUTE) for wait in waits if wait] == [1, 2, 4, 8, 16, 32, 64, 96, 96]
    assert wait_of(None, Pace(3), was_rate_limited=False) is None


# robots.txt


ORIGIN = "https://example.com"
READ = robots_read(ORIGIN, "User-agent: *", 200, START, ["https://example.com/sitemap.xml"])


def test_a_robots_txt_that_was_read_lasts_a_day() -> None:
    sitemaps = ["https://example.com/sitemap.xml"]

    assert Robots(ORIGIN, 200, "User-agent: *", START, START + 24 * HOUR, sitemaps=sitemaps) == READ


@pytest.mark.parametrize(
    ("failing_for", "asked", "wait"),
    [
        (None, None, 5 * MINUTE),
        (timedelta(0), None, 5 * MINUTE),
        (MINUTE, None, 5 * MINUTE),
        (2 * HOUR, None, 2 * HOUR),  # as long as it has been failing
        (2 * HOUR, 3 * HOUR, 3 * HOUR),  # unless the host asks for longer
        (2 * HOUR, HOUR, 2 * HOUR),
        (48 * HOUR, None, 24 * HOUR),
        (None, 48 * HOUR, 24 * HOUR),
    ],
)
def test_a_robots_txt_that_cannot_be_read_is_retried_less_and_less_often(
    failing_for: timedelta | None, asked: timedelta | None, wait: timedelta
) -> None:
    before = replace(READ, unreachable_since=START - failing_for if failing_for is not None else None)
    found = robots_unreachable(ORIGIN, before, 503, START, asked)

    assert (found.body, found.status, found.fetched_at) == (READ.body, 503, START)
    assert found.unreachable_since == (START - failing_for if failing_for is not None else START)
    assert found.expires_at == START + wait


def test_a_robots_txt_that_was_never_read_is_closed_for_thirty_days() -> None:
    unknown = robots_unreachable(ORIGIN, None, None, START)

    assert (unknown.body, unknown.unreachable_since, unknown.expires_at) == (None, START, START + 5 * MINUTE)
    assert is_closed(unknown, START)
    assert is_closed(unknown, START + timedelta(days=30) - SECOND)
    assert not is_closed(unknown, START + timedelta(days=30))
    assert not is_closed(READ, START)


def test_blocked_urls_are_checked_again_when_the_rules_change() -> None:
    assert have_changed(READ, replace(READ, body="User-agent: x"))
    assert not have_changed(READ, replace(READ, status=304))
    assert not have_changed(None, READ)
