"""A small world, played once each way; the month of 10,000 feeds is `headwater simulate`."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from headwater.errors import Invalid
from headwater.polling.types import FailureClass
from headwater_lab.simulation.compare import MonthComparison, compare
from headwater_lab.simulation.making import make_world
from headwater_lab.simulation.play import play
from headwater_lab.simulation.strategies import Adaptive, Hourly
from headwater_lab.simulation.types import FeedReturn, Played, PollAnswer
from headwater_lab.simulation.world import DAY, HOUR, LOST_FOR_HOURS, RequestLimit, World, mix_named
from tests.polling.histories import OPTIONS

FEEDS, DAYS = 300, 10


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(feeds=FEEDS, days=DAYS, seed=3)


@pytest.fixture(scope="module")
def adaptive(world: World) -> Played:
    return play(world, Adaptive(world, OPTIONS), OPTIONS)


@pytest.fixture(scope="module")
def hourly(world: World) -> Played:
    return play(world, Hourly(world), OPTIONS)


@pytest.fixture(scope="module")
def compared(world: World, adaptive: Played, hourly: Played) -> MonthComparison:
    return compare(world, adaptive, hourly)


def test_it_makes_fewer_requests_than_hourly_polling(compared: MonthComparison) -> None:
    assert compared.adaptive.requests < 0.9 * compared.hourly.requests


def test_articles_come_no_later_than_by_hourly_polling(compared: MonthComparison) -> None:
    assert compared.adaptive.median <= compared.hourly.median
    assert compared.adaptive.p95 <= compared.hourly.p95


def test_no_feed_that_comes_back_stays_off_longer_than_its_cooldown(compared: MonthComparison) -> None:
    assert compared.returns > 0
    assert compared.late_returns == 0
    assert compared.longest_off is not None
    assert compared.longest_off.stayed_off <= timedelta(days=7)


def test_our_own_outage_disables_no_feed_and_is_counted_only_until_detected(compared: MonthComparison) -> None:
    assert compared.adaptive.cut_off > 1_000
    assert compared.own_failures_counted < 0.1 * FEEDS
    assert compared.disabled_in_own_outage == 0


def test_a_platform_that_answers_404_for_hours_each_day_is_paused_and_its_feeds_are_not_switched_off(
    world: World, compared: MonthComparison
) -> None:
    [platform] = [host for host in world.hosts if host.name == LOST_FOR_HOURS]
    lost = [fault for fault in platform.faults if fault.failed.kind is FailureClass.NOT_FOUND]

    assert len(lost) >= DAYS - 2
    assert compared.adaptive.host_pauses >= len(lost)
    assert compared.disabled_with_their_platform == 0


def test_no_request_comes_sooner_than_a_site_asks_for(compared: MonthComparison) -> None:
    assert compared.adaptive.too_soon == 0
    assert compared.hourly.too_soon > 0


def test_what_the_world_does_is_a_warning_and_only_our_own_outage_an_error(compared: MonthComparison) -> None:
    assert compared.adaptive.errors == compared.own_outages >= 1
    assert compared.adaptive.warnings < compared.hourly.warnings


def test_hourly_polling_asks_every_feed_once_an_hour(hourly: Played) -> None:
    asked = sorted((count + hourly.cut_off / FEEDS) / DAYS / 24 for count in hourly.requests)

    assert 0.97 < asked[0] <= asked[-1] < 1.03


def test_the_same_seed_gives_the_same_month_and_another_seed_another(hourly: Played) -> None:
    again, other = (make_world(feeds=FEEDS, days=DAYS, seed=seed) for seed in (3, 4))

    assert play(again, Hourly(again), OPTIONS) == hourly
    assert other.feeds != again.feeds


class EveryDecision(Adaptive):
    """Without the short cut."""

    def _changes_nothing(self, feed: int, answer: PollAnswer) -> bool:  # noqa: ARG002
        return False


def test_the_short_cut_for_answers_that_change_nothing_changes_nothing() -> None:
    world = make_world(feeds=150, days=9, seed=5)

    short, long = (play(world, kind(world, OPTIONS), OPTIONS) for kind in (Adaptive, EveryDecision))

    assert short == long


def test_every_policy_can_be_played() -> None:
    world = make_world(feeds=100, days=3, seed=1)

    off = {
        policy: len(play(world, Adaptive(world, options), options).log.disablings)
        for policy in ("default", "cooldown", "backoff", "once", "five")
        if (options := replace(OPTIONS, policy=policy))
    }

    assert off["default"] <= off["cooldown"] <= off["once"]


def test_a_return_is_late_when_it_comes_well_after_the_cooldown() -> None:
    day = timedelta(days=1)

    assert not FeedReturn(0, stayed_off=day, cooldown=day).is_late
    assert FeedReturn(0, stayed_off=day + timedelta(hours=1), cooldown=day).is_late


@pytest.mark.parametrize(
    ("describes", "found"),
    [
        (
            "a few feeds publish every few minutes",
            lambda rates: 0 < sum(rate > 100 for rate in rates) < 0.02 * len(rates),
        ),
        (
            "most publish from a few times a day to weekly",
            lambda rates: sum(0.1 < rate < 6 for rate in rates) > 0.5 * len(rates),
        ),
        ("some are dead", lambda rates: 0.15 < sum(rate == 0 for rate in rates) / len(rates) < 0.35),
    ],
)
def test_the_world_is_like_the_real_one(describes: str, found: Callable[[list[float]], bool]) -> None:
    world = make_world(feeds=2_000, days=30, seed=1)

    assert found([sum(at >= 0 for at in feed.published) / world.days for feed in world.feeds]), describes


def test_a_feed_publishes_in_order_and_within_the_month(world: World) -> None:
    for feed in world.feeds:
        assert list(feed.published) == sorted(feed.published)
        assert all(at < DAYS * DAY + HOUR for at in feed.published)


def test_there_are_hosts_that_limit_requests_with_and_without_a_retry_after(world: World) -> None:
    limits = [host.limit for host in world.hosts if isinstance(host.limit, RequestLimit)]

    assert {limit.refusal.retry_after is None for limit in limits} == {True, False}


def test_only_worlds_that_exist_can_be_named() -> None:
    with pytest.raises(Invalid, match="mixed, news, blogs"):
        mix_named("desert")
