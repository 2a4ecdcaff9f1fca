"""The queue of the search index stays quick when an outage of the index has filled it."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from headwater.db import Connection
from headwater.ids import new_id
from tests.clock import START
from tests.databases import new_database
from tests.db.test_every_statement import sql_of

pytestmark = pytest.mark.database

# function: the values it is called with, and how many 8 kB pages it may touch
HOT = {
    "claim": ({"lease": new_id(), "now": START, "leased_until": START + timedelta(minutes=1), "limit": 20}, 600),
    "oldest_at": ({}, 10),
    "list_refused": ({"limit": 20}, 50),
    "fill": ({"now": START, "limit": 20}, 600),
}


@pytest.fixture(scope="module")
async def full(server_conninfo: str, template: str) -> AsyncIterator[Connection]:
    """A hundred thousand entries, a tenth of them ready and a few dead, of as many articles."""
    async with new_database(server_conninfo, template) as name:
        conn = await psycopg.AsyncConnection.connect(make_conninfo(server_conninfo, dbname=name), autocommit=True)
        for statement in FILL:
            await conn.execute(statement, {"start": START})
        await conn.execute("VACUUM ANALYZE")
        yield conn
        await conn.close()


FILL = (
    """
    INSERT INTO channels (id, name, query, destination)
    VALUES (gen_random_uuid(), 'search-index', '*', 'search_index')
    """,
    "INSERT INTO search_index (target, since, channel_id) SELECT 'index', pg_current_xact_id(), id FROM channels",
    """
    INSERT INTO articles (id, url, url_key, title, seen_at)
    SELECT md5(n::text)::uuid, 'https://example.com/' || n, sha256(n::text::bytea), 'title', %(start)s
    FROM generate_series(1, 20000) AS n
    """,
    """
    INSERT INTO content (article_id, url, url_key, keywords, authors, open_graph, linked_data, origins, word_count,
        richness, extracted_at)
    SELECT id, url, url_key, '{}', '{}', '{}', '[]', '{}', 0, 0, %(start)s
    FROM articles
    """,
    """
    INSERT INTO deliveries (channel_id, revision, url_key, article_id, version, queued_version, action, queued_at,
        ready_at, reason)
    SELECT channel_id, n, sha256(n::text::bytea), md5(n::text)::uuid, 1, n, 'index',
        %(start)s::timestamptz + n * interval '1 second', %(start)s::timestamptz + (n - 10000) * interval '1 second',
        CASE WHEN mod(n, 1000) = 0 THEN 'odd' END
    FROM search_index, generate_series(1, 100000) AS n
    """,
)


@pytest.mark.parametrize("name", HOT)
async def test_a_hot_statement_reads_no_table_in_full(name: str, full: Connection) -> None:
    values, budget = HOT[name]
    sql = sql_of(f"documents.{name}")

    async with full.transaction(force_rollback=True):
        cur = await full.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}".encode(), values)
        row = await cur.fetchone()
    assert row is not None
    plan = row[0][0]["Plan"]

    assert set(tables_read_in_full(plan)) <= {"search_index", "channels"}
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= budget


def tables_read_in_full(plan: dict[str, Any]) -> list[str]:
    found = [plan["Relation Name"]] if plan["Node Type"] == "Seq Scan" else []
    return found + [name for child in plan.get("Plans", []) for name in tables_read_in_full(child)]
