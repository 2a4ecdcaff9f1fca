"""Every statement on `ai_budget`, `ai_reservations` and `ai_usage_tracking`.

All transactions lock in the same order: a reservation, the budget of its month, its line of usage.
"""

from dataclasses import asdict
from datetime import UTC, date, datetime
from uuid import UUID

from headwater.ai.types import Budget, MonthUsage, Reservation, Settlement, UsageLine
from headwater.db import Connection, fetch_all, fetch_one, fetch_value


async def reserve(conn: Connection, *, reservation: Reservation, ceiling_micros: int) -> bool:
    """Hold an amount if it fits below the ceiling, which the month itself may override. False: it does not."""
    await _add_month(conn, month=reservation.month)
    # Concurrent updates wait for the row and then compare with its new values, so the sum never exceeds the ceiling.
    statement = """
        WITH reserved AS (
            UPDATE ai_budget
            SET reserved_micros = reserved_micros + %(amount_micros)s::bigint
            WHERE month = %(month)s AND coalesce(ceiling_micros, %(ceiling_micros)s::bigint) > 0
                AND spent_micros + reserved_micros + %(amount_micros)s::bigint
                    <= coalesce(ceiling_micros, %(ceiling_micros)s::bigint)
            RETURNING month
        )
        INSERT INTO ai_reservations (id, month, purpose, model, amount_micros, made_at, expires_at)
        SELECT %(id)s, month, %(purpose)s, %(model)s, %(amount_micros)s, %(made_at)s, %(expires_at)s FROM reserved
    """
    cur = await conn.execute(statement, {**asdict(reservation), "ceiling_micros": ceiling_micros})
    return cur.rowcount == 1


async def _add_month(conn: Connection, *, month: date) -> None:
    await conn.execute("INSERT INTO ai_budget (month) VALUES (%(month)s) ON CONFLICT DO NOTHING", {"month": month})


async def set_reached(conn: Connection, *, month: date, amount_micros: int, ceiling_micros: int, now: datetime) -> bool:
    """Record the first call of a month that the ceiling refuses. False if there was one before, if the call would fit
    without those in progress, which may cost less than they reserved, or if no calls are wanted: a ceiling of 0."""
    statement = """
        UPDATE ai_budget
        SET reached_at = %(now)s, reached_ceiling_micros = coalesce(ceiling_micros, %(ceiling_micros)s::bigint)
        WHERE month = %(month)s AND reached_at IS NULL AND coalesce(ceiling_micros, %(ceiling_micros)s::bigint) > 0
            AND spent_micros + %(amount_micros)s::bigint > coalesce(ceiling_micros, %(ceiling_micros)s::bigint)
    """
    values = {"month": month, "amount_micros": amount_micros, "ceiling_micros": ceiling_micros, "now": now}
    return (await conn.execute(statement, values)).rowcount == 1


async def lift_reached(conn: Connection, *, month: date, ceiling_micros: int) -> None:
    """Forget that a ceiling was reached if it is higher now: that of the settings, which may change at a restart."""
    statement = """
        UPDATE ai_budget SET reached_at = NULL
        WHERE month = %(month)s AND reached_at IS NOT NULL
            AND reached_ceiling_micros < coalesce(ceiling_micros, %(ceiling_micros)s::bigint)
    """
    await conn.execute(statement, {"month": month, "ceiling_micros": ceiling_micros})


async def settle(conn: Connection, *, reservation: Reservation, settlement: Settlement) -> None:
    """Replace a reservation by what the call cost, in the month and on the day of the reservation.

    One that has expired was counted in full: what the call cost beyond that is added.
    """
    if await _release(conn, reservation_id=reservation.id, cost_micros=settlement.cost_micros):
        await _add_usage(conn, reservation=reservation, settlement=settlement, requests=1)
        return
    excess = max(0, settlement.cost_micros - reservation.amount_micros)
    late = Settlement(settlement.tokens_in, settlement.tokens_out, excess, is_failure=False)
    statement = "UPDATE ai_budget SET spent_micros = spent_micros + %(excess)s WHERE month = %(month)s"
    await conn.execute(statement, {"excess": excess, "month": reservation.month})
    await _add_usage(conn, reservation=reservation, settlement=late, requests=0)


async def expire(conn: Connection, *, reservation: Reservation) -> bool:
    """Count an expired reservation as spent. False if it was settled, or another process did it."""
    if not await _release(conn, reservation_id=reservation.id, cost_micros=reservation.amount_micros):
        return False
    lost = Settlement(0, 0, reservation.amount_micros, is_failure=True)
    await _add_usage(conn, reservation=reservation, settlement=lost, requests=1)
    return True


async def _release(conn: Connection, *, reservation_id: UUID, cost_micros: int) -> bool:
    statement = """
        WITH released AS (
            DELETE FROM ai_reservations WHERE id = %(id)s RETURNING month, amount_micros
        )
        UPDATE ai_budget
        SET reserved_micros = reserved_micros - released.amount_micros,
            spent_micros = spent_micros + %(cost_micros)s::bigint
        FROM released
        WHERE ai_budget.month = released.month
    """
    return (await conn.execute(statement, {"id": reservation_id, "cost_micros": cost_micros})).rowcount == 1


async def _add_usage(conn: Connection, *, reservation: Reservation, settlement: Settlement, requests: int) -> None:
    statement = """
        INSERT INTO ai_usage_tracking AS usage
            (day, purpose, model, requests, failures, tokens_in, tokens_out, cost_micros)
        VALUES (
            %(day)s, %(purpose)s, %(model)s, %(requests)s, %(failures)s, %(tokens_in)s, %(tokens_out)s, %(cost_micros)s
        )
        ON CONFLICT (day, purpose, model) DO UPDATE
        SET requests = usage.requests + excluded.requests, failures = usage.failures + excluded.failures,
            tokens_in = usage.tokens_in + excluded.tokens_in, tokens_out = usage.tokens_out + excluded.tokens_out,
            cost_micros = usage.cost_micros + excluded.cost_micros
    """
    values = {
        **asdict(settlement), "day": reservation.made_at.astimezone(UTC).date(), "purpose": reservation.purpose,
        "model": reservation.model, "requests": requests, "failures": int(settlement.is_failure),
    }  # fmt: skip
    await conn.execute(statement, values)


async def list_expired(conn: Connection, *, now: datetime, limit: int) -> list[Reservation]:
    statement = """
        SELECT id, month, purpose, model, amount_micros, made_at, expires_at
        FROM ai_reservations WHERE expires_at <= %(now)s ORDER BY expires_at LIMIT %(limit)s
    """
    return await fetch_all(conn, Reservation, statement, {"now": now, "limit": limit})


async def read_budget(conn: Connection, *, month: date, ceiling_micros: int) -> Budget:
    """The budget of a month. `ceiling_micros` is that of the settings, for a month without its own."""
    statement = """
        SELECT month, coalesce(ceiling_micros, %(ceiling_micros)s::bigint) AS ceiling_micros, spent_micros,
            reserved_micros, reached_at
        FROM ai_budget WHERE month = %(month)s
    """
    values = {"month": month, "ceiling_micros": ceiling_micros}
    return await fetch_one(conn, Budget, statement, values) or Budget(month, ceiling_micros, 0, 0)


async def set_ceiling(conn: Connection, *, month: date, ceiling_micros: int | None) -> int | None:
    """Change the ceiling of a month; None: as the settings say. Returns the one before."""
    await _add_month(conn, month=month)
    # FOR UPDATE, so that the ceiling before is that of the change before.
    before: int | None = await fetch_value(
        conn, "SELECT ceiling_micros FROM ai_budget WHERE month = %(month)s FOR UPDATE", {"month": month}
    )
    statement = """
        UPDATE ai_budget SET ceiling_micros = %(ceiling_micros)s, reached_at = NULL
        WHERE month = %(month)s AND ceiling_micros IS DISTINCT FROM %(ceiling_micros)s
    """
    await conn.execute(statement, {"month": month, "ceiling_micros": ceiling_micros})
    return before


async def list_usage(conn: Connection, *, since: date, before: date) -> list[UsageLine]:
    statement = """
        SELECT day, purpose, model, requests, failures, tokens_in, tokens_out, cost_micros
        FROM ai_usage_tracking WHERE day >= %(since)s AND day < %(before)s ORDER BY day, purpose, model
    """
    return await fetch_all(conn, UsageLine, statement, {"since": since, "before": before})


async def list_months(conn: Connection, *, since: date) -> list[MonthUsage]:
    """Months with usage or a budget from `since` on, the newest first."""
    statement = """
        WITH used AS (
            SELECT month, sum(requests) AS requests, sum(failures) AS failures, sum(tokens_in) AS tokens_in,
                sum(tokens_out) AS tokens_out, sum(cost_micros) AS cost_micros
            FROM ai_usage_tracking WHERE month >= %(since)s GROUP BY month
        )
        SELECT month, ceiling_micros, coalesce(requests, 0)::bigint AS requests,
            coalesce(failures, 0)::bigint AS failures, coalesce(tokens_in, 0)::bigint AS tokens_in,
            coalesce(tokens_out, 0)::bigint AS tokens_out, coalesce(cost_micros, 0)::bigint AS cost_micros
        FROM (SELECT * FROM ai_budget WHERE month >= %(since)s) AS budgets FULL JOIN used USING (month)
        ORDER BY month DESC
    """
    return await fetch_all(conn, MonthUsage, statement, {"since": since})
