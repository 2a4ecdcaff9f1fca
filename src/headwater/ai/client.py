"""Calls to language models within the monthly budget: reserve the most a call can cost, call, settle.

The only place that calls a model. A process that dies in between leaves its reservation, which expires and then counts
as spent in full.
"""

from dataclasses import replace
from datetime import date, datetime

from headwater.ai import store
from headwater.ai.decide import month_of, reservation_of, settlement_of
from headwater.ai.report import MonthReport, month_after
from headwater.ai.request import request
from headwater.ai.types import (
    MICROS,
    AiAnswer,
    AiCall,
    AiOptions,
    AiOutcome,
    AiReply,
    Budget,
    NotAnswered,
    NotAnsweredKind,
    Reservation,
    Settlement,
)
from headwater.db import Database
from headwater.ids import new_id
from headwater.observability import metrics
from headwater.observability.log import get_logger
from headwater.types import Clock

log = get_logger()

EXPIRED_AT_ONCE = 20


class AiClient:
    def __init__(self, database: Database, clock: Clock, options: AiOptions) -> None:
        self._database, self._clock, self._options = database, clock, options

    @property
    def has_key(self) -> bool:
        return self._options.api_key is not None

    async def ask(self, call: AiCall) -> AiOutcome:
        """The answer to one call. Raises DatabaseUnavailable."""
        if not self.has_key:
            return NotAnswered("no API key is set", NotAnsweredKind.UNAVAILABLE)
        reservation = await self._reserve(call)
        if reservation is None:
            metrics.AI_REQUESTS.labels(purpose=call.purpose.value, outcome="budget").inc()
            return NotAnswered("the monthly budget is reached", NotAnsweredKind.BUDGET)
        reply = await request(call, self._options)
        settlement = await self._settle(reservation, reply)
        if isinstance(reply.outcome, NotAnswered):
            return reply.outcome
        return replace(reply.outcome, cost_micros=settlement.cost_micros)

    async def budget(self) -> Budget:
        """The budget of this month. Raises DatabaseUnavailable."""
        now = self._clock()
        await self._tidy(now)
        async with self._database.transaction() as conn:
            return await store.read_budget(conn, month=month_of(now), ceiling_micros=self._options.ceiling_micros)

    async def report(self, month: date | None = None) -> MonthReport:
        """The budget and usage of a month; by default this one. Raises DatabaseUnavailable."""
        now = self._clock()
        await self._tidy(now)
        month = month or month_of(now)
        async with self._database.transaction() as conn:
            budget = await store.read_budget(conn, month=month, ceiling_micros=self._options.ceiling_micros)
            lines = await store.list_usage(conn, since=month, before=month_after(month))
        return MonthReport(budget, lines, now)

    async def _reserve(self, call: AiCall) -> Reservation | None:
        now = self._clock()
        await self._tidy(now)
        reservation = reservation_of(call, self._options, reservation_id=new_id(), now=now)
        ceiling = self._options.ceiling_micros
        async with self._database.transaction() as conn:
            if await store.reserve(conn, reservation=reservation, ceiling_micros=ceiling):
                return reservation
            month, amount = reservation.month, reservation.amount_micros
            is_first = await store.set_reached(conn, month=month, amount_micros=amount, ceiling_micros=ceiling, now=now)
        if is_first:
            fix = "raise the ceiling at /admin/ai-usage, or wait for the next month"
            log.warning("AI budget reached", month=f"{month:%Y-%m}", purpose=call.purpose.value, fix=fix)
        return None

    async def _settle(self, reservation: Reservation, reply: AiReply) -> Settlement:
        is_failure = not isinstance(reply.outcome, AiAnswer)
        settlement = settlement_of(reply.charge, reservation, self._options, is_failure=is_failure)
        async with self._database.transaction() as conn:
            await store.settle(conn, reservation=reservation, settlement=settlement)
        outcome = "answered" if isinstance(reply.outcome, AiAnswer) else reply.outcome.kind.value
        metrics.AI_REQUESTS.labels(purpose=reservation.purpose, outcome=outcome).inc()
        metrics.AI_COST.labels(purpose=reservation.purpose).inc(settlement.cost_micros / MICROS)
        if settlement.cost_micros > reservation.amount_micros:
            log.error(
                "AI call cost more than was reserved", model=reservation.model, cost_micros=settlement.cost_micros,
                reserved_micros=reservation.amount_micros,
                fix="set HEADWATER_AI_PRICE_IN and HEADWATER_AI_PRICE_OUT to the prices of the dearest model in use",
            )  # fmt: skip
        return settlement

    async def _tidy(self, now: datetime) -> None:
        """Count reservations of processes that died, and see whether the settings have a higher ceiling.

        Each in a transaction, because each locks a budget."""
        ceiling = self._options.ceiling_micros
        async with self._database.transaction() as conn:
            await store.lift_reached(conn, month=month_of(now), ceiling_micros=ceiling)
            expired = await store.list_expired(conn, now=now, limit=EXPIRED_AT_ONCE)
        for one in expired:
            async with self._database.transaction() as conn:
                if await store.expire(conn, reservation=one):
                    log.warning("AI call lost", purpose=one.purpose, model=one.model, cost_micros=one.amount_micros)
