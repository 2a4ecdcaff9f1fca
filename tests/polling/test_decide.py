from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.polling.decide import next_plan
from headwater.polling.types import FailureClass, NotModified, Plan, Polled, PollFailed, PollingOptions, Validators
from tests.builders import a_claimed_feed, a_parsed_feed
from tests.clock import START

HOUR = timedelta(hours=1)
OPTIONS = PollingOptions(
    interval=HOUR,
    interval_max=timedelta(days=1),
    concurrency=10,
    timeout=timedelta(seconds=30),
    max_bytes=1000,
    max_entries=50,
)
NONE = Validators(None, None)


@pytest.mark.parametrize("outcome", [Polled(a_parsed_feed(), NONE), NotModified(NONE)])
def test_a_success_clears_everything_and_waits_one_interval(outcome: Polled | NotModified) -> None:
    plan = next_plan(a_claimed_feed(errors=7), outcome, OPTIONS, START)

    assert plan == Plan(START + HOUR, 0, None, None)


@pytest.mark.parametrize(("errors", "hours"), [(0, 2), (1, 4), (2, 8), (3, 16), (4, 24), (5, 24), (10_000, 24)])
def test_each_failure_in_a_row_doubles_the_wait_up_to_a_day(errors: int, hours: int) -> None:
    failed = PollFailed(FailureClass.NOT_FOUND, "gone")

    plan = next_plan(a_claimed_feed(errors=errors), failed, OPTIONS, START)

    assert plan == Plan(START + timedelta(hours=hours), errors + 1, "gone", FailureClass.NOT_FOUND)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [(timedelta(seconds=1), 2 * HOUR), (5 * HOUR, 5 * HOUR), (timedelta(days=400), timedelta(days=1))],
)
def test_a_site_may_ask_for_a_longer_wait_but_not_for_ever(asked: timedelta, expected: timedelta) -> None:
    failed = PollFailed(FailureClass.RATE_LIMITED, "slow down", 429, retry_after=asked)

    assert next_plan(a_claimed_feed(), failed, OPTIONS, START).next_poll_at == START + expected


@given(st.integers(0, 100_000), st.sampled_from(FailureClass), st.none() | st.timedeltas())
def test_the_next_poll_is_never_in_the_past_nor_beyond_the_longest_wait(
    errors: int, kind: FailureClass, asked: timedelta | None
) -> None:
    plan = next_plan(a_claimed_feed(errors=errors), PollFailed(kind, "x", retry_after=asked), OPTIONS, START)

    assert START < plan.next_poll_at <= START + OPTIONS.interval_max
