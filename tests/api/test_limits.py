"""Rate limits of the API."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from httpx import AsyncClient
from pydantic import SecretStr

from headwater.api.limits import RateLimits, RequestCounter
from headwater.db import Database
from headwater.runtime import rate_limits
from tests.api.conftest import BEARER, FRONTIER, TOKEN
from tests.app import create_app
from tests.browser import visit
from tests.clock import START, MovableClock
from tests.test_runtime import settings

LIMITS = RateLimits(per_token=3, per_address=5)
PATHS = (f"{FRONTIER}/stats", "/api/v1/sources", "/admin/api/feeds/sources", "/admin/api/feeds/moderation")


@pytest.fixture
async def away() -> AsyncIterator[Database]:
    """An unavailable database: requests refused before any query are not affected."""
    async with Database("host=127.0.0.1 port=1 dbname=x user=x", pool_size=2, wait=timedelta(milliseconds=50)) as away:
        yield away


@pytest.fixture
async def api(away: Database, clock: MovableClock) -> AsyncIterator[AsyncClient]:
    async with visit(create_app(away, clock, SecretStr(TOKEN), limits=LIMITS)) as client:
        yield client


async def test_every_response_has_the_limits_and_further_requests_are_429(
    api: AsyncClient, clock: MovableClock
) -> None:
    clock.move(seconds=15)

    answers = [await api.get(path, headers=BEARER) for path in PATHS]

    assert [answer.status_code for answer in answers] == [503, 503, 503, 429]
    assert {answer.headers["ratelimit-limit"] for answer in answers} == {"3"}
    assert [answer.headers["ratelimit-remaining"] for answer in answers] == ["2", "1", "0", "0"]
    assert {answer.headers["ratelimit-reset"] for answer in answers} == {"45"}
    refusal = answers[-1]
    assert refusal.headers["retry-after"] == "45"
    assert refusal.headers["content-type"] == "application/problem+json"
    assert refusal.json()["type"] == "/api/docs#too-many"
    assert "3 requests" in refusal.json()["detail"]


async def test_a_new_minute_resets_the_count(api: AsyncClient, clock: MovableClock) -> None:
    *_, last = [await api.get(PATHS[0], headers=BEARER) for _ in range(4)]
    clock.move(seconds=60)

    again = await api.get(PATHS[0], headers=BEARER)

    assert (last.status_code, again.status_code) == (429, 503)
    assert again.headers["ratelimit-remaining"] == "2"


async def test_guessed_tokens_count_against_the_address_before_any_query(api: AsyncClient) -> None:
    guesses = [{"Authorization": f"Bearer {number:020}"} for number in range(5)]

    refused = [(await api.get(PATHS[0], headers=guess)).status_code for guess in guesses]
    next_guess = await api.get(PATHS[0], headers={"Authorization": "Bearer hw_" + "x" * 43})
    no_token = await api.get(PATHS[0])
    right_one = await api.get(PATHS[0], headers=BEARER)

    assert refused == [401] * 5
    assert {one.status_code for one in (next_guess, no_token, right_one)} == {429}


def test_a_clock_that_was_ahead_does_not_make_the_minute_last(clock: MovableClock) -> None:
    counting = RequestCounter(LIMITS, clock)
    clock.move(days=200)
    counting.count(address="192.0.2.1", token="")
    clock.move(days=-200)
    for _ in range(5):
        counting.count(address="192.0.2.1", token="")
    clock.move(minutes=1)

    left = counting.count(address="192.0.2.1", token="")

    assert left is not None
    assert left.used == 1


def test_each_address_and_each_token_has_its_own(clock: MovableClock) -> None:
    counting = RequestCounter(LIMITS, clock)

    used = [
        counting.count(address=address, token=token)
        for address, token in [("10.0.0.1", "a"), ("10.0.0.1", "b"), ("10.0.0.2", "a"), ("10.0.0.1", "")]
    ]

    assert [(one.limit, one.left) for one in used if one] == [(3, 2), (3, 2), (3, 1), (5, 2)]


def test_an_ipv6_network_is_one_address(clock: MovableClock) -> None:
    counting = RequestCounter(RateLimits(per_address=10), clock)

    for address in ("2001:db8::1", "2001:db8::2", "2001:db8:0:0:ffff::3", "fe80::1%eth0", "2001:db8:0:1::1"):
        told = counting.count(address=address, token="")
    again = counting.count(address="2001:db8::9", token="")

    assert told is not None
    assert again is not None
    assert (told.left, again.left) == (9, 6)


def test_an_address_over_its_limit_does_not_use_up_tokens(clock: MovableClock) -> None:
    counting = RequestCounter(RateLimits(per_token=2, per_address=1), clock)
    for _ in range(9):
        counting.count(address="10.0.0.1", token="mine")

    told = counting.count(address="10.0.0.2", token="mine")

    assert told is not None
    assert (told.limit, told.used) == (1, 1)


def test_without_limits_nothing_is_counted(clock: MovableClock) -> None:
    assert RequestCounter(RateLimits(), clock).count(address="unknown", token="x") is None


def test_limits_come_from_the_settings_and_can_be_disabled() -> None:
    assert rate_limits(settings()) == RateLimits(600, 1200)
    assert rate_limits(settings(api_rate_per_token="0", api_rate_per_address="0")) == RateLimits(0, 0)


def test_the_clock_decides_when_a_minute_ends() -> None:
    clock = MovableClock()
    counting = RequestCounter(LIMITS, clock)

    clock.move(seconds=20)
    counting.count(address="x", token="")

    ends_at = START.replace(second=0, microsecond=0) + timedelta(minutes=1)
    assert counting.seconds_left() == (ends_at - clock()).total_seconds()
