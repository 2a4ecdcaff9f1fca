"""Claims and lookups use an index, however many images there are."""

from collections.abc import AsyncIterator
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

FILL = """
    INSERT INTO images (owner_id, kind, url, host, wanted_at, ready_at, digest, data)
    SELECT md5('i' || n)::uuid, CASE WHEN mod(n, 20) = 0 THEN 'icon' ELSE 'lead' END, 'https://h.example/' || n,
        'h' || mod(n, 500) || '.example', %(start)s, CASE WHEN mod(n, 10) = 0 THEN %(start)s END,
        CASE WHEN mod(n, 10) > 0 THEN md5(n::text) END, CASE WHEN mod(n, 10) > 0 THEN sha256(n::text::bytea) END
    FROM generate_series(1, 30000) AS n
"""


@pytest.fixture(scope="module")
async def full(server_conninfo: str, template: str) -> AsyncIterator[Connection]:
    async with new_database(server_conninfo, template) as name:
        conn = await psycopg.AsyncConnection.connect(make_conninfo(server_conninfo, dbname=name), autocommit=True)
        await conn.execute(FILL, {"start": START})
        await conn.execute("VACUUM ANALYZE")
        yield conn
        await conn.close()


CLAIM = {
    "kinds": ["icon", "lead"], "busy": ["h1.example"], "lease": UUID(int=1), "now": START, "leased_until": START,
    "look": 500, "limit": 4,
}  # fmt: skip
HOT: dict[str, tuple[str, dict[str, Any], int]] = {
    # the function, the values it is called with, and how many 8 kB pages it may touch
    "claim": ("claim", CLAIM, 3_000),
    "the same image": ("find_same", {"url": "https://h.example/7"}, 10),
    "the longest wait": ("oldest_due_at", {"now": START}, 10),
}


@pytest.mark.parametrize("name", HOT)
async def test_a_statement_of_the_stage_reads_no_table_in_full(name: str, full: Connection) -> None:
    function, values, budget = HOT[name]
    statement = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql_of(f'images.{function}')}".encode()

    async with full.transaction(force_rollback=True):
        [(found,)] = await (await full.execute(statement, values)).fetchall()

    plan = found[0]["Plan"]
    assert tables_read_in_full(plan) == []
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= budget
