"""The numbers about labels: what they count, and that they stay cheap when the tables are large."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from headwater.db import Connection
from headwater.ids import first_id_at, ids_at
from headwater.labels.store import replace_labels
from headwater.labels.types import Method, NewLabel, Scheme
from headwater.understanding.overview import store
from tests.builders import a_source
from tests.clock import START
from tests.databases import new_database
from tests.db.test_every_statement import sql_of
from tests.db.test_plans import tables_read_in_full
from tests.labels.given import an_article_of, disagree, say

pytestmark = pytest.mark.database


async def test_shown_labels_of_the_last_days_are_counted_by_scheme_and_method(conn: Connection) -> None:
    old = await an_article_of(conn, url="https://example.com/old", at=START - timedelta(days=8))
    await say(conn, old, Method.MODEL, "recipe")
    ids = [await an_article_of(conn, url=f"https://example.com/{n}") for n in range(3)]
    for article_id, score in zip(ids, [0.1, 0.85, 1.0], strict=True):
        await say(conn, article_id, Method.MODEL, "quality", scheme=Scheme.QUALITY, score=score)
        await say(conn, article_id, Method.MODEL, "event")
    await disagree(conn, ids[0])
    await conn.execute("UPDATE article_state SET classified_at = %(now)s, ai_tagged = true", {"now": START})

    counted = await store.count_labels(conn, now=START)

    assert (counted.sample.articles, counted.sample.is_whole) == (3, True)
    assert [(one.scheme, one.label, one.articles) for one in counted.labels] == [
        ("quality", "80 to 100", 2), ("quality", "0 to 19", 1), ("type", "event", 2), ("type", "job", 1),
    ]  # fmt: skip
    assert [(one.method, one.labels) for one in counted.methods] == [("model", 5), ("rule", 1)]
    assert (counted.progress.classified, counted.progress.tagged, counted.progress.waiting) == (3, 3, 4)
    assert counted.disputed == 1


async def test_more_articles_than_the_sample_are_not_all_counted(
    conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "SAMPLE_MOST", 2)
    for n in range(3):
        await say(conn, await an_article_of(conn, url=f"https://example.com/{n}"), Method.MODEL, "event")

    counted = await store.count_labels(conn, now=START)

    assert (counted.sample.articles, counted.sample.is_whole) == (2, False)
    assert [one.articles for one in counted.labels] == [2]


async def test_a_label_that_two_methods_give_counts_its_article_once(conn: Connection) -> None:
    article_id = await an_article_of(conn)
    for method in (Method.MODEL, Method.AI):
        given = {article_id: [NewLabel(Scheme.CATEGORY, "Technology", 0.8, "1")]}
        await replace_labels(conn, given=given, method=method, schemes=[Scheme.CATEGORY], now=START)

    counted = await store.count_labels(conn, now=START)

    assert [(one.label, one.articles) for one in counted.labels] == [("Technology", 1)]


async def test_without_articles_there_is_nothing_to_count(conn: Connection) -> None:
    counted = await store.count_labels(conn, now=START)

    assert (counted.sample.articles, counted.labels, counted.methods, counted.disputed) == (0, [], [], 0)


async def test_reputations_are_those_of_public_sources_with_enough_articles(conn: Connection) -> None:
    given = [(20, 30, True), (90, 30, True), (99, 30, False), (1, 9, True)]
    made = [await a_source(conn, url=f"https://s{n}.example/feed", name=f"Source {n}") for n in range(len(given))]
    for source, (reputation, articles, is_system) in zip(made, given, strict=True):
        await conn.execute(
            "UPDATE sources SET is_system = %(is_system)s WHERE id = %(id)s", {"id": source.id, "is_system": is_system}
        )
        values = {"id": source.id, "articles": articles, "reputation": reputation, "now": START}
        await conn.execute(
            "INSERT INTO source_reputation VALUES (%(id)s, %(articles)s, 50, 0.1, %(reputation)s, %(now)s)", values
        )

    assert [one.name for one in await store.list_best(conn, limit=5)] == ["Source 1", "Source 0"]
    assert [one.name for one in await store.list_worst(conn, limit=1)] == ["Source 0"]
    found = await store.find_reputation(conn, source_id=made[3].id)
    assert found is not None
    assert (found.reputation, found.articles) == (1, 9)


ARTICLES = 30_000
PER_SECOND = 10  # so that all are of the last hour


@pytest.fixture(scope="module")
async def full(server_conninfo: str, template: str) -> AsyncIterator[Connection]:
    """Many articles with six labels each."""
    ids = [one for n in range(ARTICLES // PER_SECOND) for one in ids_at(START + timedelta(seconds=n), PER_SECOND)]
    async with new_database(server_conninfo, template) as name:
        conn = await psycopg.AsyncConnection.connect(make_conninfo(server_conninfo, dbname=name), autocommit=True)
        for statement in FILL:
            await conn.execute(statement, {"ids": ids, "start": START})
        await conn.execute("VACUUM ANALYZE")
        yield conn
        await conn.close()


FILL = (
    """
    INSERT INTO articles (id, url, url_key, title, seen_at)
    SELECT id, 'https://example.com/' || id, sha256(id::text::bytea), 'title', %(start)s
    FROM unnest(%(ids)s::uuid[]) AS id
    """,
    """
    INSERT INTO article_state (article_id, classify_at, classified_at, embedding)
    SELECT id, %(start)s, %(start)s, decode(repeat('00', 512), 'hex') FROM unnest(%(ids)s::uuid[]) AS id
    """,
    """
    INSERT INTO labels (article_id, scheme, label, method, score, version, made_at, is_shown, is_disputed)
    SELECT id, scheme, label || mod(number, 5), 'model', 0.5, 'model 1', %(start)s, true,
        scheme = 'type' AND mod(number, 3) = 0
    FROM unnest(%(ids)s::uuid[]) WITH ORDINALITY AS given (id, number),
        (VALUES ('type', 'job'), ('language', 'en'), ('topic', 'a'), ('topic', 'b'), ('keyword', 'c'), ('quality', 'q'))
            AS said (scheme, label)
    """,
)
FIRST = first_id_at(START + timedelta(seconds=(ARTICLES - store.SAMPLE_MOST) // PER_SECOND))
SAMPLE = {"first_id": FIRST, "most": 20}
HOT: dict[str, tuple[dict[str, Any], int]] = {
    # how many 8 kB pages it may touch: of the sample, not of the table
    "overview._find_sample": ({"since": first_id_at(START), "most": store.SAMPLE_MOST}, 1_000),
    "overview._count_shown": (SAMPLE, 1_500),
    "overview._count_methods": (SAMPLE, 1_500),
    "overview._count_progress": (SAMPLE, 2_000),
    "overview._count_waiting": ({"most": store.COUNTED_MOST}, 1_500),
    "labels.list_disputed": ({"before": None, "limit": 21}, 100),
    "labels.count_disputed": ({"most": 1_000}, 100),
}


@pytest.mark.parametrize("name", HOT)
async def test_a_statement_of_the_page_reads_no_table_in_full(name: str, full: Connection) -> None:
    values, budget = HOT[name]

    cur = await full.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql_of(name)}".encode(), values)
    row = await cur.fetchone()
    assert row is not None
    plan = row[0][0]["Plan"]

    assert tables_read_in_full(plan) == [], json.dumps(plan, indent=1)
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= budget
