"""The comparison of two strategies as rows of tables, charts of characters, and sentences."""

from collections.abc import Callable, Iterator
from datetime import timedelta

from headwater_lab.simulation.compare import DELAYS_UP_TO, Measured, MonthComparison

BAR = 28  # characters
ROWS = 4
EIGHTHS = " ▁▂▃▄▅▆▇█"
PARTS = " ▏▎▍▌▋▊▉█"

_MEASURES: dict[str, Callable[[Measured], str]] = {
    "requests": lambda one: f"{one.requests:,}",
    "  per feed and day": lambda one: f"{one.requests_per_feed_and_day:.1f}",
    "  answered 304": lambda one: f"{one.unchanged_share:.0%}",
    "  failed": lambda one: f"{one.failures:,}",
    "  sooner than the site asked for": lambda one: f"{one.too_soon:,}",
    "polls while our own network was down": lambda one: f"{one.cut_off:,}",
    "delay, median": lambda one: _duration(one.median),
    "delay, 95 of 100": lambda one: _duration(one.p95),
    "delay, mean": lambda one: _duration(one.mean),
    "articles missed": lambda one: f"{one.missed:,}",
    "articles not seen by the end": lambda one: f"{one.unseen:,}",
    "feeds disabled": lambda one: f"{one.disablings:,}",
    "hosts paused": lambda one: f"{one.host_pauses:,}",
    "warnings in the log": lambda one: f"{one.warnings:,}",
    "errors in the log": lambda one: f"{one.errors:,}",
}


def measures(compared: MonthComparison) -> Iterator[tuple[str, str, str]]:
    for name, shown in _MEASURES.items():
        yield name, shown(compared.adaptive), shown(compared.hourly)


def by_speed(compared: MonthComparison) -> Iterator[tuple[str, ...]]:
    for speed in compared.speeds:
        counts = (speed.feeds, speed.articles, speed.adaptive_requests, speed.hourly_requests)
        medians = _duration(speed.adaptive_median), _duration(speed.hourly_median)
        yield speed.name, *(f"{count:,}" for count in counts), *medians


def delays(compared: MonthComparison) -> Iterator[tuple[str, str, str]]:
    names = [*(_duration(most) for most in DELAYS_UP_TO), "more"]
    most = max(*compared.adaptive.delays, *compared.hourly.delays, 1)
    total = max(compared.articles, 1)
    for name, *counts in zip(names, compared.adaptive.delays, compared.hourly.delays, strict=True):
        ours, theirs = (f"{_bar(count / most)} {count / total:6.1%}" for count in counts)
        yield name, ours, theirs


def _bar(share: float) -> str:
    full, part = divmod(round(share * BAR * 8), 8)
    return ("█" * full + PARTS[part].strip()).ljust(BAR)


def requests_per_day(compared: MonthComparison) -> Iterator[str]:
    """Two charts of one column a day, on one scale."""
    most = max(*compared.adaptive.requests_per_day, *compared.hourly.requests_per_day)
    for name, measured in (("Headwater", compared.adaptive), ("hourly", compared.hourly)):
        heights = [round(count / most * ROWS * 8) for count in measured.requests_per_day]
        for row in reversed(range(ROWS)):
            label = f"{most:>11,}" if row == ROWS - 1 else f"{name:>11}" if row == 0 else " " * 11
            yield f"{label} ┤" + "".join(EIGHTHS[min(max(height - row * 8, 0), 8)] * 2 for height in heights)
        yield ""


def findings(compared: MonthComparison) -> Iterator[str]:
    ours, theirs = compared.adaptive, compared.hourly
    saved = 1 - ours.requests / theirs.requests
    yield (
        f"{abs(saved):.0%} {'fewer' if saved >= 0 else 'more'} requests; half of the articles within "
        f"{_duration(ours.median)} instead of {_duration(theirs.median)}, 95 of 100 within {_duration(ours.p95)} "
        f"instead of {_duration(theirs.p95)}."
    )
    if longest := compared.longest_off:
        who = f"{compared.late_returns:,} feeds" if compared.late_returns else "No feed"
        yield (
            f"{who} of the {compared.returns:,} that worked again stayed disabled longer than the cooldown: "
            f"longest {_duration(longest.stayed_off)}, of a cooldown of {_duration(longest.cooldown)}."
        )
    else:
        yield "No disabled feed worked again."
    yield (
        f"Our own network was down for a night: of {ours.cut_off:,} polls that failed then, "
        f"{compared.own_failures_counted:,} were counted, before it was noticed, and "
        f"{compared.disabled_in_own_outage or 'no'} feeds were disabled."
    )
    yield (
        "A platform answered 404 on every feed for hours each day: "
        f"{compared.disabled_with_their_platform or 'none'} of its feeds was disabled for it."
    )
    yield (
        f"{ours.too_soon or 'No'} requests came sooner than a site asked for; "
        f"of hourly polling {theirs.too_soon:,} did."
    )
    yield (
        f"{ours.missed:,} articles had left their feed's list before it was read; "
        f"hourly polling missed {theirs.missed:,}."
    )


def _duration(time: timedelta) -> str:
    minutes = time / timedelta(minutes=1)
    if minutes < 100:
        return f"{minutes:.1f} min" if minutes % 1 else f"{minutes:.0f} min"
    hours = minutes / 60
    return f"{hours:.3g} h" if hours < 48 else f"{hours / 24:.3g} days"
