"""The statements that remove rows find them by an index, however large the tables are."""

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
from tests.db.test_every_statement import IN_STORES, sql_of
from tests.db.test_plans import an_id, tables_read_in_full

pytestmark = pytest.mark.database

FILL = """
INSERT INTO users (id, email, email_key)
SELECT md5('u' || n)::uuid, n || '@example.com', n || '@example.com' FROM generate_series(1, 100) AS n;
INSERT INTO sources (id, name, feed_url, feed_url_key, submitted_by)
SELECT md5(n::text)::uuid, 'x', 'https://example.com/' || n, sha256(n::text::bytea), md5('u' || mod(n, 100))::uuid
FROM generate_series(1, 2000) AS n WHERE mod(n, 100) > 0;
INSERT INTO articles (id, url, url_key, title, seen_at)
SELECT md5('a' || n)::uuid, 'https://example.com/a' || n, sha256(('a' || n)::bytea), 'x', now()
FROM generate_series(1, 40000) AS n;
INSERT INTO article_urls (url_key, article_id)
SELECT sha256(('a' || n)::bytea), md5('a' || n)::uuid FROM generate_series(1, 40000) AS n;
INSERT INTO article_sources (article_id, source_id, entry_id, seen_at, listed_at)
SELECT md5('a' || n)::uuid, md5((1 + mod(n, 99))::text)::uuid, n::text, now(), now()
FROM generate_series(1, 40000) AS n;
INSERT INTO marks (user_id, article_id, is_read)
SELECT md5('u' || (1 + mod(n, 99)))::uuid, md5('a' || n)::uuid, true FROM generate_series(1, 40000) AS n;
INSERT INTO poll_events (source_id, at, outcome, bytes, took_ms, new_articles)
SELECT md5((1 + mod(n, 99))::text)::uuid, now(), 'polled', 1, 1, 1 FROM generate_series(1, 40000) AS n;
INSERT INTO poll_days (day, source_id, polls, failures, new_articles, took_ms)
SELECT date '2026-01-01' + d, md5(n::text)::uuid, 1, 1, 1, 1
FROM generate_series(1, 2000) AS n, generate_series(1, 20) AS d;
INSERT INTO events (id, user_id, event_type, created_at)
SELECT gen_random_uuid(), md5('u' || (1 + mod(n, 99)))::uuid, 'x', now() FROM generate_series(1, 40000) AS n;
INSERT INTO bodies (id, url, final_url, kind, source_id, depth, content_type, body, fetched_at, ready_at, turn_at)
SELECT gen_random_uuid(), 'x', 'x', 'article', md5((1 + mod(n, 99))::text)::uuid, 0, 'x',
    repeat('x', 500)::bytea, now(), now(), now()
FROM generate_series(1, 10000) AS n;
INSERT INTO audit_log (id, at, actor_id, actor_name, action, subject_name)
SELECT gen_random_uuid(), now(), md5('u' || (1 + mod(n, 99)))::uuid, 'x', 'x', 'x' FROM generate_series(1, 20000) AS n
"""
SOME = [an_id(f"a{n}") for n in range(1, 51)]
OF_SOURCE = {"source_id": an_id("7"), "limit": 50}
OF_USER = {"user_id": an_id("u7"), "limit": 50}
LEASE = {"lease": new_id(), "now": START, "leased_until": START + timedelta(minutes=1)}
REMOVING = {
    # folder and function: the values, and how many 8 kB pages it may touch
    "removal.claim": (LEASE | {"limit": 10, "implausible": START + timedelta(hours=1)}, 200),
    "removal.renew": (LEASE | {"id": an_id("7")}, 100),
    "articles.list_linked": (OF_SOURCE, 400),
    "articles.lock": ({"ids": SOME}, 1_000),
    "articles.unlink": ({"source_id": an_id("7"), "ids": SOME}, 2_000),
    "bodies.delete_of_source": (OF_SOURCE, 2_000),
    "polling.delete_events_of": (OF_SOURCE, 2_000),
    "library.marks.remove_of": (OF_USER, 3_000),
    "library.subscriptions.remove_of": (OF_USER, 1_000),
    "accounts.events.remove_of": (OF_USER, 2_000),
    "audit.clear_actor": (OF_USER, 5_000),
    "sources.clear_submitter": (OF_USER, 5_000),
}


@pytest.fixture(scope="module")
async def full(server_conninfo: str, template: str) -> AsyncIterator[Connection]:
    async with new_database(server_conninfo, template) as name:
        conn = await psycopg.AsyncConnection.connect(make_conninfo(server_conninfo, dbname=name), autocommit=True)
        for statement in FILL.split(";"):
            await conn.execute(statement.encode())
        await conn.execute("VACUUM ANALYZE")
        yield conn
        await conn.close()


async def plan_of(conn: Connection, sql: str | None, values: dict[str, Any]) -> dict[str, Any]:
    async with conn.transaction(force_rollback=True):
        cur = await conn.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}".encode(), values)
        row = await cur.fetchone()
    assert row is not None
    return row[0][0]["Plan"]


@pytest.mark.parametrize("name", REMOVING)
async def test_a_statement_that_removes_reads_no_table_in_full(name: str, full: Connection) -> None:
    values, budget = REMOVING[name]
    sql = sql_of(name)

    plan = await plan_of(full, sql, values)

    assert tables_read_in_full(plan) == []
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= budget


async def test_articles_that_only_one_source_lists_are_deleted_by_their_ids(full: Connection) -> None:
    values = {"ids": SOME, "except_for": an_id("7")}
    sql = sql_of("articles.remove_unlisted")

    assert tables_read_in_full(await plan_of(full, sql, values)) == []


async def test_days_of_a_source_are_found_by_their_key(full: Connection) -> None:
    (sql,) = (one.sql for one in IN_STORES if one.function == "remove_of_source" and "poll_days" in (one.sql or ""))

    assert tables_read_in_full(await plan_of(full, sql, {"source_id": an_id("7")})) == []
