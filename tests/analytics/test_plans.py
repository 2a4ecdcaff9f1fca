"""What is counted costs what was clicked in the period, however many articles and older clicks there are."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from headwater.analytics.types import FEWEST, PopularityPeriod
from headwater.db import Connection, set_user
from headwater.types import UserId
from tests.clock import START
from tests.databases import new_database
from tests.db.test_every_statement import sql_of
from tests.db.test_plans import tables_read_in_full
from tests.library.test_plans import ARTICLES, READER, READERS, SOURCES
from tests.library.test_plans import FILL as LIBRARY

pytestmark = pytest.mark.database

CLICKS = 100_000  # over a year
# Everybody agreed, and each clicked one article after the other.
FILL = (
    "INSERT INTO analytics_consents (user_id, given_at) SELECT id, %(start)s FROM users",
    """
    INSERT INTO feed_item_clicks (id, user_id, article_id, source_id, kind, clicked_at)
    SELECT gen_random_uuid(), lpad(to_hex(1 + mod(n, %(readers)s)), 32, '0')::uuid, md5('a' || n)::uuid,
        md5('s' || 1 + mod(n, %(sources)s))::uuid, 'open', %(start)s::timestamptz - (n * interval '1 year') / %(clicks)s
    FROM generate_series(1, %(clicks)s) AS n
    """,
)


@pytest.fixture(scope="module")
async def full(server_conninfo: str, template: str) -> AsyncIterator[Connection]:
    values = {"start": START, "sources": SOURCES, "articles": ARTICLES, "readers": READERS, "clicks": CLICKS}
    async with new_database(server_conninfo, template) as name:
        conn = await psycopg.AsyncConnection.connect(make_conninfo(server_conninfo, dbname=name), autocommit=True)
        for statement in (*LIBRARY, *FILL):
            await conn.execute(statement, values)
        await conn.execute("VACUUM ANALYZE")
        yield conn
        await conn.close()


DAY = {"since": START - timedelta(days=1), "order": "reads", "limit": 100, "fewest": FEWEST}
PLOT = {"until": START, "length": PopularityPeriod.DAY.length, "step": PopularityPeriod.DAY.step, "fewest": FEWEST}
ONE = {"id": UUID(int=9), "article_id": UUID("3c9b3c2a3f0d1b1e8f2ff4b9a9a4f3a1"), "kind": "open", "now": START}
HOT: dict[str, tuple[str, UserId | None, dict[str, Any], int]] = {
    # the function, who calls it, with what, and how many 8 kB pages it may touch
    "ranking of a day": ("rank", None, DAY, 500),
    "plot of a day": ("list_moments", None, PLOT, 50),
    "a click": ("record", READER, ONE, 40),
    "the answer": ("find_answer", READER, {}, 20),
    "forgetting": ("remove_before", None, {"before": START - timedelta(days=364), "limit": 100}, 2_000),
}
MAY_BE_READ = {"sources", "subscriptions", "analytics_consents", "analytics_refusals"}
"""In full where everybody has agreed; none of them grows with what is published or clicked."""


@pytest.mark.parametrize("name", HOT)
async def test_statements_read_neither_all_articles_nor_all_clicks(name: str, full: Connection) -> None:
    function, person, values, budget = HOT[name]
    sql = sql_of(f"analytics.{function}")

    async with full.transaction(force_rollback=True):
        if person is not None:
            await set_user(full, person)
        row = await (await full.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}".encode(), values)).fetchone()
    assert row is not None
    plan = row[0][0]["Plan"]

    assert set(tables_read_in_full(plan)) <= MAY_BE_READ
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= budget
