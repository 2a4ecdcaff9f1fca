"""Calls within the budget: what is reserved, what is counted, and what a service that fails costs."""

import asyncio
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import brotli
import pytest
from structlog.testing import capture_logs

from headwater.ai.client import AiClient
from headwater.ai.decide import most_cost
from headwater.ai.types import (
    AiAnswer,
    AiCall,
    AiMessage,
    AiOptions,
    AiOutcome,
    Budget,
    BudgetLevel,
    NotAnswered,
    NotAnsweredKind,
    Purpose,
)
from headwater.db import Database
from tests.ai.service import NO_COST, Reply, Service, a_service, completion, refusal
from tests.clock import START, MovableClock

pytestmark = pytest.mark.database

KEY = "sk-or-v1-0123456789abcdef"
CALL = AiCall(Purpose.TAGGING, "small", [AiMessage("system", "Tag it."), AiMessage("user", "Rain.")], max_tokens=50)
MARCH = date(2026, 3, 1)


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    async with a_service() as service:
        yield service


@pytest.fixture
def options(service: Service) -> AiOptions:
    return AiOptions(
        api_key=KEY, base_url=service.url, monthly_budget=Decimal(1), price_in=Decimal(1), price_out=Decimal(4)
    )


MOST = most_cost(CALL, AiOptions(price_in=Decimal(1), price_out=Decimal(4)))


@pytest.fixture
def client(database: Database, clock: MovableClock, options: AiOptions) -> AiClient:
    return AiClient(database, clock, options)


async def usage(database: Database) -> list[tuple[Any, ...]]:
    statement = """
        SELECT day::text, purpose, model, requests, failures, tokens_in, tokens_out, cost_micros
        FROM ai_usage_tracking ORDER BY day, purpose, model
    """
    async with database.transaction() as conn:
        return await (await conn.execute(statement)).fetchall()


async def held(database: Database) -> list[int]:
    async with database.transaction() as conn:
        cur = await conn.execute("SELECT amount_micros FROM ai_reservations")
        return [row[0] for row in await cur.fetchall()]


def kind_of(outcome: AiOutcome) -> NotAnsweredKind | None:
    return outcome.kind if isinstance(outcome, NotAnswered) else None


async def test_an_answer_has_its_text_tokens_and_cost(client: AiClient, service: Service) -> None:
    service.replies = [Reply(body=completion("rain", cost=0.0000042))]

    answer = await client.ask(CALL)

    model = "openai/gpt-4o-mini-2024-07-18"
    assert answer == AiAnswer("rain", model, 1200, 340, cost_micros=5, cost=Decimal("0.0000042"))


async def test_the_request_has_the_messages_limits_and_key_and_no_more(client: AiClient, service: Service) -> None:
    await client.ask(replace(CALL, temperature=0.3))

    assert service.requests == [
        {
            "model": "small",
            "messages": [{"role": "system", "content": "Tag it."}, {"role": "user", "content": "Rain."}],
            "temperature": 0.3,
            "max_tokens": 50,
        }
    ]
    assert service.keys == [f"Bearer {KEY}"]


async def test_json_of_a_schema_is_requested_strictly(client: AiClient, service: Service) -> None:
    schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}

    await client.ask(replace(CALL, schema=schema))

    form = {"type": "json_schema", "json_schema": {"name": "tagging", "strict": True, "schema": schema}}
    assert service.requests[0]["response_format"] == form


async def test_the_most_a_call_can_cost_is_reserved_while_it_is_made(
    client: AiClient, service: Service, database: Database
) -> None:
    service.replies = [Reply(hangs=True)]
    asking = asyncio.create_task(client.ask(CALL))
    await service.asked.wait()

    assert await client.budget() == Budget(MARCH, 1_000_000, 0, MOST)
    service.released.set()
    await asking
    assert await client.budget() == Budget(MARCH, 1_000_000, 422, 0)
    assert await held(database) == []


async def test_usage_is_added_up_by_day_purpose_and_model(
    client: AiClient, service: Service, database: Database, clock: MovableClock
) -> None:
    service.replies = [
        Reply(body=completion(cost=0.001)),
        Reply(body=completion(cost=NO_COST, tokens_in=10, tokens_out=5)),
        Reply(429),
        Reply(body=completion(cost=0.002)),
    ]
    for _ in range(3):
        await client.ask(CALL)
    clock.move(days=1)

    await client.ask(CALL)
    await client.ask(replace(CALL, purpose=Purpose.SUMMARY, model="large"))

    assert await usage(database) == [
        ("2026-03-01", "tagging", "small", 3, 1, 1210, 345, 1000 + 10 + 4 * 5),
        ("2026-03-02", "summary", "large", 1, 0, 1200, 340, 2000),
        ("2026-03-02", "tagging", "small", 1, 0, 1200, 340, 2000),
    ]
    assert (await client.budget()).spent_micros == 5030


# The text itself is refused: the article would be refused again and again, and others behind it would wait.
MODERATED = {"error": {"code": 403, "message": "flagged", "metadata": {"reasons": ["violence"], "flagged_input": "…"}}}


@pytest.mark.parametrize(
    ("reply", "kind", "cost"),
    [
        (Reply(429, refusal(429)), NotAnsweredKind.UNAVAILABLE, 0),
        (Reply(401, refusal(401)), NotAnsweredKind.UNAVAILABLE, 0),
        (Reply(400, refusal(400)), NotAnsweredKind.FAILED, 0),
        (Reply(403, refusal(403)), NotAnsweredKind.UNAVAILABLE, 0),
        (Reply(403, MODERATED), NotAnsweredKind.FAILED, 0),
        (Reply(500, "<html>"), NotAnsweredKind.UNAVAILABLE, 0),
        (Reply(503, "<html>"), NotAnsweredKind.UNAVAILABLE, 0),
        (Reply(502, "<html>"), NotAnsweredKind.UNAVAILABLE, MOST),
        (Reply(504, "<html>"), NotAnsweredKind.UNAVAILABLE, MOST),
        (Reply(is_lost=True), NotAnsweredKind.UNAVAILABLE, MOST),
        (Reply(hangs=True), NotAnsweredKind.UNAVAILABLE, MOST),
        (Reply(200, refusal(503)), NotAnsweredKind.UNAVAILABLE, 0),
        (Reply(200, "<html>"), NotAnsweredKind.FAILED, MOST),
        (Reply(200, {"odd": True}), NotAnsweredKind.FAILED, MOST),
        (Reply(200, completion("", cost=0.003)), NotAnsweredKind.FAILED, 3000),
        (Reply(200, completion(cost=NO_COST, tokens_in=None)), None, MOST),
        (Reply(200, completion(cost=-1, tokens_in=-5)), None, MOST),
        (Reply(200, completion(cost=0)), None, 0),
    ],
    ids=["429", "401", "400", "403", "moderated", "500", "503", "502", "504", "lost", "timeout", "inside 200",
         "html", "odd", "empty", "no usage", "lies", "free"],
)  # fmt: skip
async def test_what_a_call_costs_by_its_outcome(
    client: AiClient, service: Service, database: Database, reply: Reply, kind: NotAnsweredKind | None, cost: int
) -> None:
    service.replies = [reply]

    outcome = await client.ask(replace(CALL, timeout=timedelta(seconds=3 if reply.hangs else 60)))

    assert kind_of(outcome) is kind
    assert await client.budget() == Budget(MARCH, 1_000_000, cost, 0)
    ((*_, requests, failures, _, _, booked),) = await usage(database)
    assert (requests, failures, booked) == (1, int(kind is not None), cost)


async def test_a_service_that_is_down_costs_nothing(
    database: Database, clock: MovableClock, options: AiOptions
) -> None:
    client = AiClient(database, clock, replace(options, base_url="http://127.0.0.1:9/api/v1"))

    assert kind_of(await client.ask(CALL)) is NotAnsweredKind.UNAVAILABLE
    assert await client.budget() == Budget(MARCH, 1_000_000, 0, 0)


async def test_a_service_that_does_not_accept_connections_costs_nothing(
    database: Database, clock: MovableClock, options: AiOptions
) -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:  # more than the backlog holds: the kernel drops what comes after
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        client = AiClient(database, clock, replace(options, base_url=f"http://127.0.0.1:{full.getsockname()[1]}/v1"))

        outcome = await client.ask(replace(CALL, timeout=timedelta(seconds=1)))
        for one in waiting:
            one.close()

    assert outcome == NotAnswered("ConnectTimeout", NotAnsweredKind.UNAVAILABLE)
    assert await client.budget() == Budget(MARCH, 1_000_000, 0, 0)


async def test_without_a_key_no_request_is_made_and_nothing_is_reserved(
    database: Database, clock: MovableClock, options: AiOptions, service: Service
) -> None:
    client = AiClient(database, clock, replace(options, api_key=None))

    assert kind_of(await client.ask(CALL)) is NotAnsweredKind.UNAVAILABLE
    assert (service.requests, await usage(database)) == ([], [])


# The ceiling.


async def spend(client: AiClient, service: Service, dollars: float) -> None:
    service.replies = [Reply(body=completion(cost=dollars))]
    assert isinstance(await client.ask(CALL), AiAnswer)


async def test_a_call_that_may_exceed_the_ceiling_is_not_made(client: AiClient, service: Service) -> None:
    await spend(client, service, (1_000_000 - MOST) / 1_000_000)
    await spend(client, service, 0.000001)  # exactly what is left fits

    refused = await client.ask(CALL)

    assert kind_of(refused) is NotAnsweredKind.BUDGET
    assert len(service.requests) == 2
    assert await client.budget() == Budget(MARCH, 1_000_000, 1_000_001 - MOST, 0, START)


async def test_a_ceiling_of_zero_allows_no_call_even_if_it_is_free(
    database: Database, clock: MovableClock, options: AiOptions, service: Service
) -> None:
    free = replace(options, monthly_budget=Decimal(0), price_in=Decimal(0), price_out=Decimal(0))
    client = AiClient(database, clock, free)

    assert kind_of(await client.ask(CALL)) is NotAnsweredKind.BUDGET
    assert service.requests == []
    budget = await client.budget()
    assert (budget.level, budget.reached_at) == (BudgetLevel.REACHED, None)  # as it was set: no reason for an alert


async def test_reaching_the_ceiling_is_one_warning_in_a_month(
    client: AiClient, service: Service, clock: MovableClock
) -> None:
    await spend(client, service, 0.9999)

    with capture_logs() as logs:
        for _ in range(3):
            await client.ask(CALL)

    assert [(line["event"], line["log_level"]) for line in logs] == [("AI budget reached", "warning")]
    assert (await client.budget()).level is BudgetLevel.REACHED


async def test_a_higher_ceiling_of_the_settings_ends_the_refusals(
    client: AiClient, database: Database, clock: MovableClock, options: AiOptions, service: Service
) -> None:
    await spend(client, service, 0.9999)
    await client.ask(CALL)
    assert (await client.budget()).level is BudgetLevel.REACHED

    restarted = AiClient(database, clock, replace(options, monthly_budget=Decimal(10)))

    assert await restarted.budget() == Budget(MARCH, 10_000_000, 999_900, 0, None)
    lowered = AiClient(database, clock, options)
    await lowered.ask(CALL)
    assert (await lowered.budget()).level is BudgetLevel.REACHED


async def test_a_call_that_waits_for_others_only_does_not_reach_the_ceiling(
    database: Database, clock: MovableClock, options: AiOptions, service: Service
) -> None:
    client = AiClient(database, clock, replace(options, monthly_budget=Decimal(MOST) / 1_000_000))
    service.replies = [Reply(hangs=True)]
    asking = asyncio.create_task(client.ask(CALL))
    await service.asked.wait()

    assert kind_of(await client.ask(CALL)) is NotAnsweredKind.BUDGET

    assert (await client.budget()).reached_at is None
    asking.cancel()


async def test_the_budget_is_new_on_the_first_of_the_month(
    client: AiClient, service: Service, clock: MovableClock
) -> None:
    clock.now = datetime(2026, 3, 31, 23, 59, 59, tzinfo=UTC)
    await spend(client, service, 0.9999)
    assert kind_of(await client.ask(CALL)) is NotAnsweredKind.BUDGET

    clock.move(seconds=1)

    assert await client.budget() == Budget(date(2026, 4, 1), 1_000_000, 0, 0)
    assert isinstance(await client.ask(CALL), AiAnswer)


async def test_a_call_over_the_end_of_a_month_counts_in_the_month_in_which_it_began(
    client: AiClient, service: Service, clock: MovableClock, database: Database
) -> None:
    clock.now = datetime(2026, 3, 31, 23, 59, 59, tzinfo=UTC)
    service.replies = [Reply(hangs=True)]
    asking = asyncio.create_task(client.ask(CALL))
    await service.asked.wait()
    clock.move(seconds=2)
    service.released.set()

    await asking

    assert (await client.budget()).spent_micros == 0
    assert [(row[0], row[-1]) for row in await usage(database)] == [("2026-03-31", 422)]


async def test_a_cost_above_the_reservation_is_counted_and_logged_with_the_fix(
    client: AiClient, service: Service
) -> None:
    with capture_logs() as logs:
        await spend(client, service, 7.5)

    (line,) = logs
    assert (line["event"], line["log_level"]) == ("AI call cost more than was reserved", "error")
    assert "HEADWATER_AI_PRICE_IN" in line["fix"]
    assert (await client.budget()).spent_micros == 7_500_000
    assert kind_of(await client.ask(CALL)) is NotAnsweredKind.BUDGET


# Processes that die.


async def test_a_cancelled_call_stays_reserved_until_it_expires_and_then_counts_in_full(
    client: AiClient, service: Service, database: Database, clock: MovableClock
) -> None:
    service.replies = [Reply(hangs=True)]
    asking = asyncio.create_task(client.ask(CALL))
    await service.asked.wait()
    asking.cancel()
    await asyncio.wait([asking])
    clock.move(minutes=5)
    assert await client.budget() == Budget(MARCH, 1_000_000, 0, MOST)

    clock.move(minutes=2)

    with capture_logs() as logs:
        assert await client.budget() == Budget(MARCH, 1_000_000, MOST, 0)
    assert await usage(database) == [("2026-03-01", "tagging", "small", 1, 1, 0, 0, MOST)]
    assert [line["event"] for line in logs] == ["AI call lost"]


@pytest.mark.parametrize(("cost", "spent"), [(0.000001, MOST), (2.0, 2_000_000)], ids=["less", "more"])
async def test_an_answer_after_the_expiry_is_not_counted_twice(
    client: AiClient, service: Service, database: Database, clock: MovableClock, cost: float, spent: int
) -> None:
    service.replies = [Reply(body=completion(cost=cost), hangs=True)]
    asking = asyncio.create_task(client.ask(CALL))
    await service.asked.wait()
    clock.move(minutes=10)
    await client.budget()
    service.released.set()

    await asking

    assert await client.budget() == Budget(MARCH, 1_000_000, spent, 0)
    assert await usage(database) == [("2026-03-01", "tagging", "small", 1, 1, 1200, 340, spent)]


async def test_a_response_that_is_too_large_is_not_read_to_its_end(client: AiClient, service: Service) -> None:
    service.replies = [Reply(body=completion("a" * 5_000_000))]

    assert await client.ask(CALL) == NotAnswered("response too large", NotAnsweredKind.FAILED)
    assert (await client.budget()).spent_micros == MOST


@pytest.mark.parametrize("encoding", ["gzip", "br", "identity, gzip"])
async def test_a_compressed_response_is_not_decompressed_and_may_have_cost_all_that_was_reserved(
    client: AiClient, service: Service, encoding: str
) -> None:
    """Of two megabytes, 5.9 GB of memory were used."""
    service.replies = [Reply(body=brotli.compress(bytes(10_000_000)), headers={"Content-Encoding": encoding})]

    assert await client.ask(CALL) == NotAnswered("compressed response", NotAnsweredKind.FAILED)
    assert (await client.budget()).spent_micros == MOST
    assert service.encodings == ["identity"]


@pytest.mark.parametrize(
    ("status", "kind"), [(500, NotAnsweredKind.UNAVAILABLE), (403, NotAnsweredKind.UNAVAILABLE), (302, None)]
)
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
async def test_the_body_of_an_error_is_read_only_in_part(
    client: AiClient, service: Service, status: int, kind: NotAnsweredKind | None, encoding: str
) -> None:
    headers = {"Content-Encoding": encoding, "Location": "/api/v1/elsewhere"}
    service.replies = [Reply(status, is_endless=True, headers=headers)]

    answer = await client.ask(CALL)

    assert isinstance(answer, NotAnswered)
    assert answer.reason == f"HTTP {status}"
    assert kind in {None, answer.kind}
    assert len(service.requests) == 1
