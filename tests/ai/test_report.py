"""The usage of a month, its forecast, and what an operator may enter."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.ai.report import MonthReport, days_of, month_after, read_dollars, read_month, total_of
from headwater.ai.types import Budget, UsageLine, UsageTotal
from headwater.errors import Invalid
from headwater.web.format import dollars, plain_dollars

FEBRUARY = date(2026, 2, 1)


def a_report(spent: int, now: datetime, *, ceiling: int = 1000) -> MonthReport:
    return MonthReport(Budget(FEBRUARY, ceiling, spent, 0), [], now)


@pytest.mark.parametrize(
    ("now", "forecast", "reached_on"),
    [
        (datetime(2026, 2, 1, 0, 1, tzinfo=UTC), 14_500, date(2026, 2, 2)),  # the first day counts as a whole one
        (datetime(2026, 2, 8, tzinfo=UTC), 2_000, date(2026, 2, 15)),
        (datetime(2026, 2, 15, tzinfo=UTC), 1_000, None),
        (datetime(2026, 2, 22, tzinfo=UTC), 667, None),
        (datetime(2026, 3, 1, tzinfo=UTC), 500, None),
        (datetime(2026, 3, 9, tzinfo=UTC), 500, None),
    ],
)
def test_the_other_days_of_a_month_are_expected_to_cost_as_much(
    now: datetime, forecast: int, reached_on: date | None
) -> None:
    report = a_report(500, now)

    assert report.forecast_micros == pytest.approx(forecast, rel=0.001)
    assert report.reached_on == reached_on


def test_without_cost_nothing_is_expected() -> None:
    report = a_report(0, datetime(2026, 2, 9, tzinfo=UTC))

    assert (report.forecast_micros, report.reached_on, report.groups) == (0, None, [])


def test_a_ceiling_that_is_reached_has_no_day_to_come() -> None:
    assert a_report(2000, datetime(2026, 2, 9, tzinfo=UTC)).reached_on is None


def test_lines_are_added_up() -> None:
    lines = [
        UsageLine(FEBRUARY, "tagging", "m", 1, 2, 3, 4, 5),
        UsageLine(FEBRUARY, "summary", "m", 10, 20, 30, 40, 50),
    ]

    assert total_of(lines) == UsageTotal(11, 22, 33, 44, 55)
    assert total_of([]) == UsageTotal()
    assert [one.total.requests for one in days_of(lines, date(2026, 1, 31), date(2026, 2, 2))] == [0, 11, 0]


@given(st.dates(max_value=date(9999, 11, 30)))
def test_the_month_after_begins_on_the_first(day: date) -> None:
    after = month_after(day.replace(day=1))

    assert after.day == 1
    assert 28 <= (after - day.replace(day=1)).days <= 31


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("0", 0),
        ("250", 250_000_000),
        ("12.50", 12_500_000),
        ("$1,000", 10**9),
        ("1,250.5", 1_250_500_000),
        (" 0.000001 ", 1),
        ("1000000", 10**12),
    ],
)
def test_amounts_are_read_as_people_write_them(text: str, micros: int) -> None:
    assert read_dollars(text) == micros


@pytest.mark.parametrize(
    "text",
    ["", "-1", "+1", "1e3", "NaN", "1.5.5", "1000001", "0.0000001", "٣", ".", "1 000", "12,50", "1,00,000", ",5"],
)
def test_other_amounts_are_refused(text: str) -> None:
    with pytest.raises(Invalid):
        read_dollars(text)


@given(st.integers(0, 10**12))
def test_the_amount_in_the_form_is_the_amount_it_was_made_of(micros: int) -> None:
    assert read_dollars(plain_dollars(micros)) == micros


@pytest.mark.parametrize(
    ("micros", "text"),
    [(0, "$0.00"), (1, "$0.000001"), (4_200, "$0.0042"), (99_999, "$0.099999"), (100_000, "$0.10"),
     (1_234_567_890, "$1,234.57")],
)  # fmt: skip
def test_small_amounts_have_more_digits(micros: int, text: str) -> None:
    assert dollars(micros) == text


NOW = datetime(2026, 11, 30, 23, tzinfo=UTC)


@pytest.mark.parametrize("text", ["2026-11", "2026-12", "2027-11"])
def test_the_ceiling_of_this_month_and_the_next_twelve_may_be_changed(text: str) -> None:
    assert f"{read_month(text, NOW):%Y-%m}" == text


@pytest.mark.parametrize("text", ["2026-10", "2027-12", "2026-13", "2026", "", "2026-11-01", "-2026-11", "0000-01"])
def test_other_months_are_refused(text: str) -> None:
    with pytest.raises(Invalid):
        read_month(text, NOW)
