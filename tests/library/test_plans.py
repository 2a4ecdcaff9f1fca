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
from headwater.query.grammar import parse
from headwater.query.sql import condition
from headwater.query.types import Audience
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
PAGE = {"feed": None, "category": None, "limit": 30, "look": 1_200, "with_hidden": False, **LATEST}
OLDEST = PAGE | {"listed_at": "-infinity", "article_id": UUID(int=0)}

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
    """
    INSERT INTO images (owner_id, kind, host, wanted_at, digest, data)
    SELECT id, 'icon', 'example.com', %(start)s, md5(id::text), sha256(id::text::bytea) FROM sources
    UNION ALL
    SELECT article(n), 'lead', 'example.com', %(start)s, md5(n::text), sha256(n::text::bytea)
    FROM generate_series(1, %(articles)s, 2) AS n
    """,
    # Seventeen topics, a quality for each, a rare keyword; five articles in a row are one story.
    """
    INSERT INTO labels (article_id, scheme, label, method, score, version, made_at, is_shown, is_disputed)
    SELECT article(n), scheme, label, 'model', 0.5, '1', %(start)s, true, false
    FROM generate_series(1, %(articles)s) AS n
    CROSS JOIN LATERAL (VALUES
        ('topic', 'topic ' || mod(n, 17)), ('quality', 'quality'),
        ('keyword', CASE WHEN mod(n, 5000) = 0 THEN 'quokka' ELSE 'word ' || n END)
    ) AS given (scheme, label)
    """,
    """
    INSERT INTO article_state (article_id, story_id)
    SELECT article(n), md5('story' || n / 5)::uuid FROM generate_series(1, %(articles)s) AS n
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
    INSERT INTO marks (user_id, article_id, is_read, starred_at, tags)
    SELECT lpad(to_hex(u), 32, '0')::uuid, article(n), true, CASE WHEN mod(n, 10) = 0 THEN %(start)s END,
        CASE WHEN mod(n, 5) = 0 THEN ARRAY['later', 'tag ' || mod(n, 50)] ELSE '{}' END
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
STORY = UUID(hashlib.md5(b"story3").hexdigest())  # noqa: S324  as the rows are made
SOME = [UUID(int=n) for n in range(60)]
FEEDS = [UUID(hashlib.md5(f"1x{n}".encode()).hexdigest()) for n in range(1, 201, 2)]  # noqa: S324
HOT: dict[str, tuple[str, dict[str, Any], int]] = {
    # the function, the values it is called with, and how many 8 kB pages it may touch
    "newest": ("_list_newest_places", PAGE, 1_000),
    "newest, far back": ("_list_newest_places", PAGE | OLD, 1_000),
    "newest of a feed": ("_list_newest_places", PAGE | {"feed": ONE_FEED}, 400),
    "newest of a category": ("_list_newest_places", PAGE | {"category": "None"}, 100),
    "unread": ("_list_unread_places", PAGE, 5_000),
    "unread, few left": ("_list_unread_places", PAGE | OLD, 8_000),
    "oldest": ("_list_oldest_places", OLDEST | {"is_unread": False}, 60_000),
    "oldest unread": ("_list_oldest_places", OLDEST | {"is_unread": True}, 60_000),
    "oldest of a feed": ("_list_oldest_places", OLDEST | {"feed": ONE_FEED, "is_unread": False}, 400),
    "what a page of lines shows": (
        "_view",
        {"article_ids": SOME[:30], "feed": None, "category": None, "is_unread": True},
        1_500,
    ),
    "starred": ("list_starred", PAGE, 1_000),
    "starred, oldest first": ("_list_starred_oldest", OLDEST, 1_000),
    "read later": ("list_saved", PAGE, 1_000),
    "read later, oldest first": ("_list_saved_oldest", OLDEST, 1_000),
    "feeds": ("list_feeds", {"search": "", "status": "all", "limit": 20, "offset": 0}, 500),
    "neighbours": ("list_unread_counts", {"most": 100}, 120_000),
    "newest unread, for views": ("list_newest_unread", {"limit": 1_000}, 60_000),
    "icons of the feeds of a page": ("find_icon_digests", {"ids": FEEDS}, 500),
    "lead images of a page": ("find_lead_digests", {"ids": SOME[:30]}, 100),
    "one lead image": ("find_lead", {"id": UUID(int=5)}, 50),
    "tags": ("list_tags", {"counted": 5_000, "most": 500}, 500),
    "one article": ("find_article", {"id": UUID(int=5), "prefers_feed": False}, 50),
    "hits of a rare word": ("find_hits", {"words": "quokka", "most": 5_000}, 400),
    "hits of a common word": ("find_hits", {"words": "water", "most": 5_000}, 2_000),
    "lines among some": ("list_among", PAGE | {"article_ids": SOME, "is_unread": False}, 2_000),
    "unread lines among some": ("list_among", PAGE | {"article_ids": SOME, "is_unread": True}, 2_000),
    "articles with a rare label": ("find_labelled", {"schemes": ["keyword"], "labels": ["quokka"], "most": 2_000}, 200),
    "articles with a common label": (
        "find_labelled",
        {"schemes": ["topic"], "labels": ["topic 3"], "most": 2_000},
        2_500,
    ),
    "articles of a feed": (
        "find_listed",
        {"name": "Feed 31", "source_id": None, "category": None, "tag": None, "most": 5_000},
        1_500,
    ),
    "articles with a tag": (
        "find_listed",
        {"name": None, "source_id": None, "category": None, "tag": "x", "most": 5_000},
        1_000,
    ),
    "articles of a story": ("find_of_story", {"story_id": STORY, "most": 5_000}, 100),
    "articles with a file": ("find_enclosed", {"most": 5_000}, 100),
}
STOP_EARLY = {"hits of a common word"}  # whichever way it is looked for, so many are found soon
SHARED = {"images", "articles", "article_sources", "content", "marks", "labels", "article_state"}


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
    "newest unread, for views": ("list_newest_unread", {"limit": 1_000}, 80_000),
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


@pytest.mark.parametrize("name", ["newest", "newest, far back", "unread"])
async def test_hidden_articles_are_skipped_by_index(name: str, full: Connection) -> None:
    function, values, _ = HOT[name]
    hide = "UPDATE marks SET hidden_at = now() WHERE user_id = %(reader)s"
    async with full.transaction(force_rollback=True):
        await full.execute(hide, {"reader": READER})

        plan = await explain(full, function, values)

    assert set(tables_read_in_full(plan)) & SHARED == set()
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= 8_000


OF_ARTICLES: dict[str, tuple[str, dict[str, Any], int, int]] = {
    "tags of unread articles": ("count_tags", {}, 1_000, 8_000),
    # the function, its other values, how many of the newest articles it is given, and the pages it may touch
    "the followed among what an index found": ("find_followed_among", {}, 300, 3_000),
    "the stories of a page": ("find_stories", {}, 30, 200),
    "what is behind the lines of a page": ("_list_placed", {}, 30, 2_000),
    "the titles of what is behind them": ("_describe", {}, 30, 1_000),
}


@pytest.mark.parametrize("is_generic", [False, True], ids=["planned", "generic"])
@pytest.mark.parametrize("name", OF_ARTICLES)
async def test_labels_and_stories_are_found_by_the_articles_of_a_page(
    name: str, full: Connection, *, is_generic: bool
) -> None:
    function, more, count, budget = OF_ARTICLES[name]
    values = {**more, **await newest_values(full, count)}

    plan = await explain(full, function, values, is_generic=is_generic)

    assert set(tables_read_in_full(plan)) & SHARED == set()
    assert plan["Actual Rows"] > 0
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= budget


# A query, and the 8 kB pages that it may touch for each of the 300 articles of a step.
CONDITIONS = {
    "water": 40, "water -quokka": 40, "quality:>40 topic:sport": 15, "source:feed": 20, "is:unread": 20, "tag:x": 25,
    "has:enclosure newer:9d": 20, "title:water author:x": 40, f"story:{STORY}": 15, "host:example.com": 10,
    "water quality:>40 source:feed is:unread tag:x newer:9d": 80,
}  # fmt: skip


@pytest.mark.parametrize("is_generic", [False, True], ids=["planned", "generic"])
@pytest.mark.parametrize("audience", Audience)
@pytest.mark.parametrize("text", CONDITIONS)
async def test_a_query_looks_up_each_article_of_a_step_by_itself(
    text: str, full: Connection, audience: Audience, *, is_generic: bool
) -> None:
    if audience is Audience.EVERYONE and ("is:" in text or "tag:" in text):
        return
    where = condition(parse(text, audience).tree, audience, now=START)
    values = {**where.values, "article_ids": (await newest_values(full, 300))["article_ids"]}
    sql = sql_of("query.find_among").replace("WHERE true", f"{where.joins} WHERE {where.sql}")
    assert where.sql in sql

    plan = await explain_sql(full, sql, values, is_generic=is_generic)

    assert set(tables_read_in_full(plan)) & SHARED == set()
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= 300 * CONDITIONS[text]


async def newest_values(conn: Connection, count: int) -> dict[str, Any]:
    """The newest articles of all sources, and their stories, as the statements get them."""
    cur = await conn.execute(
        """
        SELECT array_agg(article(n)), array_agg(DISTINCT md5('story' || n / 5)::uuid), first_id_at(%(since)s)
        FROM generate_series(1, %(count)s) AS n
        """,
        {"count": count, "since": START - timedelta(days=7)},
    )
    row = await cur.fetchone()
    assert row is not None
    ids, stories, earliest = row
    windows = {"earliest": [earliest] * len(stories), "latest": [UUID(int=2**128 - 1)] * len(stories)}
    asked = {"feed": None, "category": None, "is_unread": True, "told": ids}
    return {"article_ids": ids, "stories": stories, **windows, **asked}


RULES = (
    """
    UPDATE article_state SET revision = ranked.place
    FROM (SELECT article_id, row_number() OVER (ORDER BY article_id) AS place FROM article_state) AS ranked
    WHERE ranked.article_id = article_state.article_id
    """,
    """
    INSERT INTO rules (id, user_id, name, query, stars)
    SELECT md5(u || 'r' || n)::uuid, lpad(to_hex(u), 32, '0')::uuid, 'Rule ' || n, 'quokka', true
    FROM generate_series(1, 50) AS u CROSS JOIN generate_series(1, 100) AS n
    """,
    """
    INSERT INTO rule_log (rule_id, article_id, user_id, applied_at, actions)
    SELECT rules.id, article(n), user_id, %(start)s::timestamptz - n * interval '1 minute', '{star}'
    FROM rules CROSS JOIN generate_series(1, 20) AS n
    """,
    "ANALYZE article_state, rules, rule_log",
)
FIRST_RULE = UUID(hashlib.md5(b"1r1").hexdigest())  # noqa: S324  as the rows are made
FIFTY = [UUID(int=n) for n in range(50)]
OF_RULES: dict[str, tuple[str, dict[str, Any], int]] = {
    "revisions": ("rules.list_revisions", {"after": 49_900, "limit": 50}, 600),
    "whether rules changed": ("rules.fingerprint", {}, 200),
    "for whom articles arrived": ("rules.list_arrived", {"ids": FIFTY, "since": START}, 3_000),
    "the oldest revision that waits": ("rules.oldest_waiting_at", {}, 100),
    "a log": ("rules.list_log", {"rule_id": FIRST_RULE, "limit": 50}, 2_000),
    "what is deleted from logs": ("rules.remove_log", {"before": START - timedelta(days=30), "limit": 5_000}, 50),
}


async def test_the_stage_of_rules_reads_no_table_in_full(full: Connection) -> None:
    async with full.transaction(force_rollback=True):
        for statement in RULES:
            await full.execute(statement, {"start": START})
        await full.execute("UPDATE rules_state SET done_to = 49990")
        cur = await full.execute("SELECT array_agg(article_id) FROM article_state WHERE revision > 49950")
        ((newest,),) = await cur.fetchall()
        await full.execute("SET LOCAL ROLE headwater_system")
        for name, (function, values, budget) in OF_RULES.items():
            given = values | {"ids": newest} if "ids" in values else values
            statement = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql_of(f'library.{function}')}".encode()
            ((found,),) = await (await full.execute(statement, given)).fetchall()
            plan = found[0]["Plan"]
            assert set(tables_read_in_full(plan)) & {*SHARED, "rule_log"} == set(), name
            assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= budget, name


# The statements that make documents of articles for the matcher, and the 8 kB pages for each article and reader.
DOCUMENTS = {"query.read_documents": 90, "query.read_contexts": 60}


@pytest.mark.parametrize("is_generic", [False, True], ids=["planned", "generic"])
@pytest.mark.parametrize("function", DOCUMENTS)
async def test_documents_are_read_by_their_articles(function: str, full: Connection, *, is_generic: bool) -> None:
    ids = (await newest_values(full, 100))["article_ids"]
    values = {"ids": ids, "user_ids": [UUID(int=n) for n in range(1, READERS + 1)]}
    async with full.transaction(force_rollback=True):
        await full.execute("SET LOCAL ROLE headwater_system")
        if is_generic:
            await full.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        statement = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql_of(function)}".encode()
        ((found,),) = await (await full.execute(statement, values, prepare=is_generic)).fetchall()

    plan = found[0]["Plan"]
    assert set(tables_read_in_full(plan)) & SHARED == set()
    assert plan["Actual Rows"] >= len(ids) / 2
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= DOCUMENTS[function] * plan["Actual Rows"]


async def explain(
    conn: Connection, function: str, values: dict[str, Any], *, is_generic: bool = False
) -> dict[str, Any]:
    """As the reader, under row-level security; generic, as PostgreSQL may plan what was prepared."""
    return await explain_sql(conn, sql_of(f"library.{function}"), values, is_generic=is_generic)


async def explain_sql(conn: Connection, sql: str, values: dict[str, Any], *, is_generic: bool) -> dict[str, Any]:
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
