"""The statements on content use their indexes, and touch no more than they must, however many texts there are."""

from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from headwater.db import Connection
from headwater.ids import new_id
from tests.databases import new_database
from tests.db.test_every_statement import sql_of
from tests.db.test_plans import tables_read_in_full

pytestmark = pytest.mark.database

TEXTS = 20_000

FILL = (
    """
    INSERT INTO articles (id, url, url_key, title, seen_at)
    SELECT md5('a' || n)::uuid, 'https://example.com/' || n, sha256(n::text::bytea), 'title', now()
    FROM generate_series(1, %(texts)s) AS n
    """,
    """
    INSERT INTO content (
        article_id, url, url_key, title, text, keywords, authors, language, open_graph, linked_data, origins,
        word_count,
        content_hash, simhash, richness, extracted_at
    )
    SELECT md5('a' || n)::uuid, 'https://example.com/' || n, sha256(n::text::bytea), 'title ' || n,
        'river boats word' || mod(n, 500), '{}', '{}', (ARRAY['en', 'de', NULL, 'fr', 'ja'])[1 + mod(n, 5)], '{}', '[]',
        '{}', 5, sha256(('t' || n)::bytea), ('x' || substr(md5('s' || n), 1, 16))::bit(64)::bigint, 1, now()
    FROM generate_series(1, %(texts)s) AS n
    """,
)

HOT = {
    # function: the values it is called with, and how many 8 kB pages it may touch
    "_find_nearest": (
        {"ids": [new_id() for _ in range(50)], "simhashes": [n * 0x1234567890AB for n in range(50)]},
        1_500,
    ),
    "_find_originals": ({"hashes": [bytes([n]) * 32 for n in range(50)]}, 250),
    "search": ({"words": "word77", "limit": 20, "offset": 0}, 1_000),
}


@pytest.fixture(scope="module")
async def full(server_conninfo: str, template: str) -> AsyncIterator[Connection]:
    async with new_database(server_conninfo, template) as name:
        conn = await psycopg.AsyncConnection.connect(make_conninfo(server_conninfo, dbname=name), autocommit=True)
        for statement in FILL:
            await conn.execute(statement, {"texts": TEXTS})
        await conn.execute("VACUUM ANALYZE")
        yield conn
        await conn.close()


@pytest.mark.parametrize("name", HOT)
async def test_a_hot_statement_reads_no_table_in_full(name: str, full: Connection) -> None:
    values, budget = HOT[name]
    sql = sql_of(f"articles.content.{name}")

    cur = await full.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}".encode(), values)
    row: tuple[Any, ...] | None = await cur.fetchone()
    assert row is not None
    plan = row[0][0]["Plan"]

    assert tables_read_in_full(plan) == []
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= budget
