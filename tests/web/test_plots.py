"""Coordinates of plots."""

from datetime import UTC, date, datetime, timedelta

import pytest

from headwater.ai.report import MonthReport
from headwater.ai.types import Budget, UsageLine
from headwater.polling.types import FailureClass
from headwater.sources.health.types import Bar, FailureGroup, Period, PollEvent, failure_group
from headwater.web.plots import (
    costs_over_time,
    failures_over_time,
    poll_strip,
    start_of,
    uptime_over_time,
    whole_period,
)
from tests.clock import START

HOUR = timedelta(hours=1)


def bars(*outcomes: dict[str, int]) -> list[Bar]:
    return [Bar(START + n * HOUR, some) for n, some in enumerate(outcomes)]


def test_every_class_of_failure_has_a_group() -> None:
    assert {failure_group(kind) for kind in FailureClass} == set(FailureGroup)
    others = {kind for kind in FailureClass if failure_group(kind) is FailureGroup.OTHER}
    assert others == {FailureClass.SSRF_BLOCKED, FailureClass.UNEXPECTED}
    assert failure_group("polled") is failure_group("not_modified") is None
    assert failure_group("of tomorrow") is FailureGroup.OTHER


def test_the_cost_of_a_month_has_a_column_for_each_of_its_days_so_far() -> None:
    lines = [
        UsageLine(date(2026, 2, 1), "tagging", "m", 3, 0, 0, 0, 1_000_000),
        UsageLine(date(2026, 2, 3), "tagging", "m", 1, 0, 0, 0, 4_000_000),
    ]
    report = MonthReport(Budget(date(2026, 2, 1), 9, 5_000_000, 0), lines, datetime(2026, 2, 4, 1, tzinfo=UTC))

    plot = costs_over_time(report)

    assert (plot.most, plot.last) == (4_000_000, date(2026, 2, 28))
    assert [(part.y, part.height) for part in plot.parts] == [(75, 25), (0, 100)]
    assert [target.x for target in plot.targets] == [round(100 / 28 * number, 2) for number in range(4)]
    assert plot.targets[0].label == "Sun 01 Feb: $1.00, 3 requests"
    assert plot.targets[1].label == "Mon 02 Feb: $0.00, 0 requests"


@pytest.mark.parametrize("period", Period)
def test_a_period_has_a_column_for_each_step_up_to_the_current_hour(period: Period) -> None:
    now = START + timedelta(minutes=25)

    shown = whole_period([], period, now)

    assert len(shown) == {"24h": 24, "7d": 28, "30d": 30}[period]
    assert shown[0].at == start_of(period, now) == START + HOUR - period.length
    assert shown[-1].at + period.step == START + HOUR
    assert {bar.uptime for bar in shown} == {None}


def test_the_tallest_column_fills_the_height_and_parts_are_stacked() -> None:
    plot = failures_over_time(bars({"gone": 1, "dns": 3, "polled": 9}, {"polled": 5}, {"network": 2}), HOUR)

    assert plot.most == 4
    assert [(part.kind, part.y, part.height) for part in plot.parts] == [
        ("lost", 75, 25),
        ("unreached", 0, 75),
        ("unreached", 50, 50),
    ]
    assert plot.targets[0].label == (
        "Sun 01 Mar 12:00 to 13:00: 13 polls, 69.2% succeeded; failed: Not found or gone 1, Network error 3"
    )
    assert [part.label for part in plot.targets[1:2]] == ["Sun 01 Mar 13:00 to 14:00: 5 polls, 100.0% succeeded"]


def test_no_data_draws_nothing() -> None:
    assert failures_over_time(bars({}, {}), HOUR).parts == []
    assert uptime_over_time(bars({}, {})).lines == []
    assert poll_strip([], 100) == []


def test_a_line_has_gaps_without_polls() -> None:
    curve = uptime_over_time(bars({"polled": 10}, {}, {"polled": 9, "gone": 1}, {"polled": 10}))

    assert curve.floor == 0.8
    assert curve.lines == ["0,0 25,0", "50,50 75,50 100,0"]
    assert curve.areas[0] == "0,100 0,0 25,0 25,100"


@pytest.mark.parametrize(("share", "floor"), [(1000, 0.99), (996, 0.99), (960, 0.95), (500, 0.0), (0, 0.0)])
def test_the_scale_starts_below_the_lowest_value(share: int, floor: float) -> None:
    assert uptime_over_time(bars({"polled": share, "gone": 1000 - share})).floor == floor


def test_polls_are_aligned_right_and_their_height_is_the_duration() -> None:
    polls = [
        PollEvent(START, "polled", 200, 10, 30_000, 2),
        PollEvent(START - HOUR, "not_found", 404, 10, 1, 0),
    ]

    old, new = poll_strip(polls, 100)

    assert (old.kind, old.x, old.height, old.label) == ("lost", 98, 25, "Sun 01 Mar 11:00: not found, 404, 1 ms")
    assert (new.kind, new.x, new.height) == ("polled", 99, 100)
    assert new.label == "Sun 01 Mar 12:00: polled, 200, 2 new, 30,000 ms"
