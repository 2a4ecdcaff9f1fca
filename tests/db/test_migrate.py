import asyncio
import sys

import psycopg
import pytest

from headwater.db import Connection
from headwater.db.migrate import (
    Migration,
    check_schema,
    known_migrations,
    migrate_down,
    migrate_up,
    migration_states,
)
from headwater.errors import DatabaseUnavailable, MigrationFailed, SchemaBehind, SchemaTooNew

pytestmark = pytest.mark.database

EVERYTHING = """
    SELECT 'table ' || relname FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE 'schema_migration%'
    UNION ALL SELECT 'function ' || proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT 'type ' || typname FROM pg_type
    WHERE typnamespace = 'public'::regnamespace AND typname NOT LIKE '%schema_migration'
    ORDER BY 1
"""


async def everything(conninfo: str) -> list[str]:
    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        rows = await conn.execute(EVERYTHING)
        return [name for (name,) in await rows.fetchall()]


def test_migrations_are_numbered_without_gaps_and_each_has_its_way_back() -> None:
    known = known_migrations()

    assert [step.version for step in known] == list(range(1, len(known) + 1))
    assert all(step.up.strip() and step.down.strip() for step in known)


async def test_up_then_down_leaves_nothing_and_up_again_brings_all_back(empty_conninfo: str) -> None:
    before = await everything(empty_conninfo)

    await migrate_up(empty_conninfo)
    migrated = await everything(empty_conninfo)
    await migrate_down(empty_conninfo, to=0)
    undone = await everything(empty_conninfo)
    await migrate_up(empty_conninfo)
    again = await everything(empty_conninfo)

    assert "table sources" in migrated
    assert undone == before
    assert again == migrated


async def test_migrating_twice_does_nothing_the_second_time(empty_conninfo: str) -> None:
    first = await migrate_up(empty_conninfo)

    assert [step.version for step in first] == [step.version for step in known_migrations()]
    assert await migrate_up(empty_conninfo) == []


async def test_a_database_of_any_earlier_version_is_upgraded(empty_conninfo: str) -> None:
    for step in known_migrations():
        applied = await migrate_up(empty_conninfo, to=step.version)
        assert [one.version for one in applied] == [step.version]

    async with await psycopg.AsyncConnection.connect(empty_conninfo) as conn:
        await check_schema(conn)


async def test_two_processes_may_migrate_at_once(empty_conninfo: str) -> None:
    script = (
        "import asyncio, sys; from headwater.db.migrate import migrate_up\n"
        "print(len(asyncio.run(migrate_up(sys.argv[1]))))"
    )
    running = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", script, empty_conninfo, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        for _ in range(4)
    ]

    told = [await process.communicate() for process in running]

    assert [process.returncode for process in running] == [0, 0, 0, 0], told
    assert sorted(int(out) for out, _ in told) == [0, 0, 0, len(known_migrations())]


async def test_a_database_newer_than_the_code_is_refused(empty_conninfo: str) -> None:
    await migrate_up(empty_conninfo)
    async with await psycopg.AsyncConnection.connect(empty_conninfo) as conn:
        await conn.execute("INSERT INTO schema_migration (version, name) VALUES (9999, '9999_future')")

    with pytest.raises(SchemaTooNew, match="migration 9999, but this version of Headwater knows only"):
        await migrate_up(empty_conninfo)
    with pytest.raises(SchemaTooNew):
        await migrate_down(empty_conninfo, to=0)
    async with await psycopg.AsyncConnection.connect(empty_conninfo) as conn:
        with pytest.raises(SchemaTooNew):
            await check_schema(conn)
    assert [state.name for state in await migration_states(empty_conninfo)][-1] == "9999_future"


async def test_a_database_behind_the_code_is_told_what_to_do(empty_conninfo: str) -> None:
    async with await psycopg.AsyncConnection.connect(empty_conninfo) as conn:
        with pytest.raises(SchemaBehind, match="headwater migrate up"):
            await check_schema(conn)


async def test_the_schema_of_the_template_is_current(conn: Connection) -> None:
    await check_schema(conn)


async def test_a_migration_that_fails_leaves_nothing_of_itself(
    empty_conninfo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Migration(2, "0002_broken", "CREATE TABLE half (id int); SELECT 1/0;", "DROP TABLE half;")
    monkeypatch.setattr("headwater.db.migrate.known_migrations", lambda: [known_migrations()[0], broken])

    with pytest.raises(MigrationFailed, match="0002_broken failed and was rolled back: division by zero"):
        await migrate_up(empty_conninfo)

    assert "table half" not in await everything(empty_conninfo)
    assert [state.applied_at is not None for state in await migration_states(empty_conninfo)] == [True, False]


async def test_no_database_is_told_as_such() -> None:
    with pytest.raises(DatabaseUnavailable):
        await migrate_up("host=127.0.0.1 port=1 dbname=nothing user=nobody")
