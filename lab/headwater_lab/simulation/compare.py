"""Compares two strategies: requests, delays, and what must not happen in ours."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain, pairwise
from statistics import fmean

from headwater_lab.simulation.types import MISSED, UNSEEN, FeedReturn, Played
from headwater_lab.simulation.world import DAY, World

LEFT_OUT = DAY
"""Articles of the last day: the end must not cut off the longest delays."""
DELAYS_UP_TO = tuple(timedelta(minutes=minutes) for minutes in (5, 15, 30, 60, 120, 360, 1440))
SPEEDS = {"hourly": 24.0, "daily": 1.0, "weekly": 1 / 7, "less often": 0.0}


@dataclass(frozen=True, slots=True)
class Measured:
    """One strategy's month in numbers. Delays are of the articles that both strategies saw."""

    requests: int
    requests_per_feed_and_day: float
    requests_per_day: Sequence[int]
    unchanged_share: float
    failures: int
    too_soon: int
    cut_off: int
    median: timedelta
    p95: timedelta
    mean: timedelta
    delays: Sequence[int]  # how many up to each of DELAYS_UP_TO, and beyond
    missed: int
    unseen: int
    disablings: int
    host_pauses: int
    mistaken_pauses: int
    warnings: int
    errors: int


@dataclass(frozen=True, slots=True)
class Speed:
    """Feeds that publish at least this often, and the median delay of each strategy."""

    name: str
    feeds: int
    articles: int
    adaptive_requests: int
    hourly_requests: int
    adaptive_median: timedelta
    hourly_median: timedelta


@dataclass(frozen=True, slots=True)
class MonthComparison:
    adaptive: Measured
    hourly: Measured
    articles: int
    speeds: Sequence[Speed]
    returns: int
    late_returns: int
    longest_off: FeedReturn | None
    own_outages: int
    own_failures_counted: int
    disabled_in_own_outage: int
    disabled_with_their_platform: int


def compare(world: World, adaptive: Played, hourly: Played) -> MonthComparison:
    by_feed = list(_seen_by_both(world, adaptive, hourly))
    ours, theirs = (array("d", chain.from_iterable(pair[side] for pair in by_feed)) for side in (0, 1))
    log = adaptive.log
    return MonthComparison(
        adaptive=_measured(world, adaptive, ours), hourly=_measured(world, hourly, theirs), articles=len(ours),
        speeds=[_speed(name, world, adaptive, hourly, by_feed) for name in SPEEDS],
        returns=len(log.returns), late_returns=sum(one.is_late for one in log.returns),
        longest_off=max(log.returns, key=lambda one: one.stayed_off, default=None),
        own_outages=log.own_outages, own_failures_counted=log.own_failures_counted,
        disabled_in_own_outage=sum(world.is_offline(one.at) for one in log.disablings),
        disabled_with_their_platform=sum(world.is_lost_for_hours(one.feed) for one in log.disablings),
    )  # fmt: skip


_Delays = tuple[Sequence[float], Sequence[float]]


def _seen_by_both(world: World, adaptive: Played, hourly: Played) -> Iterator[_Delays]:
    """Of each feed, the delays of its articles, ours and theirs."""
    first = 0
    for feed in world.feeds:
        history = bisect_left(feed.published, 0.0)
        counted = bisect_left(feed.published, world.days * DAY - LEFT_OUT) - history
        pairs = zip(adaptive.delays[first : first + counted], hourly.delays[first : first + counted], strict=True)
        both = [pair for pair in pairs if min(pair) >= 0]
        yield array("d", [ours for ours, _ in both]), array("d", [theirs for _, theirs in both])
        first += len(feed.published) - history


def _measured(world: World, played: Played, delays: Sequence[float]) -> Measured:
    requests, in_order = sum(played.requests), sorted(delays)
    bounds = [0, *(bisect_right(in_order, most.total_seconds()) for most in DELAYS_UP_TO), len(in_order)]
    return Measured(
        requests=requests, requests_per_feed_and_day=requests / len(world.feeds) / world.days,
        requests_per_day=played.requests_per_day, unchanged_share=played.unchanged / requests,
        failures=played.failed, too_soon=played.too_soon, cut_off=played.cut_off,
        median=_quantile(in_order, 0.5), p95=_quantile(in_order, 0.95),
        mean=timedelta(seconds=fmean(in_order) if in_order else 0),
        delays=[after - before for before, after in pairwise(bounds)],
        missed=sum(delay == MISSED for delay in played.delays), unseen=sum(delay == UNSEEN for delay in played.delays),
        disablings=len(played.log.disablings), host_pauses=played.log.host_pauses,
        mistaken_pauses=played.log.mistaken_pauses, warnings=played.log.warnings, errors=played.log.errors,
    )  # fmt: skip


def _speed(name: str, world: World, adaptive: Played, hourly: Played, by_feed: Sequence[_Delays]) -> Speed:
    numbers = [number for number, feed in enumerate(world.feeds) if _speed_name(feed.published, world.days) == name]
    ours, theirs = (sorted(chain.from_iterable(by_feed[number][side] for number in numbers)) for side in (0, 1))
    return Speed(
        name=name, feeds=len(numbers), articles=len(ours),
        adaptive_requests=sum(adaptive.requests[number] for number in numbers),
        hourly_requests=sum(hourly.requests[number] for number in numbers),
        adaptive_median=_quantile(ours, 0.5), hourly_median=_quantile(theirs, 0.5),
    )  # fmt: skip


def _speed_name(published: Sequence[float], days: int) -> str:
    per_day = (len(published) - bisect_left(published, 0.0)) / days
    return next(name for name, least in SPEEDS.items() if per_day >= least)


def _quantile(in_order: Sequence[float], share: float) -> timedelta:
    return timedelta(seconds=in_order[int(share * len(in_order))] if in_order else 0)
