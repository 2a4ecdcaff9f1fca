"""The most that a call can cost is never less than it costs, and what is counted follows from what is reported."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.ai.decide import (
    is_free,
    is_unavailable,
    month_of,
    most_cost,
    most_tokens_in,
    reservation_of,
    settlement_of,
    to_micros,
)
from headwater.ai.types import (
    AiCall,
    AiMessage,
    AiOptions,
    Budget,
    BudgetLevel,
    Charge,
    Purpose,
    Settlement,
)
from tests.clock import START

OPTIONS = AiOptions(price_in=Decimal("0.15"), price_out=Decimal("0.6"))


def a_call(*texts: str, max_tokens: int = 100, **more: Any) -> AiCall:
    return AiCall(Purpose.SUMMARY, "m", [AiMessage("user", text) for text in texts or ("Hello",)], max_tokens, **more)


A_RESERVATION = reservation_of(a_call(), OPTIONS, reservation_id=UUID(int=1), now=START)


def test_the_most_a_call_can_cost_is_its_bytes_and_all_the_tokens_it_may_write() -> None:
    # 5 bytes, 16 for the message, 64 for the call, each $0.15 a million; 100 tokens at $0.60 a million.
    assert most_cost(a_call("Hello"), OPTIONS) == -(-(85 * 15 + 100 * 60) // 100)


def test_every_byte_of_every_message_and_of_the_schema_counts() -> None:
    plain, schema = most_tokens_in(a_call("é")), {"type": "object"}

    assert most_tokens_in(a_call("e")) == plain - 1
    assert most_tokens_in(a_call("é", "𝄞")) == plain + 16 + 4
    assert most_tokens_in(a_call("é", schema=schema)) == plain + len('{"type": "object"}')


@given(st.text())
def test_a_prompt_of_any_characters_has_a_bound(text: str) -> None:
    assert most_tokens_in(a_call(text)) > len(text)


@pytest.mark.parametrize(
    ("now", "month"),
    [
        (datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC), date(2026, 11, 1)),
        (datetime(2026, 12, 1, tzinfo=UTC), date(2026, 12, 1)),
        (datetime(2026, 12, 1, 1, tzinfo=timezone(timedelta(hours=2))), date(2026, 11, 1)),
    ],
    ids=["last second", "first second", "other zone"],
)
def test_a_month_begins_at_midnight_utc(now: datetime, month: date) -> None:
    assert month_of(now) == month


def test_a_reservation_outlives_the_timeout_of_its_call() -> None:
    call = a_call(timeout=timedelta(minutes=5))

    reservation = reservation_of(call, OPTIONS, reservation_id=UUID(int=1), now=START)

    assert reservation.expires_at > START + timedelta(minutes=5)
    assert reservation.amount_micros == most_cost(call, OPTIONS)


@pytest.mark.parametrize(
    ("charge", "cost"),
    [
        (Charge(10, 20, Decimal("0.00042137")), 422),
        (Charge(None, None, Decimal("0.000001")), 1),
        (Charge(10, 20, Decimal(0)), 0),
        (Charge(100, 20, None), 27),
        (Charge(100, None, None), A_RESERVATION.amount_micros),
        (Charge(0, 0, None), A_RESERVATION.amount_micros),
        (Charge(100, 0, None), A_RESERVATION.amount_micros),
        (Charge(0, 20, None), A_RESERVATION.amount_micros),
        (Charge(), A_RESERVATION.amount_micros),
        (Charge(is_free=True), 0),
        (Charge(10, 20, Decimal(5)), 5_000_000),
    ],
    ids=[
        "cost",
        "cost alone",
        "free model",
        "tokens",
        "half the tokens",
        "zeros",
        "an answer of no tokens",
        "a prompt of no tokens",
        "nothing",
        "not charged",
        "too much",
    ],
)
def test_what_is_counted_is_the_reported_cost_else_tokens_else_all_that_was_reserved(charge: Charge, cost: int) -> None:
    settled = settlement_of(charge, A_RESERVATION, OPTIONS, is_failure=False)

    assert settled == Settlement(charge.tokens_in or 0, charge.tokens_out or 0, cost, is_failure=False)


def test_fractions_of_a_micro_dollar_are_rounded_up() -> None:
    assert [to_micros(Decimal(text)) for text in ("0.0000001", "0.000001", "0.0000011", "1")] == [1, 1, 2, 1_000_000]


@pytest.mark.parametrize(
    ("status", "expected"),
    [(400, False), (401, True), (402, True), (403, True), (404, True), (408, True), (409, True), (422, False),
     (425, True), (429, True), (499, False), (500, True), (503, True), (529, True)],
)  # fmt: skip
def test_which_statuses_mean_that_the_service_is_unavailable(status: int, expected: bool) -> None:
    assert is_unavailable(status) is expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [(200, False), (400, True), (401, True), (408, True), (429, True), (499, False), (500, True), (502, False),
     (503, True), (504, False), (524, False), (529, True)],
)  # fmt: skip
def test_an_answer_that_a_proxy_lost_may_have_been_charged(status: int, expected: bool) -> None:
    assert is_free(status) is expected


@pytest.mark.parametrize(
    ("ceiling", "spent", "reserved", "reached", "level"),
    [
        (100, 0, 0, False, BudgetLevel.NORMAL),
        (100, 50, 24, False, BudgetLevel.NORMAL),
        (100, 50, 25, False, BudgetLevel.SAVING),
        (100, 99, 0, False, BudgetLevel.SAVING),
        (100, 99, 0, True, BudgetLevel.REACHED),
        (100, 100, 0, False, BudgetLevel.REACHED),
        (0, 0, 0, False, BudgetLevel.REACHED),
    ],
)
def test_the_level_of_a_budget(ceiling: int, spent: int, reserved: int, reached: bool, level: BudgetLevel) -> None:
    budget = Budget(date(2026, 3, 1), ceiling, spent, reserved, START if reached else None)

    assert budget.level is level
