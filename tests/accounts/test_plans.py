"""The table of users reads what it shows, however many users there are."""

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

TABLE = sql_of("accounts.people.list_rows")
FIRST: dict[str, Any] = {
    "text": "", "role": None, "confirmed": None, "seen_before": None, "after": None, "sort": "joined", "name": "",
    "number": 0, "at": "-infinity", "limit": 51,
}  # fmt: skip
MIDDLE = {"after": "80000000-0000-0000-0000-000000000000", "name": "user5", "number": 50, "at": START}
FILL = (
    """
    INSERT INTO users (id, email, email_key, karma, created_at)
    SELECT md5(n::text)::uuid, 'user' || n || '@example.com', 'user' || n || '@example.com', mod(n, 100),
        %(start)s::timestamptz + (n - 10000) * interval '1 second'
    FROM generate_series(1, 20000) AS n
    """,
    """
    INSERT INTO sessions (id, user_id, access_hash, access_until, refresh_hash, refresh_until, seen_at, started_at,
        address, user_agent)
    SELECT md5('s' || n)::uuid, md5(n::text)::uuid, sha256(n::text::bytea), %(start)s, sha256(('r' || n)::bytea),
        %(start)s, %(start)s, %(start)s, '', ''
    FROM generate_series(1, 20000) AS n
    """,
)


@pytest.fixture(scope="module")
async def crowded(server_conninfo: str, template: str) -> AsyncIterator[Connection]:
    """Twenty thousand users with a session each."""
    async with new_database(server_conninfo, template) as name:
        conn = await psycopg.AsyncConnection.connect(make_conninfo(server_conninfo, dbname=name), autocommit=True)
        for statement in FILL:
            await conn.execute(statement, {"start": START})
        await conn.execute("VACUUM ANALYZE")
        yield conn
        await conn.close()


@pytest.mark.parametrize("sort", ["email", "-email", "joined", "-joined", "reputation", "-reputation"])
@pytest.mark.parametrize("place", [{}, MIDDLE], ids=["first page", "later page"])
async def test_a_page_of_the_sorted_table_reads_what_it_shows(
    sort: str, place: dict[str, Any], crowded: Connection
) -> None:
    cur = await crowded.execute(
        f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {TABLE}".encode(), {**FIRST, **place, "sort": sort}
    )
    row = await cur.fetchone()

    assert row is not None
    plan = row[0][0]["Plan"]
    assert [name for name in tables_read_in_full(plan) if name in {"users", "sessions"}] == []
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= 700
