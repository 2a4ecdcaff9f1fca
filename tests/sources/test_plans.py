"""Lists of sources use their indexes, and touch no more than they must, however many there are."""

from typing import Any

import pytest

from headwater.db import Connection
from tests.clock import START
from tests.db.test_every_statement import sql_of
from tests.db.test_plans import full, tables_read_in_full
from tests.sources.test_health_plans import nodes

__all__ = ["full"]
pytestmark = pytest.mark.database

LIST = sql_of("sources.list_details")
EVERYTHING: dict[str, Any] = {
    **dict.fromkeys(
        (
            "id", "after", "category", "ingestion_mode", "enabled", "is_system", "is_critical", "moderation_status",
            "is_active", "feed_active", "state", "reason", "text", "host", "fetched_before", "errors_min",
            "needs_person",
        )
    ),
    "by_fetch": False,
    "after_at": "-infinity",
    "now": START,
    "limit": 51,
}  # fmt: skip
TABLE = sql_of("sources.table.list_rows")
PLACE = {"after": None, "sort": "name", "name": "", "number": 0, "at": "-infinity"}
MIDDLE = {"after": "80000000-0000-0000-0000-000000000000", "name": "Source 7", "number": 50}
SETTLE = """
    UPDATE sources
    SET category = CASE WHEN feed_url LIKE '%77' THEN 'Politics' ELSE 'Technology' END,
        enabled = feed_url NOT LIKE '%999',
        is_critical = feed_url LIKE '%888',
        is_system = feed_url NOT LIKE '%555',
        ingestion_mode = CASE WHEN feed_url LIKE '%444' THEN 'both' ELSE 'feed' END,
        feed_disabled_at = CASE WHEN feed_url LIKE '%333' THEN now() END,
        feed_disable_reason = CASE WHEN feed_url LIKE '%333' THEN 'gone' END
"""
NUMBERS = """
    UPDATE source_numbers
    SET articles = mod(abs(hashtext(source_id::text)), 1000),
        error_rate = mod(abs(hashtext(source_id::text)), 97) / 97.0,
        readers = mod(abs(hashtext(source_id::text)), 100)
"""


@pytest.fixture(scope="module")
async def settled(full: Connection) -> Connection:
    """Twenty thousand sources, few of each kind that is looked for."""
    await full.execute(SETTLE)
    await full.execute(NUMBERS)
    await full.execute("VACUUM ANALYZE sources, source_numbers")
    return full


@pytest.mark.parametrize(
    ("wanted", "budget"),
    [
        ({}, 900),
        ({"id": "c4ca4238-a0b9-2382-0dcc-509a6f75849b"}, 20),
        ({"after": "80000000-0000-0000-0000-000000000000"}, 900),
        ({"category": "Politics"}, 1_000),
        ({"ingestion_mode": "both"}, 1_000),
        ({"enabled": False}, 1_000),
        ({"state": "disabled"}, 1_300),
        ({"state": "auto_disabled"}, 1_000),
        ({"is_system": False}, 1_000),
        ({"is_critical": True}, 1_000),
        ({"host": "host77"}, 200),
        ({"needs_person": True}, 1_300),
        ({"feed_active": True}, 1_000),
        ({"is_active": True}, 1_000),
    ],
    ids=lambda value: "-".join(map(str, value.items())) if isinstance(value, dict) else "",
)
async def test_a_list_reads_what_it_shows(wanted: dict[str, Any], budget: int, settled: Connection) -> None:
    values = {**EVERYTHING, **wanted}

    cur = await settled.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {LIST}".encode(), values)
    row = await cur.fetchone()

    assert row is not None
    plan = row[0][0]["Plan"]
    large = {"sources", "feed_state", "article_sources", "hosts"}
    assert [name for name in tables_read_in_full(plan) if name in large] == []
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= budget


@pytest.mark.parametrize(
    "wanted",
    [{"state": "failing"}, {"reason": "network"}, {"by_fetch": True}, {"text": "77"}],
    ids=str,
)
async def test_no_pages_and_articles_are_looked_up_for_sources_that_have_a_feed(
    wanted: dict[str, Any], settled: Connection
) -> None:
    cur = await settled.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {LIST}".encode(), {**EVERYTHING, **wanted})
    row = await cur.fetchone()

    assert row is not None
    looked_up = [node for node in nodes(row[0][0]["Plan"]) if node.get("Relation Name") == "frontier_url"]
    assert looked_up
    assert {node["Actual Loops"] for node in looked_up} == {0}
    counted = [node for node in nodes(row[0][0]["Plan"]) if node.get("Parent Relationship") == "SubPlan"]
    assert {node["Actual Loops"] for node in counted} == {0}


@pytest.mark.parametrize("sort", ["name", "-name", "articles", "-articles", "errors", "-errors", "readers", "-readers"])
@pytest.mark.parametrize("place", [{}, MIDDLE], ids=["first page", "later page"])
async def test_a_page_of_the_sorted_table_reads_what_it_shows(
    sort: str, place: dict[str, Any], settled: Connection
) -> None:
    values = {**EVERYTHING, **PLACE, **place, "sort": sort}

    cur = await settled.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {TABLE}".encode(), values)
    row = await cur.fetchone()

    assert row is not None
    plan = row[0][0]["Plan"]
    large = {"sources", "source_numbers", "feed_state", "article_sources", "hosts"}
    assert [name for name in tables_read_in_full(plan) if name in large] == []
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= 1_300
