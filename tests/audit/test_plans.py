"""The audit log reads what it shows, however long it is."""

from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from headwater.db import Connection
from tests.clock import START
from tests.databases import new_database
from tests.db.test_every_statement import sql_of
from tests.db.test_plans import tables_read_in_full

pytestmark = pytest.mark.database

LIST = sql_of("audit.list_entries")
FIRST: dict[str, Any] = {
    **dict.fromkeys(("action", "actor_id", "subject_id", "since", "before", "after", "at")),
    "actor": "", "subject": "", "name": "", "sort": "-time", "limit": 50,
}  # fmt: skip
MIDDLE = {"after": "80000000-0000-0000-0000-000000000000", "name": "source 5", "at": START}
FILL = """
    INSERT INTO audit_log (id, at, actor_name, action, subject_name)
    SELECT md5(n::text)::uuid, %(start)s::timestamptz + (n - 50000) * interval '1 second', 'command line',
        'source.' || mod(n, 7), 'Source ' || n
    FROM generate_series(1, 100000) AS n
"""


@pytest.fixture(scope="module")
async def long_log(server_conninfo: str, template: str) -> AsyncIterator[Connection]:
    """A hundred thousand entries."""
    async with new_database(server_conninfo, template) as name:
        conn = await psycopg.AsyncConnection.connect(make_conninfo(server_conninfo, dbname=name), autocommit=True)
        await conn.execute(FILL, {"start": START})
        await conn.execute("VACUUM ANALYZE")
        yield conn
        await conn.close()


@pytest.mark.parametrize("sort", ["time", "-time", "action", "-action", "target", "-target"])
@pytest.mark.parametrize("place", [{}, MIDDLE], ids=["first page", "later page"])
async def test_a_page_of_the_sorted_log_reads_what_it_shows(
    sort: str, place: dict[str, Any], long_log: Connection
) -> None:
    values = {**FIRST, **place, "sort": sort}
    if "name" in place and sort.endswith("action"):
        values["name"] = "source.3"

    cur = await long_log.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {LIST}".encode(), values)
    row = await cur.fetchone()

    assert row is not None
    plan = row[0][0]["Plan"]
    assert "audit_log" not in tables_read_in_full(plan)
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= 300
