"""A page after a cursor touches few pages, with and without a query, with many articles in many months in the way."""

from collections.abc import AsyncIterator
from datetime import date
from typing import Any, cast

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from headwater.db import Connection
from headwater.query.grammar import parse
from headwater.query.sql import condition
from headwater.query.store import find_among
from headwater.query.types import Audience
from headwater.types import ArticleId
from tests.clock import START
from tests.conftest import GIVEN_SERVER
from tests.databases import new_database
from tests.db.test_every_statement import sql_of
from tests.db.test_plans import tables_read_in_full
from tests.months import make_months

pytestmark = pytest.mark.database

SOURCES = 200
ARTICLES = 20_000
PAGE = 1_000
SHARED = {"articles", "article_sources", "content", "labels", "article_state", "article_urls"}
# Revisions do not follow the ids: articles of every month change again.
FILL = (
    """
    CREATE FUNCTION article(n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE RETURN (
        left(first_id_at(timestamptz '2026-03-01 12:00Z' - (n * interval '1 year') / 20000)::text, 14)
        || right(md5('a' || n), 20)
    )::uuid
    """,
    """
    INSERT INTO sources (id, name, feed_url, feed_url_key)
    SELECT md5('s' || n)::uuid, 'Source ' || n, 'https://s' || n || '.example/', sha256(('s' || n)::bytea)
    FROM generate_series(1, %(sources)s) AS n
    """,
    """
    INSERT INTO articles (id, url, url_key, title, seen_at)
    SELECT article(n), 'https://example.com/a' || n, sha256(('a' || n)::bytea), 'Some water', %(start)s
    FROM generate_series(1, %(articles)s) AS n
    """,
    "INSERT INTO article_urls (url_key, article_id) SELECT url_key, id FROM articles",
    """
    INSERT INTO article_sources (article_id, source_id, entry_id, seen_at, listed_at)
    SELECT article(n), md5('s' || 1 + mod(n, %(sources)s))::uuid, n::text, %(start)s, %(start)s
    FROM generate_series(1, %(articles)s) AS n
    """,
    """
    INSERT INTO content (article_id, url, url_key, text, html, keywords, authors, language, open_graph, linked_data,
        origins, word_count, richness, extracted_at)
    SELECT article(n), 'https://example.com/a' || n, sha256(('a' || n)::bytea), 'About water and w' || n,
        repeat('<p>and more of it</p>', 20), '{}', '{}', 'en', '{}', '{}', '{}', 60, 1, %(start)s
    FROM generate_series(1, %(articles)s) AS n
    """,
    """
    INSERT INTO labels (article_id, scheme, label, method, score, version, made_at, is_shown, is_disputed)
    SELECT article(n), scheme, label, 'model', 0.5, '1', %(start)s, true, false
    FROM generate_series(1, %(articles)s) AS n
    CROSS JOIN LATERAL (VALUES ('topic', 'topic ' || mod(n, 17)), ('quality', 'quality')) AS given (scheme, label)
    """,
    """
    INSERT INTO article_state (article_id, revision, revised_at, classified_at)
    SELECT article(n), 1 + mod(n * 7919, %(articles)s), %(start)s, %(start)s
    FROM generate_series(1, %(articles)s) AS n
    """,
    "UPDATE publishing_state SET last_revision = %(articles)s",
)


@pytest.fixture(scope="module")
async def full(server_conninfo: str, template: str) -> AsyncIterator[Connection]:
    values = {"start": START, "sources": SOURCES, "articles": ARTICLES}
    async with new_database(server_conninfo, template) as name:
        conn = await psycopg.AsyncConnection.connect(make_conninfo(server_conninfo, dbname=name), autocommit=True)
        await make_months(conn, since=date(2025, 3, 1), until=date(2026, 5, 1))
        for statement in FILL:
            await conn.execute(statement, values)
        await conn.execute("VACUUM ANALYZE")
        yield conn
        await conn.close()


async def explain(conn: Connection, sql: str, values: dict[str, Any], *, is_generic: bool = False) -> dict[str, Any]:
    async with conn.transaction(force_rollback=True):
        if is_generic:
            await conn.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        statement = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}".encode()
        row = await (await conn.execute(statement, values, prepare=is_generic)).fetchone()
    assert row is not None
    return row[0][0]["Plan"]


async def on_page(conn: Connection, count: int) -> list[ArticleId]:
    statement = "SELECT article_id FROM article_state WHERE revision > 9000 ORDER BY revision LIMIT %(count)s"
    return [row[0] for row in await (await conn.execute(statement, {"count": count})).fetchall()]


def pages(plan: dict[str, Any]) -> int:
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


@pytest.mark.parametrize("is_generic", [False, True], ids=["planned", "generic"])
@pytest.mark.parametrize(
    ("function", "values"),
    [
        ("list_places", {"after": 0}),
        ("list_places", {"after": ARTICLES // 2}),
        ("list_places", {"after": ARTICLES - 10}),
        ("list_places_before", {"before": 2**63 - 1}),
        ("list_places_before", {"before": ARTICLES // 2}),
    ],
)
async def test_the_next_articles_are_found_by_their_revision(
    function: str, values: dict[str, Any], full: Connection, *, is_generic: bool
) -> None:
    plan = await explain(full, sql_of(f"downstream.{function}"), values | {"limit": PAGE}, is_generic=is_generic)

    assert tables_read_in_full(plan) == []
    assert plan["Actual Rows"] > 0
    assert pages(plan) <= 1_200  # of the rows themselves, each on another page


LONG = {"with_text": True, "with_html": True, "with_metadata": True}
OF_ARTICLES: dict[str, tuple[str, dict[str, Any], int, int]] = {
    # the function, its other values, how many articles, and how many 8 kB pages it may touch for each
    "whether they are visible": ("channels.listed.find_feeds", {}, PAGE, 16),
    "how large they are": ("downstream.measure", {}, 100, 20),
    "in full": ("downstream.read_articles", LONG, 100, 60),
    "one in full": ("downstream.read_articles", LONG, 1, 60),
}


@pytest.mark.parametrize("is_generic", [False, True], ids=["planned", "generic"])
@pytest.mark.parametrize("name", OF_ARTICLES)
async def test_articles_of_a_page_are_read_one_by_one(name: str, full: Connection, *, is_generic: bool) -> None:
    function, more, count, budget = OF_ARTICLES[name]
    values = {"ids": await on_page(full, count), **more}

    plan = await explain(full, sql_of(function), values, is_generic=is_generic)

    assert set(tables_read_in_full(plan)) & SHARED == set()
    assert plan["Actual Rows"] == count
    assert pages(plan) <= budget * count + 50


class _Noting:
    """A connection that notes a statement and its values, as a store makes them."""

    def __init__(self, conn: Connection) -> None:
        self._conn = conn
        self.noted: list[tuple[str, dict[str, Any]]] = []

    async def execute(self, statement: str, values: dict[str, Any]) -> object:
        self.noted.append((statement, values))
        return await self._conn.execute(statement.encode(), values)


@pytest.mark.parametrize(
    "text",
    [
        "water",
        '"about water" -quokka',
        "topic:sport",
        "quality:>40 water",
        "host:example.com has:enclosure",
        "newer:2d",
    ],
)
async def test_a_query_of_a_page_reads_its_articles_only(text: str, full: Connection) -> None:
    where = condition(parse(text, Audience.EVERYONE).tree, Audience.EVERYONE, now=START)
    noting = _Noting(full)
    await find_among(cast("Connection", noting), where=where, article_ids=await on_page(full, PAGE))
    [(statement, values)] = noting.noted

    plan = await explain(full, statement, values)

    assert set(tables_read_in_full(plan)) & SHARED == set()
    assert pages(plan) <= 40 * PAGE


@pytest.mark.parametrize("function", ["find_by_keys", "find_extracted"])
async def test_articles_are_found_by_their_urls(function: str, full: Connection) -> None:
    cur = await full.execute("SELECT url_key FROM articles LIMIT 100")
    keys = [bytes(row[0]) for row in await cur.fetchall()]

    plan = await explain(full, sql_of(f"downstream.{function}"), {"url_keys": keys})

    # PostgreSQL 15 reads this small table in full for a hundred keys.
    assert set(tables_read_in_full(plan)) & SHARED <= ({"article_urls"} if GIVEN_SERVER else set[str]())
    assert (plan["Actual Rows"], pages(plan) <= 40 * len(keys)) == (100, True)


async def test_the_newest_revision_is_one_row(full: Connection) -> None:
    assert pages(await explain(full, sql_of("downstream.last_revision"), {})) <= 2
