"""A claim is cheap with 100,000 articles in the queue, in whatever state they are."""

import re
from collections.abc import AsyncIterator
from datetime import date, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from headwater.db import Connection, fetch_column
from headwater.ids import first_id_at
from tests.clock import START
from tests.databases import new_database
from tests.db.test_every_statement import sql_of
from tests.months import make_months

pytestmark = pytest.mark.database

NOW = START + timedelta(hours=1)

FILL = (
    """
    CREATE FUNCTION article(n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE RETURN (
        left(first_id_at(timestamptz '2026-03-01 12:00Z' - (n * interval '40 days') / 200000)::text, 14)
        || right(md5('a' || n), 20)
    )::uuid
    """,
    """
    INSERT INTO users (id, email, email_key)
    SELECT lpad(to_hex(n), 32, '0')::uuid, n || '@example.com', n || '@example.com' FROM generate_series(1, 100) AS n
    """,
    """
    INSERT INTO sources (id, name, feed_url, feed_url_key)
    SELECT md5('s' || n)::uuid, 'Source ' || n, 'https://s' || n || '.example/', sha256(('s' || n)::bytea)
    FROM generate_series(1, 1000) AS n
    """,
    """
    INSERT INTO article_sources (article_id, source_id, entry_id, seen_at, listed_at)
    SELECT article(n), md5('s' || 1 + mod(n, 1000))::uuid, n::text, %(start)s, %(start)s
    FROM generate_series(1, 20000) AS n
    """,
    """
    INSERT INTO subscriptions (id, user_id, source_id, name, created_at)
    SELECT md5(u || 'x' || n)::uuid, lpad(to_hex(u), 32, '0')::uuid, md5('s' || n)::uuid, 'Feed ' || n, %(start)s
    FROM generate_series(1, 100) AS u CROSS JOIN generate_series(u, 1000, u) AS n
    """,
    # Half of the articles are tagged. Of the others, a tenth is new to the queue, and a tenth is tried again later.
    """
    INSERT INTO article_state (article_id, ai_tagged, ai_due_at, ai_since, ai_readers)
    SELECT article(n), mod(n, 2) = 0,
        CASE mod(n, 10) WHEN 1 THEN %(start)s::timestamptz + interval '1 day'
            WHEN 3 THEN %(start)s WHEN 5 THEN %(start)s WHEN 7 THEN %(start)s WHEN 9 THEN %(start)s END,
        CASE WHEN mod(n, 2) = 1 AND mod(n, 10) <> 3 THEN %(start)s::timestamptz - n * interval '1 second' END,
        CASE WHEN mod(n, 10) = 1 THEN 100 ELSE mod(n, 50) END
    FROM generate_series(1, 200000) AS n
    """,
)


@pytest.fixture(scope="module")
async def full(server_conninfo: str, template: str) -> AsyncIterator[Connection]:
    async with new_database(server_conninfo, template) as name:
        conn = await psycopg.AsyncConnection.connect(make_conninfo(server_conninfo, dbname=name), autocommit=True)
        await make_months(conn, since=date(2025, 12, 1), until=date(2026, 5, 1))
        for statement in FILL:
            await conn.execute(statement, {"start": START})
        await conn.execute("VACUUM ANALYZE")
        yield conn
        await conn.close()


OLDEST = first_id_at(NOW - timedelta(days=3))
HOT: dict[str, tuple[dict[str, Any], int]] = {
    # the values it is called with, and how many 8 kB pages it may touch
    "tagging.admit": ({"oldest": OLDEST, "now": NOW, "limit": 500}, 3_000),
    "tagging._list_old": ({"oldest": OLDEST, "now": NOW, "limit": 500}, 3_000),
    "tagging.list_best": ({"now": NOW, "least_readers": 0, "limit": 4}, 300),
    "tagging.list_longest": ({"now": NOW, "since": NOW - timedelta(days=1), "limit": 1}, 200),
    "tagging.oldest_waiting_at": ({"now": NOW}, 200),
}


@pytest.mark.parametrize("name", HOT)
async def test_the_queue_is_read_by_its_index(full: Connection, name: str) -> None:
    values, budget = HOT[name]

    async with full.transaction(force_rollback=True):
        plan = await explain(full, sql_of(name), values)

    assert plan["Actual Rows"] == values.get("limit", 1)
    assert tables_read_in_full(plan) == []
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= budget


async def test_few_readers_are_many_when_the_budget_is_limited(full: Connection) -> None:
    values = {"now": NOW, "least_readers": 60, "limit": 4}

    plan = await explain(full, sql_of("tagging.list_best"), values)

    assert plan["Actual Rows"] == 0  # the 20,000 articles with so many readers are tried again later
    assert tables_read_in_full(plan) == []
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= 300


async def test_readers_are_counted_once_for_each_source(full: Connection) -> None:
    # Of the large month: PostgreSQL 15 scans the small one, half a day, at once.
    ids = await fetch_column(full, "SELECT article(n) FROM generate_series(10001, 10500) AS n")

    async with full.transaction(force_rollback=True):
        plan = await explain(full, sql_of("tagging._count_readers"), {"ids": ids})

    assert tables_read_in_full(plan) == []
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= 30_000


async def explain(conn: Connection, sql: str, values: dict[str, Any]) -> dict[str, Any]:
    cur = await conn.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}".encode(), values)
    row = await cur.fetchone()
    assert row is not None
    return row[0][0]["Plan"]


def tables_read_in_full(plan: dict[str, Any]) -> list[str]:
    """All but those of a few pages, and the subscriptions, which are counted by source."""
    pages = (plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]) / max(plan["Actual Loops"], 1)
    is_read = plan["Node Type"] == "Seq Scan" and pages > 10 and plan["Relation Name"] != "subscriptions"
    found = [re.sub(r"_(kept|default|y\d{4}m\d\d)$", "", plan["Relation Name"])] if is_read else []
    return found + [name for child in plan.get("Plans", []) for name in tables_read_in_full(child)]
