from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.ids import ids_at
from headwater.retention.decide import (
    FOREVER,
    after,
    ends_before,
    expired_months,
    last_month_needed,
    month_of,
    next_run_at,
    starts_at,
)

MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  given by hypothesis
KEPT = st.integers(1, 2000).map(lambda days: timedelta(days=days))


def months_since(first: date, count: int) -> list[date]:
    months = [first]
    while len(months) < count:
        months.append(after(months[-1]))
    return months


@given(first=MOMENTS, count=st.integers(1, 40), now=MOMENTS, kept=KEPT)
def test_a_month_goes_when_its_last_moment_is_past_its_time_and_not_before(
    first: datetime, count: int, now: datetime, kept: timedelta
) -> None:
    months = months_since(month_of(first), count)

    going = expired_months(months, now, kept)

    assert going == months[: len(going)], "the oldest first, and none left out between"
    assert all(now - (starts_at(after(month)) - timedelta(microseconds=1)) > kept for month in going)
    assert all(starts_at(after(month)) > now - kept for month in months[len(going) :])


@given(now=MOMENTS, count=st.integers(1, 40))
def test_the_month_that_is_being_filled_never_goes(now: datetime, count: int) -> None:
    assert month_of(now) not in expired_months(months_since(month_of(now), count), now, timedelta(microseconds=1))


def test_what_is_kept_for_ever_never_goes() -> None:
    assert expired_months([date(2000, 1, 1)], datetime(2026, 1, 1, tzinfo=UTC), FOREVER) == []


@given(at=MOMENTS)
def test_an_id_belongs_to_the_month_in_which_it_was_made(at: datetime) -> None:
    month = month_of(at)
    before = month_of(starts_at(month) - timedelta(days=1))

    (made,) = ids_at(at, 1)

    assert ends_before(before) <= made < ends_before(month)


@given(now=MOMENTS)
def test_the_next_month_is_always_needed(now: datetime) -> None:
    needed = last_month_needed(now)

    assert month_of(now + timedelta(days=27)) <= needed
    assert needed == after(month_of(now))


@pytest.mark.parametrize(
    ("is_done", "wait"), [(True, timedelta(days=1)), (False, timedelta(minutes=10))], ids=["done", "not done"]
)
def test_what_is_left_over_is_gone_on_with_soon(is_done: bool, wait: timedelta) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)

    assert next_run_at(now, timedelta(days=1), timedelta(minutes=10), is_done=is_done) == now + wait
