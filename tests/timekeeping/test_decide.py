from datetime import datetime, timedelta

import pytest

from headwater.timekeeping.decide import ClockState, clock_problem, was_ahead
from tests.clock import START

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)


def known(trusted: timedelta | None = timedelta(0), database: timedelta = timedelta(0)) -> ClockState:
    """What is known at START, in differences from it."""
    return ClockState(None if trusted is None else START + trusted, None, START + database)


@pytest.mark.parametrize("trusted", [None, timedelta(0), -3 * DAY, 3 * DAY])
def test_a_clock_near_the_last_run_is_trusted(trusted: timedelta | None) -> None:
    assert clock_problem(START, known(trusted)) is None


@pytest.mark.parametrize(
    ("trusted", "words"),
    [
        (-200 * DAY, "200 days ahead of the last run"),
        (4 * DAY, "4 days behind the last run"),
        (3 * DAY + timedelta(seconds=1), "3 days behind the last run"),
    ],
)
def test_a_clock_far_from_the_last_run_is_not_trusted(trusted: timedelta, words: str) -> None:
    assert words in (clock_problem(START, known(trusted)) or "")


@pytest.mark.parametrize(
    ("apart", "words"),
    [
        (5 * MINUTE, None),
        (-5 * MINUTE, None),
        (6 * MINUTE, "6 minutes"),
        (-6 * MINUTE, "6 minutes"),
        (DAY - MINUTE, "1439 minutes"),
        (DAY, "1 day"),
        (47 * timedelta(hours=1), "1 day"),
        (2 * DAY, "2 days"),
    ],
    ids=str,
)
def test_a_clock_that_differs_from_the_databases_is_not_trusted(apart: timedelta, words: str | None) -> None:
    expected = words and f"This machine's clock and the database's differ by {words}."

    assert clock_problem(START, known(database=apart)) == expected


@pytest.mark.parametrize(
    ("latest", "expected"), [(None, False), (START, False), (START + 60 * MINUTE, False), (START + 61 * MINUTE, True)]
)
def test_a_latest_time_that_is_still_to_come_shows_a_clock_that_was_ahead(
    latest: datetime | None, expected: bool
) -> None:
    assert was_ahead(START, ClockState(START, latest, START)) is expected
