"""Calls that were made on earlier days."""

from datetime import date

from headwater.db import Database
from tests.clock import START


async def spend(
    database: Database,
    day: str,
    micros: int,
    *,
    purpose: str = "tagging",
    model: str = "openai/gpt-4o-mini",
    requests: int = 1,
    failures: int = 0,
    tokens: tuple[int, int] = (0, 0),
    reached: bool = False,
) -> None:
    """Add a day's line of usage, and the same to its month."""
    values = {
        "day": day, "month": date.fromisoformat(day).replace(day=1), "cost": micros, "purpose": purpose, "model": model,
        "requests": requests, "failures": failures, "tokens_in": tokens[0], "tokens_out": tokens[1],
        "reached_at": START if reached else None,
    }  # fmt: skip
    async with database.transaction() as conn:
        await conn.execute(
            """
            INSERT INTO ai_usage_tracking
                (day, purpose, model, requests, failures, tokens_in, tokens_out, cost_micros)
            VALUES (
                %(day)s, %(purpose)s, %(model)s, %(requests)s, %(failures)s, %(tokens_in)s, %(tokens_out)s, %(cost)s
            )
            """,
            values,
        )
        await conn.execute(
            """
            INSERT INTO ai_budget AS budget (month, spent_micros, reached_at)
            VALUES (%(month)s, %(cost)s, %(reached_at)s)
            ON CONFLICT (month) DO UPDATE SET spent_micros = budget.spent_micros + excluded.spent_micros
            """,
            values,
        )
