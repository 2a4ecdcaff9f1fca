from datetime import timedelta

import pytest

from headwater.hosts.decide import LONGEST_WAIT, delay_of, pace_after, wait_of
from headwater.hosts.types import Pace

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
    assert pace_after(Pace(99), 0, was_rate_limited=True).slowed < 20


def test_a_host_that_says_how_long_is_taken_at_its_word_for_a_day_at_the_most() -> None:
    assert wait_of(HOUR, Pace(7), was_rate_limited=True) == HOUR
    assert wait_of(30 * LONGEST_WAIT, Pace(), was_rate_limited=False) == LONGEST_WAIT


def test_a_429_that_does_not_say_how_long_is_waited_out_twice_as_long_each_time() -> None:
    waits = [wait_of(None, Pace(slowed), was_rate_limited=True) for slowed in range(9)]

    assert [wait / (5 * MINUTE) for wait in waits if wait] == [1, 2, 4, 8, 16, 32, 64, 96, 96]
    assert wait_of(None, Pace(3), was_rate_limited=False) is None
