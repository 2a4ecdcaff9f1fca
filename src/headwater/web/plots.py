"""Coordinates of plots, which templates draw as SVG. Pure.

A plot is 100 by 100 units and stretched to its container; labels are HTML beside it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from headwater.ai.report import MonthReport, month_after
from headwater.channels.types import HourCount
from headwater.sources.health.types import Bar, FailureGroup, Period, PollEvent, failure_group
from headwater.web.format import count, dollars

WIDTH = HEIGHT = 100.0
GAP = 0.2  # of a column
STRIP_LEAST = 0.25  # of the height, so that the fastest poll is visible
SLOWEST_MS = 30_000
FLOORS = (0.99, 0.95, 0.9, 0.8, 0.5, 0.0)


@dataclass(frozen=True, slots=True)
class PlotPart:
    """A rectangle with its CSS class and tooltip."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    label: str = ""


@dataclass(frozen=True, slots=True)
class Columns:
    """Numbers over time, stacked by kind. `most` is the value at full height."""

    parts: Sequence[PlotPart]
    most: int
    targets: Sequence[PlotPart]  # the full height of each column, for tooltips


@dataclass(frozen=True, slots=True)
class CostPlot:
    """The cost of each day of a month up to its last day. `most` is the value at full height."""

    parts: Sequence[PlotPart]
    most: int
    targets: Sequence[PlotPart]
    last: date


@dataclass(frozen=True, slots=True)
class Curve:
    """A share over time, from a floor to 100 %, with gaps where there is no data."""

    lines: Sequence[str]
    areas: Sequence[str]
    floor: float


def whole_period(bars: Sequence[Bar], period: Period, now: datetime) -> list[Bar]:
    """A bar for every step of a period, up to the current one; without data it is empty."""
    known = {bar.at: bar for bar in bars}
    first, count = start_of(period, now), period.length // period.step
    return [known.get(at, Bar(at, {})) for at in (first + n * period.step for n in range(count))]


def start_of(period: Period, now: datetime) -> datetime:
    """The start of a period whose last step ends with the current hour."""
    return now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1) - period.length


def failures_over_time(bars: Sequence[Bar], step: timedelta) -> Columns:
    """Stacked columns; the tallest fills the height."""
    most = max((bar.failures for bar in bars), default=0)
    width = WIDTH / max(len(bars), 1)
    parts: list[PlotPart] = []
    targets: list[PlotPart] = []
    for number, bar in enumerate(bars):
        x, y = number * width, HEIGHT
        targets.append(_part("target", x, 0, width, HEIGHT, _column_label(bar, step)))
        for group in FailureGroup:
            if count := bar.of(group):
                height = HEIGHT * count / most
                y -= height
                parts.append(_part(group.name.lower(), x + width * GAP / 2, y, width * (1 - GAP), height))
    return Columns(parts, most, targets)


def costs_over_time(report: MonthReport) -> CostPlot:
    """A column for each day of the month; the dearest fills the height."""
    first, days = report.budget.month, report.days
    last = month_after(first) - timedelta(days=1)
    most = max((one.total.cost_micros for one in days), default=0)
    width = WIDTH / last.day
    parts: list[PlotPart] = []
    targets: list[PlotPart] = []
    for number, one in enumerate(days):
        x, total = number * width, one.total
        label = f"{one.day:%a %d %b}: {dollars(total.cost_micros)}, {count(total.requests, 'request')}"
        targets.append(_part("target", x, 0, width, HEIGHT, label))
        if total.cost_micros:
            height = HEIGHT * total.cost_micros / most
            parts.append(_part("cost", x + width * GAP / 2, HEIGHT - height, width * (1 - GAP), height))
    return CostPlot(parts, most, targets, last)


def deliveries_over_time(hours: Sequence[HourCount], since: datetime, now: datetime) -> Columns:
    """A column for each hour; the highest fills the height."""
    known = {one.at: one.delivered for one in hours}
    first = since.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    times = [first + timedelta(hours=number) for number in range(math.ceil((now - first) / timedelta(hours=1)))]
    most = max((known.get(at, 0) for at in times), default=0)
    width = WIDTH / max(len(times), 1)
    parts: list[PlotPart] = []
    targets: list[PlotPart] = []
    for number, at in enumerate(times):
        x, delivered = number * width, known.get(at, 0)
        targets.append(_part("target", x, 0, width, HEIGHT, f"{at:%a %d %b %H:%M}: {delivered:,} delivered"))
        if delivered:
            height = HEIGHT * delivered / most
            parts.append(_part("delivered", x + width * GAP / 2, HEIGHT - height, width * (1 - GAP), height))
    return Columns(parts, most, targets)


def uptime_over_time(bars: Sequence[Bar]) -> Curve:
    """One line for each run of steps with polls."""
    lowest = min((bar.uptime for bar in bars if bar.uptime is not None), default=1.0)
    floor = next((one for one in FLOORS if one < lowest), 0.0)
    width = WIDTH / max(len(bars), 1)
    runs: list[list[tuple[float, float]]] = [[]]
    for number, bar in enumerate(bars):
        if bar.uptime is None:
            runs.append([])
            continue
        y = HEIGHT * (1 - (bar.uptime - floor) / (1 - floor))
        if not runs[-1]:
            runs[-1].append((number * width, y))
        runs[-1].append(((number + 1) * width, y))
    drawn = [points for points in runs if points]
    lines = [" ".join(f"{round(x, 2):g},{round(y, 2):g}" for x, y in points) for points in drawn]
    areas = [
        f"{round(points[0][0], 2):g},100 {line} {round(points[-1][0], 2):g},100"
        for points, line in zip(drawn, lines, strict=True)
    ]
    return Curve(lines, areas, floor)


def poll_strip(polls: Sequence[PollEvent], most: int) -> list[PlotPart]:
    """The last polls of a source, oldest first, aligned right; the height is the duration."""
    width = WIDTH / most
    parts: list[PlotPart] = []
    for number, poll in enumerate(reversed(polls)):
        x = WIDTH - (len(polls) - number) * width
        height = HEIGHT * (STRIP_LEAST + (1 - STRIP_LEAST) * _slowness(poll.took_ms))
        group = failure_group(poll.outcome)
        kind = group.name.lower() if group else poll.outcome
        parts.append(_part(kind, x, HEIGHT - height, width * (1 - GAP), height, poll_label(poll)))
    return parts


def poll_label(poll: PollEvent) -> str:
    status = f", {poll.status}" if poll.status else ""
    new = f", {poll.new_articles} new" if poll.new_articles else ""
    return f"{poll.at:%a %d %b %H:%M}: {poll.outcome.replace('_', ' ')}{status}{new}, {poll.took_ms:,} ms"


def _column_label(bar: Bar, step: timedelta) -> str:
    end = bar.at + step
    when = f"{bar.at:%a %d %b %H:%M} to {end:%H:%M}" if step < timedelta(days=1) else f"{bar.at:%a %d %b %H:%M} + 24 h"
    failures = [f"{group} {count}" for group in FailureGroup if (count := bar.of(group))]
    share = f", {bar.uptime:.1%} succeeded" if bar.uptime is not None else ""
    return f"{when}: {bar.polls:,} polls{share}" + (f"; failed: {', '.join(failures)}" if failures else "")


def _slowness(took_ms: int) -> float:
    """The duration on a logarithmic scale: 0 for 1 ms, 1 for 30 s."""
    return min(math.log10(max(took_ms, 1)) / math.log10(SLOWEST_MS), 1.0)


def _part(kind: str, x: float, y: float, width: float, height: float, label: str = "") -> PlotPart:
    return PlotPart(kind, round(x, 2), round(y, 2), round(width, 2), round(height, 2), label)
