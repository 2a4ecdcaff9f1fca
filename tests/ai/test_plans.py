"""The statements of every call stay quick with years of usage and thousands of calls in progress."""

from collections.abc import AsyncIterator, Mapping
from datetime import date
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from headwater.db import Connection
from headwater.ids import new_id
from tests.clock import START
from tests.databases import new_database
from tests.db.test_every_statement import sql_of

pytestmark = pytest.mark.database

MARCH = date(2026, 3, 1)
# function: the values it is called with, and how many 8 kB pages it may touch
HOT: dict[str, tuple[dict[str, object], int]] = {
    "reserve": (
        {
            "id": new_id(), "month": MARCH, "purpose": "tagging", "model": "m", "amount_micros": 1, "made_at": START,
            "expires_at": START, "ceiling_micros": 10**9,
        },
        40,
    ),
    "_release": ({"id": UUID(int=7), "cost_micros": 1}, 40),
    "list_expired": ({"now": START, "limit": 20}, 30),
    "read_budget": ({"month": MARCH, "ceiling_micros": 10**9}, 10),
    "list_usage": ({"since": MARCH, "before": date(2026, 4, 1)}, 40),
}  # fmt: skip
FILL = (
    """
    INSERT INTO ai_budget (month, spent_micros, reserved_micros)
    SELECT month, 0, 10000 FROM generate_series('2016-01-01'::date, '2026-03-01', interval '1 month') AS month
    """,
    """
    INSERT INTO ai_usage_tracking (day, purpose, model, requests, failures, tokens_in, tokens_out, cost_micros)
    SELECT day, 'tagging', 'model ' || n, 1, 0, 0, 0, 0
    FROM generate_series('2016-01-01'::date, '2026-03-31', interval '1 day') AS day, generate_series(1, 5) AS n
    """,
    """
    INSERT INTO ai_reservations (id, month, purpose, model, amount_micros, made_at, expires_at)
    SELECT lpad(to_hex(n), 32, '0')::uuid, '2026-03-01', 'tagging', 'm', 1, %(start)s,
        %(start)s::timestamptz + (n - 10) * interval '1 second'
    FROM generate_series(1, 10000) AS n
    """,
)


@pytest.fixture(scope="module")
async def full(server_conninfo: str, template: str) -> AsyncIterator[Connection]:
    """Ten years of usage, and ten thousand calls in progress."""
    async with new_database(server_conninfo, template) as name:
        conn = await psycopg.AsyncConnection.connect(make_conninfo(server_conninfo, dbname=name), autocommit=True)
        for statement in FILL:
            await conn.execute(statement.encode(), {"start": START})
        await conn.execute("VACUUM ANALYZE")
        yield conn
        await conn.close()


@pytest.mark.parametrize("name", HOT)
async def test_a_hot_statement_reads_no_table_in_full(name: str, full: Connection) -> None:
    values, budget = HOT[name]

    async with full.transaction(force_rollback=True):
        sql = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql_of(f'ai.{name}')}"
        row = await (await full.execute(sql.encode(), values)).fetchone()

    assert row is not None
    plan: Mapping[str, Any] = row[0][0]["Plan"]
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= budget, plan
