from datetime import datetime, timedelta

import pytest

from headwater.timekeeping.decide import clock_problem, was_ahead
from headwater.timekeeping.types import ClockState
from tests.clock import START

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)


def known(trusted: timedelta | None = timedelta(0), database: timedelta = timedelta(0)) -> ClockState:
    """What is known at START, in differences from it."""
    return ClockState(None if trusted is None else START + trusted, None, START + database)


@pytest.mark.parametrize("trusted", [None, timedelta(0), -3 * DAY, 3 * DAY])
def test_a_clock_near_the_last_run_is_trusted(trusted: timedelta | None) -> None:
    assert clock_problem(START, known(trusted)) is None


@pytest.mark.parametrize(
    ("trusted", "words"), [(-200 * DAY, "200 days ahead of the last run"), (4 * DAY, "4 days behind the last run")]
)
def test_a_clock_far_from_the_last_run_is_not_trusted(trusted: timedelta, words: str) -> None:
    assert words in (clock_problem(START, known(trusted)) or "")


@pytest.mark.parametrize(("apart", "is_trusted"), [(5 * MINUTE, True), (6 * MINUTE, False), (-6 * MINUTE, False)])
def test_a_clock_that_differs_from_the_databases_is_not_trusted(apart: timedelta, is_trusted: bool) -> None:
    problem = clock_problem(START, known(database=apart))

    assert (problem is None) is is_trusted
    assert is_trusted or problem == "This machine's clock and the database's differ by 6 minutes."


@pytest.mark.parametrize(
    ("latest", "expected"), [(None, False), (START, False), (START + 59 * MINUTE, False), (START + DAY, True)]
)
def test_a_latest_time_that_is_still_to_come_shows_a_clock_that_was_ahead(
    latest: datetime | None, expected: bool
) -> None:
    assert was_ahead(START, ClockState(START, latest, START)) is expected
