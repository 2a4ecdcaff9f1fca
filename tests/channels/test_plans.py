"""The statements of delivering use indexes, however many deliveries there are."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from headwater.db import Connection
from tests.clock import START
from tests.databases import new_database
from tests.db.test_every_statement import sql_of
from tests.db.test_plans import tables_read_in_full

pytestmark = pytest.mark.database

CHANNELS = 50
DELIVERIES = 60_000
FILL = (
    """
    INSERT INTO channels (id, name, query, destination, ready_at, settled_to)
    SELECT md5(n::text)::uuid, 'c' || n, 'crime', 'webhook', %(start)s, CASE WHEN n = 0 THEN 0 ELSE 59000 END
    FROM generate_series(0, %(channels)s - 1) AS n
    """,
    # The last thousand wait; some were refused.
    """
    INSERT INTO deliveries (channel_id, revision, article_id, queued_at, delivered_at, reason)
    SELECT md5(mod(n, %(channels)s)::text)::uuid, n, md5('a' || n)::uuid, %(start)s,
        CASE WHEN n <= 59000 AND mod(n, 1000) <> 7 THEN %(start)s::timestamptz + n * interval '1 second' END,
        CASE WHEN n <= 59000 AND mod(n, 1000) = 7 THEN 'no' END
    FROM generate_series(1, %(deliveries)s) AS n
    """,
)
ONE = UUID("c4ca4238-a0b9-2382-0dcc-509a6f75849b")  # md5('1')
LATER = START + timedelta(days=1)
HOT: dict[str, tuple[dict[str, object], int]] = {
    "channels.deliveries.lease_channels": (
        {"now": LATER, "leased_until": LATER, "lease": ONE, "limit": 4}, 600
    ),
    "channels.deliveries._read_waiting": ({"id": ONE, "after": 59_000, "limit": 100}, 60),
    "channels.deliveries._read_again": ({"id": ONE, "after": 0, "to": 59_000, "limit": 100}, 150),
    "channels.deliveries.count": (
        {"ids": [ONE], "most": 100, "hour_ago": START + timedelta(seconds=58_000)}, 200
    ),
    "channels.deliveries.oldest_waiting_at": ({}, 600),
    "channels.deliveries.list_after": ({"id": ONE, "after": 30_000, "limit": 100}, 150),
    "channels.deliveries.list_newest": ({"id": ONE, "limit": 20}, 150),
}  # fmt: skip


@pytest.fixture(scope="module")
async def full(server_conninfo: str, template: str) -> AsyncIterator[Connection]:
    async with new_database(server_conninfo, template) as name:
        conninfo = make_conninfo(server_conninfo, dbname=name)
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as conn:
            for statement in FILL:
                await conn.execute(statement, {"start": START, "channels": CHANNELS, "deliveries": DELIVERIES})
            await conn.execute("VACUUM ANALYZE")
            await conn.set_autocommit(False)
            yield conn


async def cost_of(conn: Connection, sql: str, values: dict[str, object]) -> tuple[list[str], int]:
    async with conn.transaction(force_rollback=True):
        cur = await conn.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT json) {sql}".encode(), values)
        row: Any = await cur.fetchone()
    plan: dict[str, Any] = row[0][0]["Plan"]
    found = [table for table in tables_read_in_full(plan) if table != "channels"]  # there are few of them
    return found, plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


@pytest.mark.parametrize("name", HOT)
async def test_a_statement_of_delivering_reads_no_table_in_full(name: str, full: Connection) -> None:
    values, budget = HOT[name]

    in_full, pages = await cost_of(full, sql_of(name), values)

    assert (in_full, pages <= budget) == ([], True), pages
