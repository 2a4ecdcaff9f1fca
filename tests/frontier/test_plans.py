"""The frontier's statements use their indexes and touch few pages, with a large host inside its delay in the way."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from headwater.db import Connection
from headwater.frontier.store import claims
from headwater.frontier.store.queue import batch_columns, merge
from headwater.frontier.types import FrontierOptions, Origin, Submission
from headwater.hosts.arrays import numbers
from headwater.hosts.keys import SHARDS, host_id_of, shard_of
from headwater.hosts.store.pages import EVERY_BAND, FEEDS_FIRST, parts
from headwater.ids import new_id
from tests.clock import START
from tests.databases import new_database
from tests.db.test_every_statement import sql_of
from tests.db.test_plans import tables_read_in_full
from tests.frontier.builders import FETCHED, an_answer, claim

pytestmark = pytest.mark.database

HOSTS = 20_000
PER_HOST = 5
BIG = 50_000  # URLs of one host that is inside its delay, the most urgent of all
SOURCE = UUID(int=7)

FILL = (
    """
    CREATE TEMP TABLE named AS
    SELECT n, name, ('x' || encode(substr(sha256(name::bytea), 1, 8), 'hex'))::bit(64)::bigint AS host_id
    FROM (
        SELECT n, CASE n WHEN 0 THEN 'big' ELSE 'h' || n END || '.example' AS name
        FROM generate_series(0, %(hosts)s) AS n
    ) AS numbered
    """,
    """
    INSERT INTO hosts (shard, host_id, name, band, page_due_at, free_at, not_before, url_count)
    SELECT mod(mod(host_id, 16) + 16, 16), host_id, name, CASE n WHEN 0 THEN 0 ELSE 1 + mod(n, 2) END,
        %(start)s::timestamptz - interval '1 day', free_at, free_at, 0
    FROM named
    CROSS JOIN LATERAL (
        SELECT %(start)s::timestamptz + CASE n WHEN 0 THEN interval '1 hour' ELSE -interval '1 second' * n END
    ) AS clock (free_at)
    """,
    """
    INSERT INTO frontier_url (shard, host_id, url_id, next_fetch_at, discovered_at, source_id, band, priority, status,
        origin, kind, url)
    SELECT mod(mod(host_id, 16) + 16, 16), host_id,
        ('x' || encode(substr(sha256(('://' || name || '/' || u)::bytea), 1, 8), 'hex'))::bit(64)::bigint,
        %(start)s::timestamptz - interval '1 minute' * u, %(start)s::timestamptz - interval '1 second' * (u + n),
        lpad(to_hex(mod(n, 100)), 32, '0')::uuid, CASE n WHEN 0 THEN 0 ELSE 1 + mod(n, 2) END,
        CASE n WHEN 0 THEN 9 ELSE 7 - 2 * mod(n, 2) END, 'p', 'f', 'a', '/' || u
    FROM named
    CROSS JOIN LATERAL generate_series(1, CASE n WHEN 0 THEN %(big)s ELSE %(per_host)s END) AS u
    """,
)


@pytest.fixture(scope="module")
async def full(server_conninfo: str, template: str) -> AsyncIterator[Connection]:
    """150,000 URLs on 20,001 hosts."""
    async with new_database(server_conninfo, template) as name:
        conn = await psycopg.AsyncConnection.connect(make_conninfo(server_conninfo, dbname=name), autocommit=True)
        for statement in FILL:
            await conn.execute(statement, {"start": START, "hosts": HOSTS, "per_host": PER_HOST, "big": BIG})
        await conn.execute("VACUUM ANALYZE")
        yield conn
        await conn.close()


def listed(*names: str, hosts: int, new: int = 0) -> dict[str, Any]:
    """What a batch of feeds submits: URLs that are known, and some that are new."""
    urls = [
        f"https://h{n}.example/{name}" for n in range(1, hosts + 1) for name in (*names, *(f"n{x}" for x in range(new)))
    ]
    submissions = [Submission(url, Origin.FEED, priority=1) for url in urls]
    _, batch = merge(submissions, START, FrontierOptions())
    return {**batch_columns(batch), "now": START, "dead_before": START, "poison": "poison", "most": 1_000_000}


def a_list(by: str, **more: Any) -> dict[str, Any]:
    big = host_id_of("big.example")
    nothing = {"source_id": None, "status": None, "origin": None, "text": None, "after_at": None}
    nothing |= {"after_host": None, "after_url": None, "from_url": None, "shard": shard_of(big), "host_id": big}
    return {**nothing, "by": by, "look": 50, "limit": 50, "now": START, **more}


def due(hosts: int) -> dict[str, Any]:
    ids = [host_id_of(f"h{n}.example") for n in range(1, hosts + 1)]
    return {
        "shards": numbers([shard_of(one) for one in ids]),
        "host_ids": numbers(ids),
        "strikes": numbers([0] * hosts),
        "bands": "{0,1,2,3}",
        "now": START,
    }


CLAIM = {
    "lease": new_id(),
    "now": START,
    "leased_until": START + timedelta(minutes=5),
    "feeds_first": START - FEEDS_FIRST,
    **parts(EVERY_BAND, range(SHARDS)),
}
MIDDLE = {"after_at": START - timedelta(minutes=5), "after_host": 0, "after_url": 0}
A_PLACE = {"after_host": 0, "after_url": 0, "number": 5, "at": "-infinity", "sort": "priority"}
HOT = {
    # the function, the values it is called with, and how many 8 kB pages it may touch
    "claim 1": ("hosts.pages.claim", {**CLAIM, "hosts": 1, "urls": 1}, 90),
    "claim 32": ("hosts.pages.claim", {**CLAIM, "hosts": 32, "urls": 4}, 700),
    "32 hosts x 4": ("frontier._due_urls", {**due(32), "urls": 4}, 600),
    "submit 500, all known": ("frontier._add", listed(*map(str, range(1, 6)), hosts=100), 500 * 5),
    "submit 500, half new": ("frontier._add", listed("1", "2", hosts=125, new=2), 250 * 5 + 250 * 25),
    "list the newest": ("frontier.listing.list_urls", a_list("time"), 300),
    "list on": ("frontier.listing.list_urls", a_list("time", **MIDDLE), 300),
    "list a source": ("frontier.listing.list_urls", a_list("source", source_id=SOURCE), 300),
    "list a host": ("frontier.listing.list_urls", a_list("host"), 300),
    "list sorted": ("frontier.listing.list_sorted", a_list("time", look=10_000, **A_PLACE), 50_000),
    "list a host sorted": ("frontier.listing.list_sorted", a_list("host", look=10_000, **A_PLACE), 50_000),
    "list by a rare text": ("frontier.listing.list_urls", a_list("time", look=2_000, text="nowhere"), 10_000),
    "count by a text": ("frontier.listing.count_urls", a_list("time", look=10_000, text="nowhere"), 50_000),
    "count a host": ("frontier.listing.count_urls", a_list("host", look=10_000), 50_000),
    "find one": ("frontier.listing.find", {"shard": 0, "host_id": 0, "url_id": 0, "now": START, "shards": SHARDS}, 20),
    "next ready": ("hosts.pages.next_ready_at", parts(EVERY_BAND, range(SHARDS)), 250),
}


@pytest.mark.parametrize("name", HOT)
async def test_a_hot_statement_reads_no_table_in_full(name: str, full: Connection) -> None:
    function, values, budget = HOT[name]

    plan = await explain(full, function, values)

    assert set(tables_read_in_full(plan)) & {"frontier_url", "hosts"} == set()
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= budget


async def test_a_claim_skips_a_large_host_inside_its_delay(full: Connection) -> None:
    plan = await explain(full, "hosts.pages.claim", {**CLAIM, "hosts": 10, "urls": 10})

    assert rows_passed_by(plan) == 0


async def test_an_answer_reads_no_table_in_full(full: Connection) -> None:
    async with full.transaction(force_rollback=True):
        hosts = await claim(full, hosts=32, urls=4)
        answers = [an_answer(host, *[FETCHED] * 4) for host in hosts]
        before = await rows_read_in_scans(full)
        await claims.answer(full, answers=answers, now=START)
        after = await rows_read_in_scans(full)

    assert sum(len(host.urls) for host in hosts) == 128
    assert after == before


async def explain(conn: Connection, function: str, values: dict[str, Any]) -> dict[str, Any]:
    sql = sql_of(function)
    async with conn.transaction(force_rollback=True):
        cur = await conn.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}".encode(), values)
        row = await cur.fetchone()
    assert row is not None
    return row[0][0]["Plan"]


def rows_passed_by(plan: dict[str, Any]) -> int:
    return plan.get("Rows Removed by Filter", 0) + sum(rows_passed_by(child) for child in plan.get("Plans", []))


async def rows_read_in_scans(conn: Connection) -> int:
    """Rows of these tables that this transaction read without an index."""
    cur = await conn.execute(
        """
        SELECT sum(pg_stat_get_xact_tuples_returned(oid))
        FROM pg_class
        WHERE relname IN ('frontier_url', 'hosts')
        """
    )
    row = await cur.fetchone()
    assert row is not None
    return row[0]
