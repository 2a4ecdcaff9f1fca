"""Plots as numbers: where each part of a picture goes, for templates that draw it as SVG. Pure.

A plot is 100 units wide and 100 high and stretched to where it stands; so words are never part of the picture, and
nothing of it needs a script.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import log10

from headwater.sources.health.types import Bar, Period, PollEvent, Trouble, trouble_of
from headwater.web.format import trouble_label

WIDTH = HEIGHT = 100.0
GAP = 0.2  # of a column
STRIP_LEAST = 0.25  # of the height, so that the quickest poll can be seen and pointed at
SLOWEST_MS = 30_000
FLOORS = (0.99, 0.95, 0.9, 0.8, 0.5, 0.0)


@dataclass(frozen=True, slots=True)
class Part:
    """A rectangle, and what kind of thing it stands for."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    words: str = ""


@dataclass(frozen=True, slots=True)
class Columns:
    """Failures over time, one column a step, parted by the kind of trouble. `most`: what the full height stands for."""

    parts: Sequence[Part]
    most: int
    targets: Sequence[Part]  # the whole height of each column, to point at


@dataclass(frozen=True, slots=True)
class Curve:
    """A share over time, from a floor to 100 %: broken where nothing is known. A point alone is a short line."""

    lines: Sequence[str]
    areas: Sequence[str]
    floor: float


def whole_period(bars: Sequence[Bar], period: Period, now: datetime) -> list[Bar]:
    """A bar for every step of a period, the last one being under way; those that nothing is known of are empty."""
    known = {bar.at: bar for bar in bars}
    first, count = begin_of(period, now), period.length // period.step
    return [known.get(at, Bar(at, {})) for at in (first + n * period.step for n in range(count))]


def begin_of(period: Period, now: datetime) -> datetime:
    """When the first column of a period begins: so that the last one ends with the hour that is under way."""
    return now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1) - period.length


def failures_over_time(bars: Sequence[Bar], step: timedelta) -> Columns:
    """Stacked columns; the tallest fills the height."""
    most = max((bar.failures for bar in bars), default=0)
    width = WIDTH / max(len(bars), 1)
    parts: list[Part] = []
    targets: list[Part] = []
    for number, bar in enumerate(bars):
        x, y = number * width, HEIGHT
        targets.append(Part("target", _round(x), 0, _round(width), HEIGHT, _column_words(bar, step)))
        for trouble in Trouble:
            if count := bar.of(trouble):
                height = HEIGHT * count / most
                y -= height
                kind = trouble.name.lower()
                parts.append(
                    Part(kind, _round(x + width * GAP / 2), _round(y), _round(width * (1 - GAP)), _round(height))
                )
    return Columns(parts, most, targets)


def uptime_over_time(bars: Sequence[Bar]) -> Curve:
    """One line for each stretch of steps in which something was polled."""
    lowest = min((bar.uptime for bar in bars if bar.uptime is not None), default=1.0)
    floor = next((one for one in FLOORS if one < lowest), 0.0)
    width = WIDTH / max(len(bars), 1)
    stretches: list[list[tuple[float, float]]] = [[]]
    for number, bar in enumerate(bars):
        if bar.uptime is None:
            stretches.append([])
            continue
        y = HEIGHT * (1 - (bar.uptime - floor) / (1 - floor))
        if not stretches[-1]:
            stretches[-1].append((number * width, y))
        stretches[-1].append(((number + 1) * width, y))
    drawn = [points for points in stretches if points]
    lines = [" ".join(f"{_round(x):g},{_round(y):g}" for x, y in points) for points in drawn]
    areas = [
        f"{_round(points[0][0]):g},100 {line} {_round(points[-1][0]):g},100"
        for points, line in zip(drawn, lines, strict=True)
    ]
    return Curve(lines, areas, floor)


def strip_of(polls: Sequence[PollEvent], most: int) -> list[Part]:
    """The last polls of a source, the oldest first, flush right: the longer one took, the higher."""
    width = WIDTH / most
    parts: list[Part] = []
    for number, poll in enumerate(reversed(polls)):
        x = WIDTH - (len(polls) - number) * width
        height = HEIGHT * (STRIP_LEAST + (1 - STRIP_LEAST) * _slowness(poll.took_ms))
        trouble = trouble_of(poll.outcome)
        kind = trouble.name.lower() if trouble else poll.outcome
        parts.append(
            Part(kind, _round(x), _round(HEIGHT - height), _round(width * (1 - GAP)), _round(height), poll_words(poll))
        )
    return parts


def poll_words(poll: PollEvent) -> str:
    """One poll in words."""
    status = f", {poll.status}" if poll.status else ""
    new = f", {poll.new_articles} new" if poll.new_articles else ""
    return f"{poll.at:%a %d %b %H:%M}: {poll.outcome.replace('_', ' ')}{status}{new}, {poll.took_ms:,} ms"


def _column_words(bar: Bar, step: timedelta) -> str:
    end = bar.at + step
    when = f"{bar.at:%a %d %b %H:%M} to {end:%H:%M}" if step < timedelta(days=1) else f"{bar.at:%a %d %b %H:%M} + 24 h"
    troubles = [f"{trouble_label(trouble.name)} {count}" for trouble in Trouble if (count := bar.of(trouble))]
    share = f", {bar.uptime:.1%} succeeded" if bar.uptime is not None else ""
    return f"{when}: {bar.polls:,} polls{share}" + (f"; failed: {', '.join(troubles)}" if troubles else "")


def _slowness(took_ms: int) -> float:
    """0 for a millisecond, 1 for half a minute, in powers of ten between."""
    return min(log10(max(took_ms, 1)) / log10(SLOWEST_MS), 1.0)


def _round(number: float) -> float:
    return round(number, 2)
