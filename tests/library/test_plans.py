"""What a reader waits for touches few pages, with row-level security on, many articles and many readers in the way."""

import hashlib
from collections.abc import AsyncIterator
from datetime import date, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from headwater.db import Connection, set_user
from headwater.types import UserId
from tests.clock import START
from tests.databases import new_database
from tests.db.test_every_statement import sql_of
from tests.db.test_plans import tables_read_in_full
from tests.months import make_months

pytestmark = pytest.mark.database

SOURCES = 2_000
ARTICLES = 50_000
READER = UserId(UUID(int=1))
READERS = 50
LATEST = {"listed_at": "infinity", "article_id": UUID(int=2**128 - 1)}
OLD = {"listed_at": START - timedelta(days=300), "article_id": UUID(int=0)}
PAGE = {"feed": None, "category": None, "limit": 30, "look": 1_200, **LATEST}

FILL = (
    """
    CREATE FUNCTION article(n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE RETURN (
        left(first_id_at(timestamptz '2026-03-01 12:00Z' - (n * interval '1 year') / 50000)::text, 14)
        || right(md5('a' || n), 20)
    )::uuid
    """,
    """
    INSERT INTO users (id, email, email_key)
    SELECT lpad(to_hex(n), 32, '0')::uuid, n || '@example.com', n || '@example.com'
    FROM generate_series(1, %(readers)s) AS n
    """,
    """
    INSERT INTO sources (id, name, feed_url, feed_url_key)
    SELECT md5('s' || n)::uuid, 'Source ' || n, 'https://s' || n || '.example/', sha256(('s' || n)::bytea)
    FROM generate_series(1, %(sources)s) AS n
    """,
    """
    INSERT INTO feed_state (source_id, feed_url, host, next_poll_at)
    SELECT id, feed_url, name, %(start)s FROM sources
    """,
    """
    INSERT INTO articles (id, url, url_key, title, seen_at)
    SELECT article(n), 'https://example.com/a' || n, sha256(('a' || n)::bytea),
        CASE WHEN mod(n, 5000) = 0 THEN 'A quokka' ELSE 'Some water' END,
        %(start)s::timestamptz - (n * interval '1 year') / %(articles)s
    FROM generate_series(1, %(articles)s) AS n
    """,
    """
    INSERT INTO article_sources (article_id, source_id, entry_id, seen_at, listed_at)
    SELECT article(n), md5('s' || 1 + mod(n, %(sources)s))::uuid, n::text, %(start)s,
        %(start)s::timestamptz - (n * interval '1 year') / %(articles)s
    FROM generate_series(1, %(articles)s) AS n
    """,
    """
    INSERT INTO content (article_id, url, url_key, text, keywords, authors, language, open_graph, linked_data, origins,
        word_count, richness, extracted_at)
    SELECT article(n), 'https://example.com/a' || n, sha256(('a' || n)::bytea),
        'About water and w' || n || repeat(' and more of it', 20), '{}', '{}', 'en', '{}', '{}', '{}', 60, 1, %(start)s
    FROM generate_series(1, %(articles)s, 10) AS n
    """,
    # The reader follows half of all sources, and has read all up to half a year ago in every second one of them.
    """
    INSERT INTO subscriptions (id, user_id, source_id, name, read_until, created_at)
    SELECT md5(u || 'x' || n)::uuid, lpad(to_hex(u), 32, '0')::uuid, md5('s' || n)::uuid, 'Feed ' || n,
        CASE WHEN mod(n, 4) = 1 THEN '-infinity' ELSE %(start)s::timestamptz - interval '180 days' END, %(start)s
    FROM generate_series(1, %(readers)s) AS u
    CROSS JOIN generate_series(u, %(sources)s, 2 * u) AS n
    """,
    # Everybody has read the same 2,000, the newest among them.
    """
    INSERT INTO marks (user_id, article_id, is_read, starred_at)
    SELECT lpad(to_hex(u), 32, '0')::uuid, article(n), true, CASE WHEN mod(n, 10) = 0 THEN %(start)s END
    FROM generate_series(1, %(readers)s) AS u
    CROSS JOIN generate_series(1, 4000, 2) AS n
    """,
)


@pytest.fixture(scope="module")
async def full(server_conninfo: str, template: str) -> AsyncIterator[Connection]:
    """A reader of 1,000 feeds."""
    values = {"start": START, "sources": SOURCES, "articles": ARTICLES, "readers": READERS}
    async with new_database(server_conninfo, template) as name:
        conn = await psycopg.AsyncConnection.connect(make_conninfo(server_conninfo, dbname=name), autocommit=True)
        await make_months(conn, since=date(2025, 3, 1), until=date(2026, 5, 1))
        for statement in FILL:
            await conn.execute(statement, values)
        await conn.execute("VACUUM ANALYZE")
        yield conn
        await conn.close()


@pytest.fixture(scope="module")
async def uneven(server_conninfo: str, template: str) -> AsyncIterator[Connection]:
    """A reader of 2,000 feeds, one of which lists every article there is."""
    values = {"start": START, "sources": SOURCES, "articles": ARTICLES, "readers": 1}
    async with new_database(server_conninfo, template) as name:
        conn = await psycopg.AsyncConnection.connect(make_conninfo(server_conninfo, dbname=name), autocommit=True)
        await make_months(conn, since=date(2025, 3, 1), until=date(2026, 5, 1))
        for statement in FILL:
            one_source = statement.replace("1 + mod(n, %(sources)s)", "1").replace("2 * u", "u")
            await conn.execute(one_source, values)
        await conn.execute("VACUUM ANALYZE")
        yield conn
        await conn.close()


ONE_FEED = UUID("9e4acee6ed56bf7e37a9da9a2f13ff40")
SOME = [UUID(int=n) for n in range(60)]
HOT: dict[str, tuple[str, dict[str, Any], int]] = {
    # the function, the values it is called with, and how many 8 kB pages it may touch
    "newest": ("_list_newest_places", PAGE, 1_000),
    "newest, far back": ("_list_newest_places", PAGE | OLD, 1_000),
    "newest of a feed": ("_list_newest_places", PAGE | {"feed": ONE_FEED}, 400),
    "newest of a category": ("_list_newest_places", PAGE | {"category": "None"}, 100),
    "unread": ("_list_unread_places", PAGE, 5_000),
    "unread, few left": ("_list_unread_places", PAGE | OLD, 8_000),
    "what a page of lines shows": (
        "_view",
        {"article_ids": SOME[:30], "feed": None, "category": None, "is_unread": True},
        1_500,
    ),
    "starred": ("list_starred", PAGE, 1_000),
    "feeds": ("list_feeds", {"search": "", "status": "all", "limit": 20, "offset": 0}, 500),
    "neighbours": ("list_unread_counts", {"most": 100}, 120_000),
    "one article": ("find_article", {"id": UUID(int=5)}, 50),
    "hits of a rare word": ("find_hits", {"words": "quokka", "most": 5_000}, 400),
    "hits of a common word": ("find_hits", {"words": "water", "most": 5_000}, 2_000),
    "hits among some": ("find_hits_among", {"words": "water", "article_ids": SOME}, 3_000),
    "lines among some": ("list_among", PAGE | {"article_ids": SOME, "since": None}, 2_000),
    "starred words": ("search_starred", PAGE | {"words": "quokka", "since": None}, 8_000),
}
STOP_EARLY = {"hits of a common word"}  # whichever way it is looked for, so many are found soon
SHARED = {"articles", "article_sources", "content", "marks"}


@pytest.mark.parametrize("name", HOT)
async def test_a_list_reads_no_table_in_full(name: str, full: Connection) -> None:
    function, values, budget = HOT[name]

    plan = await explain(full, function, values)

    assert set(tables_read_in_full(plan)) & SHARED == set() or name in STOP_EARLY
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= budget


EMPTY_FEED = UUID(hashlib.md5(b"1x2").hexdigest())  # noqa: S324  as the rows are made
UNEVEN: dict[str, tuple[str, dict[str, Any], int]] = {
    **{name: HOT[name] for name in ("newest", "unread", "starred", "feeds", "one article", "lines among some")},
    "neighbours": ("list_unread_counts", {"most": 100}, 80_000),
    "newest, far back": ("_list_newest_places", PAGE | OLD, 30_000),
    "unread, few left": ("_list_unread_places", PAGE | OLD, 30_000),
    "newest of an empty feed": ("_list_newest_places", PAGE | {"feed": EMPTY_FEED}, 400),
    "unread of an empty feed": ("_list_unread_places", PAGE | {"feed": EMPTY_FEED}, 400),
}


@pytest.mark.parametrize("name", UNEVEN)
async def test_a_list_costs_the_same_when_one_source_has_every_article(name: str, uneven: Connection) -> None:
    function, values, budget = UNEVEN[name]
    await uneven.execute("SET statement_timeout = '60s'")

    plan = await explain(uneven, function, values)

    assert set(tables_read_in_full(plan)) & SHARED == set()
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= budget


@pytest.mark.parametrize("name", ["newest", "unread", "neighbours"])
async def test_rows_of_a_user_are_found_by_index(name: str, full: Connection) -> None:
    function, values, _ = HOT[name]

    plan = await explain(full, function, values)

    asked = [node for node in nodes(plan) if "current_setting" in node.get("Filter", "")]
    assert [node for node in asked if node["Shared Hit Blocks"] + node["Shared Read Blocks"] > 0] == []


@pytest.mark.parametrize("name", ["what a page of lines shows", "one article", "lines among some"])
async def test_a_plan_for_any_values_reads_no_table_in_full_either(name: str, full: Connection) -> None:
    function, values, budget = HOT[name]

    plan = await explain(full, function, values, is_generic=True)

    assert set(tables_read_in_full(plan)) & SHARED == set()
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= budget


async def explain(
    conn: Connection, function: str, values: dict[str, Any], *, is_generic: bool = False
) -> dict[str, Any]:
    """As the reader, under row-level security; generic, as PostgreSQL may plan what was prepared."""
    sql = sql_of(f"library.{function}")
    async with conn.transaction(force_rollback=True):
        await set_user(conn, READER)
        if is_generic:
            await conn.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        statement = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}".encode()
        cur = await conn.execute(statement, values, prepare=is_generic)
        row = await cur.fetchone()
    assert row is not None
    return row[0][0]["Plan"]


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for child in plan.get("Plans", []) for node in nodes(child))]
