"""The operators' pages stay quick however many sources there are and however many polls are remembered."""

from collections.abc import AsyncIterator, Iterator
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

pytestmark = pytest.mark.database

SOURCES = 5_000
POLLS = 300_000  # of thirty days
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
ONE = UUID("c4ca4238a0b923820dcc509a6f75849b")  # md5 of 1
FILL = (
    """
    INSERT INTO sources (id, name, feed_url, feed_url_key)
    SELECT md5(n::text)::uuid, 'source ' || n, 'https://example.com/' || n, sha256(n::text::bytea)
    FROM generate_series(1, %(sources)s) AS n
    """,
    """
    INSERT INTO feed_state (source_id, feed_url, host, next_poll_at, last_polled_at)
    SELECT id, feed_url, 'host' || mod(row_number() OVER (), 1000), %(start)s, %(start)s FROM sources
    """,
    """
    INSERT INTO poll_events (source_id, at, outcome, status, bytes, took_ms, new_articles)
    SELECT md5((1 + mod(n, %(sources)s))::text)::uuid,
        %(start)s::timestamptz - interval '30 days' * (%(polls)s - n) / %(polls)s,
        CASE WHEN mod(n, 20) = 0 THEN 'gone' ELSE 'polled' END, 200, 1000, 40, 1
    FROM generate_series(1, %(polls)s) AS n
    """,
    """
    INSERT INTO hosts (shard, host_id, name, feed_due_at)
    SELECT DISTINCT shard, host_id, host, %(start)s::timestamptz FROM feed_state
    """,
    "UPDATE poll_counting SET counted_until = %(start)s::timestamptz - interval '1 hour'",
)


@pytest.fixture(scope="module")
async def full(server_conninfo: str, template: str) -> AsyncIterator[Connection]:
    async with new_database(server_conninfo, template) as name:
        conn = await psycopg.AsyncConnection.connect(make_conninfo(server_conninfo, dbname=name), autocommit=True)
        for statement in FILL:
            await conn.execute(statement, {"start": START, "sources": SOURCES, "polls": POLLS})
        await conn.execute("VACUUM ANALYZE")
        yield conn
        await conn.close()


# The values it is called with; which tables it may read from end to end; and how many 8 kB pages it may touch.
STATEMENTS: dict[str, tuple[dict[str, Any], set[str], int]] = {
    "trend": (
        {"since": START - 30 * DAY, "step": DAY, "tail_most": 6 * HOUR, "earliest": START - 6 * HOUR},
        {"poll_hours", "poll_counting"},
        700,
    ),
    "count_span": ({"since": START - HOUR, "until": START}, {"poll_counting"}, 4_000),
    "rank": (
        {
            "period": "24h",
            "days_since": START.date() + DAY,
            "events_since": START - DAY,
            "polls_since": START - DAY,
            "limit": 10,
        },
        {"poll_days", "sources"},
        12_000,
    ),
    "list_polls": ({"id": ONE, "limit": 100}, set(), 150),
    "find_uptime": ({"id": ONE, "since": START - 30 * DAY}, set(), 150),
    "find_feed": ({"id": ONE}, set(), 20),
    "tally": ({}, {"sources", "feed_state"}, 1_500),
    "list_coming_back": ({"limit": 10}, {"sources", "feed_state"}, 1_500),
    "list_paused": ({"now": START, "limit": 10}, {"hosts"}, 100),
    "find_queues": ({"now": START, "most": 10_000}, {"hosts", "bodies", "deliveries", "frontier_tally"}, 300),
}


@pytest.mark.parametrize("name", STATEMENTS)
async def test_a_statement_reads_no_more_than_it_must(name: str, full: Connection) -> None:
    values, in_full, budget = STATEMENTS[name]
    await explain(full, name, values)  # fills the caches of the catalogue, whose reads are counted too

    plan = await explain(full, name, values)

    assert set(tables_read_in_full(plan)) <= in_full
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= budget


async def test_nothing_is_looked_up_in_the_frontier_for_sources_that_have_a_feed(full: Connection) -> None:
    plan = await explain(full, "tally", {})

    assert [node["Actual Loops"] for node in nodes(plan) if node.get("Relation Name") == "frontier_url"] != []
    assert {node["Actual Loops"] for node in nodes(plan) if node.get("Relation Name") == "frontier_url"} == {0}


async def explain(conn: Connection, function: str, values: dict[str, Any]) -> dict[str, Any]:
    sql = sql_of(f"health.{function}")
    async with conn.transaction(force_rollback=True):
        cur = await conn.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}".encode(), values)
        row = await cur.fetchone()
    assert row is not None
    return row[0][0]["Plan"]


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", []):
        yield from nodes(below)


def tables_read_in_full(plan: dict[str, Any]) -> list[str]:
    return [
        node["Relation Name"] for node in nodes(plan) if node["Node Type"] == "Seq Scan" and node["Actual Loops"] > 0
    ]
