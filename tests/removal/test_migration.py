"""What deletions before migration 0025 left behind is found by it, and removed."""

from datetime import timedelta

import psycopg
import pytest

from headwater.db import Database
from headwater.db.migrate import known_migrations, migrate_down, migrate_up
from headwater.ids import new_id
from headwater.types import SourceId
from tests.clock import START, MovableClock
from tests.removal.builders import list_articles, tables_with
from tests.removals import remove_all

pytestmark = pytest.mark.database

BEFORE = next(step.version for step in known_migrations() if step.name.endswith("removal")) - 1


async def test_urls_and_counters_of_sources_that_were_deleted_before_are_removed(
    conninfo: str, clock: MovableClock
) -> None:
    ghost = SourceId(new_id())
    async with Database(conninfo, pool_size=2, wait=timedelta(seconds=30)) as database:
        async with database.transaction() as conn:
            await conn.execute(
                "INSERT INTO sources (id, name, feed_url, feed_url_key) VALUES (%(id)s, 'x', 'x', 'x')", {"id": ghost}
            )
            await list_articles(conn, ghost, "https://x.example/1")
        await migrate_down(conninfo, to=BEFORE)
        async with await psycopg.AsyncConnection.connect(conninfo) as conn:
            await conn.execute(
                "INSERT INTO poll_days (day, source_id, polls, failures, new_articles, took_ms) "
                "VALUES (%(now)s::date, %(id)s, 1, 0, 0, 1)",
                {"now": START, "id": ghost},
            )
            await conn.execute("DELETE FROM articles")
            await conn.execute("DELETE FROM sources")  # as it was: the frontier and the days stay

        await migrate_up(conninfo)
        await remove_all(database, clock)

        async with await psycopg.AsyncConnection.connect(conninfo) as conn:
            assert await tables_with(conn, ghost) == set()
