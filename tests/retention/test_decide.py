from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.ids import ids_at
from headwater.retention.decide import (
    FOREVER,
    after,
    ends_before,
    expired_months,
    is_published_before,
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


@given(now=MOMENTS, count=st.integers(1, 40), kept=st.timedeltas(timedelta(days=-2000), timedelta(days=2000)))
def test_the_current_month_and_those_after_it_never_expire_not_even_by_an_invalid_setting(
    now: datetime, count: int, kept: timedelta
) -> None:
    assert expired_months(months_since(month_of(now), count), now, kept) == []


@pytest.mark.parametrize(
    ("now", "going"),
    [
        (datetime(2026, 3, 30, 23, 59, tzinfo=UTC), []),
        (datetime(2026, 3, 31, tzinfo=UTC), [date(2026, 2, 1)]),
        (datetime(2026, 4, 30, tzinfo=UTC), [date(2026, 2, 1)]),
        (datetime(2026, 5, 1, tzinfo=UTC), [date(2026, 2, 1), date(2026, 3, 1)]),
    ],
    ids=str,
)
def test_a_month_expires_so_long_after_its_end(now: datetime, going: list[date]) -> None:
    months = [date(2026, 4, 1), date(2026, 3, 1), date(2026, 2, 1)]

    assert expired_months(months, now, timedelta(days=30)) == going


@pytest.mark.parametrize(
    ("newest", "expires_at"),
    [
        (None, datetime(2026, 3, 31, tzinfo=UTC)),
        (datetime(2026, 3, 20, tzinfo=UTC), datetime(2026, 4, 19, tzinfo=UTC)),
        (datetime(2026, 4, 15, tzinfo=UTC), datetime(2026, 5, 15, tzinfo=UTC)),
        (datetime(2026, 5, 2, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)),
        (datetime(2999, 1, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)),
    ],
    ids=str,
)
def test_a_later_date_of_publication_keeps_a_month_unless_it_is_far_in_the_future(
    newest: datetime | None, expires_at: datetime
) -> None:
    month, kept, moment = date(2026, 3, 1), timedelta(days=30), timedelta(microseconds=1)

    assert is_published_before(month, newest, expires_at, kept)
    assert not is_published_before(month, newest, expires_at - moment, kept)


def test_months_that_are_kept_forever_never_expire() -> None:
    assert expired_months([date(2000, 1, 1)], datetime(2026, 1, 1, tzinfo=UTC), FOREVER) == []


@given(at=MOMENTS)
def test_an_id_belongs_to_the_month_in_which_it_was_made(at: datetime) -> None:
    month = month_of(at)
    before = month_of(starts_at(month) - timedelta(days=1))

    (made,) = ids_at(at, 1)

    assert ends_before(before) <= made < ends_before(month)


@pytest.mark.parametrize(
    ("now", "needed"),
    [
        (datetime(2026, 1, 31, 23, 59, tzinfo=UTC), date(2026, 2, 1)),
        (datetime(2026, 2, 1, tzinfo=UTC), date(2026, 3, 1)),
        (datetime(2024, 2, 29, tzinfo=UTC), date(2024, 3, 1)),
        (datetime(2026, 12, 1, tzinfo=UTC), date(2027, 1, 1)),
        (datetime(2026, 1, 31, 23, tzinfo=timezone(timedelta(hours=-5))), date(2026, 3, 1)),
    ],
    ids=str,
)
def test_the_month_after_the_current_one_by_utc_is_needed(now: datetime, needed: date) -> None:
    assert last_month_needed(now) == needed
    assert month_of(now).day == 1


@pytest.mark.parametrize(
    ("every", "is_done", "wait"),
    [
        (timedelta(days=1), True, timedelta(days=1)),
        (timedelta(days=1), False, timedelta(minutes=10)),
        (timedelta(minutes=1), False, timedelta(minutes=1)),
    ],
    ids=["done", "not done", "not done, and often"],
)
def test_an_incomplete_run_continues_soon(every: timedelta, is_done: bool, wait: timedelta) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)

    assert next_run_at(now, every, timedelta(minutes=10), is_done=is_done) == now + wait
