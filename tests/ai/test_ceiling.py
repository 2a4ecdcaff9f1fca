"""Ten workers and a ceiling of one dollar: never exceeded, by our books, nor by those of the service."""

import asyncio
import json
import os
import random
import sys
from collections import Counter
from typing import Any

import pytest

from headwater.ai.client import AiClient
from headwater.ai.types import NotAnswered, NotAnsweredKind
from headwater.db import Database
from tests.ai.asking import CALL, CEILING, CONNINFO, MOST, ask_often, options_of
from tests.ai.service import NO_COST, Reply, a_service, completion, refusal
from tests.clock import MovableClock
from tests.owner import as_owner

pytestmark = pytest.mark.database

WORKERS = 10
PRICES = options_of("")


class Ledger:
    """A service that charges for most calls, reports it in several ways, and loses or refuses some answers.

    It keeps its own books. Costs are whole micro-dollars, never above what the prices allow.
    """

    def __init__(self, *, lost: float = 0.03) -> None:
        self.charged = 0
        self.calls = 0
        self._random = random.Random(14)
        self._lost = lost

    def answer(self, _asked: dict[str, Any]) -> Reply:
        self.calls += 1
        chance = self._random.random()
        if chance < 0.05:
            return Reply(429, refusal(429))
        if chance < 0.08:
            return Reply(503, "<html>")
        tokens_in, tokens_out = self._random.randint(50, 200) * 2, self._random.randint(1, CALL.max_tokens)
        cost = int(tokens_in * PRICES.price_in + tokens_out * PRICES.price_out)
        wait = self._random.random() / 100
        if chance < 0.08 + self._lost:
            self.charged += MOST  # as much as it may
            return Reply(is_lost=True, wait=wait)
        self.charged += cost
        reported = cost / 1_000_000 if chance < 0.6 else NO_COST
        body = completion(cost=reported, tokens_in=tokens_in, tokens_out=tokens_out)
        return Reply(body=body, wait=wait)


async def never_exceed(database: Database) -> None:
    """Let PostgreSQL refuse every change after which more than the ceiling is spent and reserved."""
    async with as_owner(database) as conn:
        statement = f"ALTER TABLE ai_budget ADD CHECK (spent_micros + reserved_micros <= {CEILING})"
        await conn.execute(statement.encode())


async def spend(database: Database, micros: int) -> None:
    async with database.transaction() as conn:
        await conn.execute(
            "INSERT INTO ai_budget (month, spent_micros) VALUES ('2026-03-01', %(spent)s)", {"spent": micros}
        )
        await conn.execute(
            """
            INSERT INTO ai_usage_tracking
                (day, purpose, model, requests, failures, tokens_in, tokens_out, cost_micros)
            VALUES ('2026-03-01', 'summary', 'large', 1, 0, 0, 0, %(spent)s)
            """,
            {"spent": micros},
        )


async def books(database: Database) -> tuple[int, int, int, int]:
    """What is spent and reserved; what the lines of usage add up to; the requests."""
    statement = """
        SELECT spent_micros, reserved_micros, sum(cost_micros)::bigint, sum(requests)::bigint
        FROM ai_budget JOIN ai_usage_tracking USING (month) GROUP BY 1, 2
    """
    async with database.transaction() as conn:
        (row,) = await (await conn.execute(statement)).fetchall()
    return row


async def check(database: Database, ledger: Ledger, outcomes: Counter[str], *, before: int = 0) -> None:
    spent, reserved, added_up, requests = await books(database)
    assert before + ledger.charged <= spent <= CEILING
    assert (reserved, added_up) == (0, spent)
    assert requests - bool(before) == ledger.calls == outcomes.total() - outcomes["budget"]
    # The ceiling was reached, and less is left than the calls of all workers could have reserved.
    assert outcomes["budget"]
    assert spent > CEILING - WORKERS * MOST


async def test_ten_workers_never_exceed_a_ceiling(database: Database, conninfo: str) -> None:
    before = CEILING - 40 * MOST
    await spend(database, before)
    await never_exceed(database)
    ledger = Ledger()
    async with a_service() as service:
        service.answer = ledger.answer
        asked = await asyncio.gather(*(ask_often(conninfo, service.url, 12) for _ in range(WORKERS)))

    await check(database, ledger, sum(asked, Counter()), before=before)


@pytest.mark.soak
async def test_ten_processes_never_exceed_a_ceiling_of_one_dollar_in_10_000_calls(
    database: Database, conninfo: str
) -> None:
    await never_exceed(database)
    ledger = Ledger()
    async with a_service() as service:
        service.answer = ledger.answer
        workers = [await _start(conninfo, service.url, 1000) for _ in range(WORKERS)]
        printed = [await worker.communicate() for worker in workers]

    assert [worker.returncode for worker in workers] == [0] * WORKERS
    outcomes = sum((Counter(json.loads(out.splitlines()[-1])) for out, _ in printed), Counter[str]())
    assert outcomes.total() == 10_000
    await check(database, ledger, outcomes)


async def _start(conninfo: str, url: str, calls: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.ai.asking", url, str(calls),
        env={**os.environ, CONNINFO: conninfo}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip


async def test_a_process_killed_during_a_call_frees_no_money(
    database: Database, conninfo: str, clock: MovableClock
) -> None:
    await spend(database, CEILING - MOST)  # enough for one call
    async with a_service() as service:
        service.replies = [Reply(hangs=True)]
        worker = await _start(conninfo, service.url, 1)
        await asyncio.wait_for(service.asked.wait(), 60)
        worker.kill()
        await worker.wait()
        service.replies = [Reply()]
        client = AiClient(database, clock, options_of(service.url))
        while_reserved = await client.ask(CALL)
        clock.move(hours=1)
        when_expired = await client.ask(CALL)

        for outcome in (while_reserved, when_expired):
            assert isinstance(outcome, NotAnswered)
            assert outcome.kind is NotAnsweredKind.BUDGET
        assert len(service.requests) == 1
    assert await books(database) == (CEILING, 0, CEILING, 2)
