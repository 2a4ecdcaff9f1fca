"""The statements of the stage and the readers' lookups use indexes, however many articles and stories there are."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from headwater.db import Connection
from headwater.ids import first_id_at
from tests.clock import START
from tests.databases import new_database
from tests.db.test_every_statement import sql_of
from tests.db.test_plans import tables_read_in_full

pytestmark = pytest.mark.database

ARTICLES = 40_000
STORIES = ARTICLES // 5
FILL = (
    """
    INSERT INTO articles (id, url, url_key, title, seen_at, published_at)
    SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || lpad(to_hex(n), 20, '0'))::uuid,
        'https://example.com/' || n, sha256(n::text::bytea), 'title ' || n, at, at
    FROM generate_series(1, %(articles)s) AS n,
        LATERAL (SELECT %(start)s::timestamptz - n * interval '1 min') AS made (at)
    """,
    """
    INSERT INTO sources (id, name, feed_url, feed_url_key)
    SELECT md5(n::text)::uuid, 'source ' || n, 'https://example.com/' || n, sha256(n::text::bytea)
    FROM generate_series(0, 999) AS n
    """,
    """
    INSERT INTO article_sources (article_id, source_id, entry_id, seen_at, listed_at)
    SELECT id, md5(mod(row_number() OVER (ORDER BY id), 1000)::text)::uuid, url, seen_at, listed_at FROM articles
    """,
    """
    INSERT INTO article_state (article_id, embedding, classified_at, story_due, story_id)
    SELECT id, repeat('x', 512)::bytea, seen_at, row_number() OVER (ORDER BY id DESC) <= 50,
        md5('s' || row_number() OVER (ORDER BY id) / 5)::uuid
    FROM articles
    ON CONFLICT (article_id) DO UPDATE
    SET embedding = excluded.embedding, story_due = excluded.story_due, story_id = excluded.story_id
    """,
    """
    INSERT INTO stories (id, title, first_at, last_at, article_count, source_count)
    SELECT story_id, 'story', min(seen_at), max(seen_at), count(*), count(*)
    FROM article_state JOIN articles ON id = article_id GROUP BY story_id
    """,
)
ONE_STORY = "md5('s100')::uuid"
# What the lists, the article's page and the operators' view look up (docs/understanding.md).
LOOKUPS = {
    "the stories of the articles of a page": (
        "SELECT article_id, story_id FROM article_state WHERE article_id = ANY(%(ids)s::uuid[])",
        400,
    ),
    "the other articles of a story": (
        f"SELECT article_id FROM article_state WHERE story_id = {ONE_STORY} ORDER BY article_id DESC LIMIT 20",
        100,
    ),
    "the largest stories of a day": (
        "SELECT * FROM stories WHERE last_at >= %(since)s::timestamptz ORDER BY source_count DESC, id LIMIT 20",
        100,
    ),
}
HOT: dict[str, tuple[dict[str, Any], int]] = {
    "stories.list_due": ({"limit": 100}, 200),
    "stories.oldest_due_at": ({}, 200),
    "stories.list_placed": ({"after": first_id_at(START), "limit": 1000}, 1_000),
}


@pytest.fixture(scope="module")
async def full(server_conninfo: str, template: str) -> AsyncIterator[Connection]:
    """A month of articles in stories, fifty of them due."""
    async with new_database(server_conninfo, template) as name:
        conn = await psycopg.AsyncConnection.connect(make_conninfo(server_conninfo, dbname=name), autocommit=True)
        for statement in FILL:
            await conn.execute(statement, {"articles": ARTICLES, "start": START})  # pyright: ignore[reportArgumentType]
        await conn.execute("VACUUM ANALYZE")
        yield conn
        await conn.close()


async def cost_of(conn: Connection, sql: str, values: dict[str, Any]) -> tuple[list[str], int]:
    async with conn.transaction(force_rollback=True):
        cur = await conn.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}".encode(), values)
        row = await cur.fetchone()
    assert row is not None
    plan = row[0][0]["Plan"]
    return tables_read_in_full(plan), plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


@pytest.mark.parametrize("name", HOT)
async def test_a_statement_of_the_stage_reads_no_table_in_full(name: str, full: Connection) -> None:
    values, budget = HOT[name]

    in_full, pages = await cost_of(full, sql_of(name), values)

    assert (in_full, pages <= budget) == ([], True), pages


@pytest.mark.parametrize("name", ["stories.read_articles", "stories._write_counts", "stories._delete_empty"])
async def test_a_batch_costs_what_its_articles_cost(name: str, full: Connection) -> None:
    cur = await full.execute("SELECT article_id, story_id FROM article_state WHERE story_due")
    rows = await cur.fetchall()
    ids: list[UUID] = [row[0] for row in rows] if name.endswith("articles") else sorted({row[1] for row in rows})

    values = {"ids": ids, "heads": [None] * len(ids), "visible": [row[0] for row in rows], "lead": 500}
    in_full, pages = await cost_of(full, sql_of(name), values)

    assert (in_full, pages <= 60 * len(rows)) == ([], True), pages


@pytest.mark.parametrize("name", LOOKUPS)
async def test_a_lookup_of_readers_reads_no_table_in_full(name: str, full: Connection) -> None:
    sql, budget = LOOKUPS[name]

    cur = await full.execute("SELECT article_id FROM article_state ORDER BY article_id DESC LIMIT 50")
    ids = [row[0] for row in await cur.fetchall()]

    in_full, pages = await cost_of(full, sql, {"since": START.replace(hour=0), "ids": ids})

    assert (in_full, pages <= budget) == ([], True), pages
