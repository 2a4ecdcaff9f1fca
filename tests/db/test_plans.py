"""The hot statements use their indexes, and touch no more than they must, however large the tables are."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from hashlib import md5, sha256
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from headwater.db import Connection
from headwater.ids import ids_at, new_id
from tests.clock import START
from tests.databases import new_database
from tests.db.test_every_statement import sql_of

pytestmark = pytest.mark.database

FEEDS = 20_000
ARTICLES = 50_000
ENTRIES = 50  # a thousandth of the articles: for a larger part of tables this small, a look at all is quicker


@pytest.fixture(scope="module")
async def full(server_conninfo: str, template: str) -> AsyncIterator[Connection]:
    """Many feeds, a hundred of them due, and many articles."""
    async with new_database(server_conninfo, template) as name:
        conn = await psycopg.AsyncConnection.connect(make_conninfo(server_conninfo, dbname=name), autocommit=True)
        values = {"start": START, "feeds": FEEDS, "articles": ARTICLES}
        for statement in FILL:
            await conn.execute(statement, values)
        await conn.execute("VACUUM ANALYZE")
        yield conn
        await conn.close()


FILL = (
    """
    INSERT INTO article_urls (url_key, article_id)
    SELECT sha256(('a' || n)::bytea), md5('a' || n)::uuid
    FROM generate_series(1, %(articles)s) AS n
    """,
    """
    INSERT INTO sources (id, name, feed_url, feed_url_key)
    SELECT md5(n::text)::uuid, 'source ' || n, 'https://example.com/' || n, sha256(n::text::bytea)
    FROM generate_series(1, %(feeds)s) AS n
    """,
    """
    INSERT INTO feed_state (source_id, feed_url, host, next_poll_at, last_polled_at)
    SELECT id, feed_url, 'host' || mod(row_number() OVER (), 5000),
        %(start)s::timestamptz + (row_number() OVER () - 100) * interval '1 second', %(start)s
    FROM sources
    """,
    """
    INSERT INTO hosts (shard, host_id, name, feed_due_at, answered_at)
    SELECT shard, host_id, host, min(next_poll_at),
        CASE WHEN mod(hashtext(host), 2) = 0 THEN %(start)s::timestamptz END
    FROM feed_state
    GROUP BY shard, host_id, host
    """,
    """
    INSERT INTO articles (id, url, url_key, title, seen_at)
    SELECT md5('a' || n)::uuid, 'https://example.com/a' || n, sha256(('a' || n)::bytea), 'title ' || n,
        %(start)s::timestamptz + n * interval '1 second'
    FROM generate_series(1, %(articles)s) AS n
    """,
    """
    INSERT INTO article_sources (article_id, source_id, entry_id, seen_at, listed_at)
    SELECT md5('a' || n)::uuid, md5((1 + mod(n, %(feeds)s))::text)::uuid, n::text, %(start)s,
        %(start)s::timestamptz + n * interval '1 second'
    FROM generate_series(1, %(articles)s) AS n
    """,
    """
    INSERT INTO bodies (
        id, url, final_url, kind, source_id, depth, content_type, body, fetched_at, ready_at, owner, turn_at
    )
    SELECT md5('b' || n)::uuid, 'x', 'x', 'article', md5((1 + mod(n, 500))::text)::uuid, 0, '', repeat('x', 500)::bytea,
        %(start)s, %(start)s, hashtextextended((md5((1 + mod(n, 500))::text)::uuid)::text, 0),
        %(start)s::timestamptz + n * interval '1 second'
    FROM generate_series(1, 20000) AS n
    """,
    """
    INSERT INTO article_state (article_id, classify_at)
    SELECT md5('a' || n)::uuid, CASE WHEN mod(n, 10) = 0 THEN %(start)s::timestamptz + n * interval '1 second' END
    FROM generate_series(1, %(articles)s) AS n
    """,
    """
    INSERT INTO labels (article_id, scheme, label, method, score, version, made_at, is_shown, is_disputed)
    SELECT md5('a' || n)::uuid, scheme, 'label', 'model', 0.5, '1', %(start)s, true, false
    FROM generate_series(1, %(articles)s) AS n
    CROSS JOIN unnest(ARRAY['quality', 'type']) AS scheme
    """,
    """
    INSERT INTO source_reputation (source_id, due_at)
    SELECT id, CASE WHEN id < md5('1')::uuid THEN %(start)s::timestamptz + interval '1 day' ELSE %(start)s END
    FROM sources
    """,
)


def an_id(text: str) -> UUID:
    """As PostgreSQL's `md5(text)::uuid`."""
    return UUID(md5(text.encode(), usedforsecurity=False).hexdigest())


TOLD = {
    "ids": [an_id(f"a{n}") for n in range(ENTRIES)],
    "titles": ["title"] * ENTRIES,
    "authors": [None] * ENTRIES,
    "summaries": [None] * ENTRIES,
    "contents": [None] * ENTRIES,
    "published": [None] * ENTRIES,
    "own": [True] * ENTRIES,
    "urls": ["https://example.com/a"] * ENTRIES,
    "source_ids": [an_id("1")] * ENTRIES,
    "entry_ids": ["1"] * ENTRIES,
    "enclosures": [None] * ENTRIES,
}
LINKED = {
    "seen_at": START,
    "ids": [an_id(f"a{n}") for n in range(1, ENTRIES)],
    "source_ids": [an_id(str(n + 1)) for n in range(1, ENTRIES)],
    "entry_ids": [str(n) for n in range(1, ENTRIES)],
    "titles": ["Another title"] * (ENTRIES - 1),
    "authors": ["Ann"] * (ENTRIES - 1),
    "summaries": ["More words"] * (ENTRIES - 1),
    "contents": ["All words"] * (ENTRIES - 1),
    "published": [START] * (ENTRIES - 1),
    "own": [False] * (ENTRIES - 1),
    "urls": ["https://example.com/a"] * (ENTRIES - 1),
    "enclosures": ['[{"url": "https://example.com/a.mp3"}]'] * (ENTRIES - 1),
}
HOT = {
    # folder and function: the values it is called with, and how many 8 kB pages it may touch
    "hosts.feeds.claim": (
        {"lease": new_id(), "now": START, "leased_until": START + timedelta(minutes=1), "limit": 10, "new_limit": 5},
        300,
    ),
    "polling._list_due": ({"hosts": [f"host{n}" for n in range(10)], "now": START + timedelta(hours=1)}, 200),
    "polling.find_feed": ({"source_id": UUID("c4ca4238a0b923820dcc509a6f75849b")}, 20),
    "polling.oldest_due_at": ({"now": START}, 500),
    "bodies.claim": (
        {"kind": "article", "lease": new_id(), "now": START, "leased_until": START + timedelta(minutes=1), "limit": 10},
        400,
    ),
    "bodies.list_backlogged": ({"ids": [an_id(str(n)) for n in range(400, 450)], "after": START}, 600),
    "articles._find_known": ({"url_keys": [sha256(f"a{n}".encode()).digest() for n in range(ENTRIES)]}, 800),
    "articles._known_by_id": (
        {
            "source_ids": [an_id(str(n)) for n in range(ENTRIES)],
            "entry_ids": [str(n - 1) for n in range(ENTRIES)],
            "url_keys": [b"another"] * ENTRIES,
        },
        2_000,
    ),
    "articles._add": (
        {
            **TOLD,
            "ids": ids_at(START, ENTRIES),
            "urls": ["https://example.com/new"] * ENTRIES,
            "url_keys": [f"new {n}".encode() for n in range(ENTRIES)],
            "source_ids": [an_id(str(n)) for n in range(1, ENTRIES + 1)],
            "entry_ids": ["new"] * ENTRIES,
            "seen_at": START,
            "classify_at": START,
        },
        2_500,
    ),
    "articles._find_outdated": (TOLD, 1_000),
    "articles._renew": (TOLD, 10_000),
    "articles.link": (LINKED, 3_000),
    "articles.links._update": (LINKED, 3_000),
    "understanding._find_due": ({"now": START + timedelta(minutes=1), "limit": 40}, 300),
    "understanding._lease": ({"ids": TOLD["ids"], "lease": new_id(), "until": START}, 2_000),
    "understanding.oldest_due_at": ({"now": START + timedelta(minutes=1)}, 20),
    "understanding.read_articles": ({"ids": TOLD["ids"], "max_chars": 50_000}, 2_000),
    "understanding.find_ours": ({"ids": TOLD["ids"], "lease": new_id()}, 500),
    "understanding.finish": (
        {
            "ids": TOLD["ids"],
            "embeddings": [b"x" * 512] * ENTRIES,
            "unsure": [True] * ENTRIES,
            "now": START,
        },
        3_000,
    ),
    "understanding.has_due_sources": ({"now": START}, 20),
    "understanding.take_due_sources": ({"now": START, "limit": 20}, 200),
    "understanding.measure_sources": ({"ids": [an_id(str(n)) for n in range(1, 21)], "newest": 100}, 1_500),
    "articles.latest": ({"limit": 50}, 1_000),
    "articles.latest_of_source": ({"source_id": UUID("c4ca4238a0b923820dcc509a6f75849b"), "limit": 50}, 100),
}


@pytest.mark.parametrize("name", HOT)
async def test_a_hot_statement_reads_no_table_in_full(name: str, full: Connection) -> None:
    values, budget = HOT[name]
    sql = sql_of(name)

    async with full.transaction(force_rollback=True):
        cur = await full.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}".encode(), values)
        row = await cur.fetchone()
    assert row is not None
    plan = row[0][0]["Plan"]

    assert tables_read_in_full(plan) == []
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= budget


def tables_read_in_full(plan: dict[str, Any]) -> list[str]:
    """All but those of a few pages, as of a month that has just begun: there an index is a detour."""
    pages = (plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]) / max(plan["Actual Loops"], 1)
    is_read = plan["Node Type"] == "Seq Scan" and pages > 10
    found = [re.sub(r"_(kept|default|y\d{4}m\d\d)$", "", plan["Relation Name"])] if is_read else []
    return found + [name for child in plan.get("Plans", []) for name in tables_read_in_full(child)]
