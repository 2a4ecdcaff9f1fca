"""The removing stage: small steps, killed anywhere, gone on with elsewhere."""

import asyncio
from datetime import timedelta

import psycopg
import pytest

from headwater.db import Database
from headwater.removal.worker import LEASE, ROWS_AT_ONCE, Remover
from headwater.sources.store import sources
from headwater.types import SourceId
from tests.builders import a_source
from tests.clock import START, MovableClock
from tests.removal.builders import a_full_source, a_user, count, list_articles, subscribe

pytestmark = pytest.mark.database

# How many rows of a table each transaction deleted.
COUNT_DELETIONS = """
CREATE TABLE deletions (by xid8, of text, count integer);
CREATE FUNCTION note_deletions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO deletions SELECT pg_current_xact_id(), TG_TABLE_NAME, count(*) FROM gone;
    RETURN NULL;
END
$$;
CREATE TRIGGER note_deletions AFTER DELETE ON articles REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION note_deletions();
CREATE TRIGGER note_deletions AFTER DELETE ON article_sources REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION note_deletions();
CREATE TRIGGER note_deletions AFTER DELETE ON content REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION note_deletions();
CREATE TRIGGER note_deletions AFTER DELETE ON marks REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION note_deletions();
CREATE TRIGGER note_deletions AFTER DELETE ON frontier_url REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION note_deletions();
CREATE TRIGGER note_deletions AFTER DELETE ON poll_events REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION note_deletions();
CREATE TRIGGER note_deletions AFTER DELETE ON events REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION note_deletions();
CREATE TRIGGER note_deletions AFTER DELETE ON subscriptions REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION note_deletions();
GRANT SELECT, INSERT ON deletions TO PUBLIC
"""


async def count_deletions(database: Database) -> None:
    """As the owner of the tables."""
    async with await psycopg.AsyncConnection.connect(database.conninfo) as conn:
        await conn.execute(COUNT_DELETIONS)


async def deleted_source(database: Database, articles: int) -> SourceId:
    async with database.as_system() as conn:
        source = await a_full_source(conn, count=articles)
        await conn.execute(
            "INSERT INTO poll_events SELECT source_id, at, outcome, status, bytes, took_ms, new_articles "
            "FROM poll_events, generate_series(1, 300)"
        )
    async with database.as_system() as conn:
        await sources.remove(conn, source_id=source.id)
    return source.id


async def largest(database: Database) -> dict[str, tuple[int, int]]:
    """For each table the largest number of rows that one transaction deleted, and how many did."""
    async with database.as_system() as conn:
        cur = await conn.execute(
            """
            SELECT of, max(count), count(*)
            FROM (SELECT of, sum(count)::integer AS count FROM deletions GROUP BY of, by) AS one
            WHERE count > 0
            GROUP BY of
            """
        )
        return {of: (most, times) for of, most, times in await cur.fetchall()}


async def test_deleting_a_source_deletes_none_of_its_articles_in_the_request(database: Database) -> None:
    await count_deletions(database)

    await deleted_source(database, 30)

    assert await largest(database) == {}
    assert await count(database, "articles") == 30


async def test_no_transaction_deletes_more_rows_of_a_source_than_the_limit(
    database: Database, clock: MovableClock
) -> None:
    await deleted_source(database, 120)
    await count_deletions(database)

    await Remover(database, clock, rows_at_once=50).remove_all()

    found = await largest(database)
    assert {of: most for of, (most, _) in found.items() if most > 50} == {}
    assert found["articles"][1] >= 3
    assert found["poll_events"][1] >= 6
    assert await count(database, "source_ids") == 0


async def test_no_transaction_deletes_more_rows_of_a_user_than_the_limit(
    database: Database, clock: MovableClock
) -> None:
    async with database.as_system() as conn:
        user_id = await a_user(conn)
        for number in range(70):
            source = await a_source(conn, url=f"https://{number}.example/feed")
            await list_articles(conn, source.id, f"https://{number}.example/1")
            await subscribe(conn, user_id, source.id)
        await conn.execute("UPDATE sources SET is_system = false")
        await conn.execute(
            "INSERT INTO marks (user_id, article_id, is_read) SELECT %(id)s, id, true FROM articles", {"id": user_id}
        )
        await conn.execute(
            "INSERT INTO events (id, user_id, event_type, created_at) "
            "SELECT gen_random_uuid(), %(id)s, 'user_login', now() FROM generate_series(1, 130)",
            {"id": user_id},
        )
    await count_deletions(database)
    async with database.as_system() as conn:
        await conn.execute("DELETE FROM users")
        at_once = await (await conn.execute("SELECT count(*) FROM deletions WHERE count > 0")).fetchone()

    await Remover(database, clock, rows_at_once=20).remove_all()

    assert at_once == (0,)
    assert {of: most for of, (most, _) in (await largest(database)).items() if most > 20} == {}
    for table in ("user_ids", "source_ids", "sources", "marks", "articles", "frontier_url", "events"):
        assert await count(database, table) == 0, table


async def test_the_limit_of_the_stage_is_small() -> None:
    assert ROWS_AT_ONCE <= 1_000


async def test_a_worker_that_is_killed_in_the_middle_is_followed_by_another(
    database: Database, clock: MovableClock
) -> None:
    await deleted_source(database, 60)
    killed, other = Remover(database, clock, rows_at_once=10), Remover(database, clock, rows_at_once=10)
    (removal,) = await killed.claim(1)
    begun = asyncio.Event()
    task = asyncio.create_task(killed.work(removal, lambda _rows: begun.set()))
    await begun.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    too_early = await other.claim(1)
    left = await count(database, "articles")
    clock.now = START + LEASE + timedelta(seconds=1)
    await other.remove_all()

    assert too_early == []
    assert left > 0
    assert await count(database, "articles") == await count(database, "source_ids") == 0


async def test_a_worker_that_lost_its_lease_deletes_nothing(database: Database, clock: MovableClock) -> None:
    await deleted_source(database, 30)
    late, other = Remover(database, clock, rows_at_once=10), Remover(database, clock)
    (removal,) = await late.claim(1)
    clock.now = START + LEASE + timedelta(seconds=1)
    (taken,) = await other.claim(1)

    rows = await late.work(removal)

    assert rows == 0
    assert await count(database, "articles") == 30
    await other.work(taken)
    assert await count(database, "source_ids") == 0


async def test_a_stage_that_drains_releases_its_work_at_once(database: Database, clock: MovableClock) -> None:
    await deleted_source(database, 30)
    stopping, other = Remover(database, clock, rows_at_once=10), Remover(database, clock)
    (removal,) = await stopping.claim(1)
    stopping.drain()

    await stopping.work(removal)

    assert len(await other.claim(1)) == 1


async def test_lag_is_since_when_the_oldest_deletion_waits(database: Database, clock: MovableClock) -> None:
    remover = Remover(database, clock)
    nothing = await remover.lag()
    await deleted_source(database, 1)
    async with database.as_system() as conn:
        await conn.execute("UPDATE source_ids SET removed_at = %(at)s", {"at": START - timedelta(minutes=3)})

    assert nothing == timedelta(0)
    assert await remover.lag() == timedelta(minutes=3)
    await remover.remove_all()
    assert await remover.lag() == timedelta(0)


async def test_a_lease_written_by_a_clock_that_was_ahead_is_ignored(database: Database, clock: MovableClock) -> None:
    await deleted_source(database, 1)
    clock.now = START + timedelta(days=200)
    assert len(await Remover(database, clock).claim(1)) == 1
    clock.now = START

    assert len(await Remover(database, clock).claim(1)) == 1
