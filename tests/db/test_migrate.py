import asyncio
import sys

import psycopg
import pytest

from headwater.db import Connection
from headwater.db.migrate import (
    Migration,
    check_database,
    check_schema,
    known_migrations,
    migrate_down,
    migrate_up,
    migration_states,
)
from headwater.errors import DatabaseUnavailable, MigrationFailed, SchemaBehind, SchemaTooNew, SchemaUnreleased
from tests.databases import SCHEMA

pytestmark = pytest.mark.database


async def schema_of(conninfo: str) -> list[tuple[str, str, str]]:
    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        rows = await conn.execute(SCHEMA)
        return [row for row in await rows.fetchall() if "schema_migration" not in row[1]]


def test_migrations_are_numbered_without_gaps_and_each_has_its_way_back() -> None:
    known = known_migrations()

    assert [step.version for step in known] == list(range(1, len(known) + 1))
    assert all(step.up.strip() and step.down.strip() for step in known)


async def test_each_step_down_leaves_what_was_there_before_its_step_up(empty_conninfo: str) -> None:
    known = known_migrations()
    before = {0: await schema_of(empty_conninfo)}
    for step in known:
        applied = await migrate_up(empty_conninfo, to=step.version)
        assert [one.version for one in applied] == [step.version]
        before[step.version] = await schema_of(empty_conninfo)
    async with await psycopg.AsyncConnection.connect(empty_conninfo) as conn:
        await check_schema(conn)

    for step in reversed(known):
        assert await schema_of(empty_conninfo) == before[step.version]
        await migrate_down(empty_conninfo, to=step.version - 1)

    assert await schema_of(empty_conninfo) == before[0]
    await migrate_up(empty_conninfo)
    assert await schema_of(empty_conninfo) == before[known[-1].version]


async def test_migrating_twice_does_nothing_the_second_time(empty_conninfo: str) -> None:
    first = await migrate_up(empty_conninfo)

    assert [step.version for step in first] == [step.version for step in known_migrations()]
    assert await migrate_up(empty_conninfo) == []


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
        await conn.execute("INSERT INTO schema_migration (version, name, digest) VALUES (9999, '9999_future', '')")

    with pytest.raises(SchemaTooNew, match="migration 9999, but this version of Headwater supports only"):
        await migrate_up(empty_conninfo)
    with pytest.raises(SchemaTooNew):
        await migrate_down(empty_conninfo, to=0)
    async with await psycopg.AsyncConnection.connect(empty_conninfo) as conn:
        with pytest.raises(SchemaTooNew):
            await check_schema(conn)
    assert [state.name for state in await migration_states(empty_conninfo)][-1] == "9999_future"


async def test_a_database_of_a_development_version_is_refused_and_not_changed(empty_conninfo: str) -> None:
    async with await psycopg.AsyncConnection.connect(empty_conninfo) as conn:
        await conn.execute(
            "CREATE TABLE schema_migration"
            " (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
        )
        await conn.execute(
            "INSERT INTO schema_migration (version, name) VALUES (1, '0001_foundation'), (34, '0034_hosts')"
        )
        await conn.execute("CREATE TABLE sources (id uuid)")
    before = await schema_of(empty_conninfo)

    for attempt in (
        migrate_up(empty_conninfo),
        migrate_down(empty_conninfo, to=0),
        migration_states(empty_conninfo),
        check_database(empty_conninfo),
    ):
        with pytest.raises(SchemaUnreleased, match=r"0001_foundation.*Export your feeds as OPML.*empty database"):
            await attempt

    assert await schema_of(empty_conninfo) == before


async def test_a_database_is_refused_when_the_script_of_an_applied_migration_was_another(empty_conninfo: str) -> None:
    await migrate_up(empty_conninfo)
    async with await psycopg.AsyncConnection.connect(empty_conninfo) as conn:
        await conn.execute("UPDATE schema_migration SET digest = 'other' WHERE version = 2")

    with pytest.raises(SchemaUnreleased, match=known_migrations()[1].name):
        await check_database(empty_conninfo)


async def test_a_database_without_digests_of_its_migrations_is_refused(empty_conninfo: str) -> None:
    await migrate_up(empty_conninfo)
    async with await psycopg.AsyncConnection.connect(empty_conninfo) as conn:
        await conn.execute("ALTER TABLE schema_migration DROP COLUMN digest")

    with pytest.raises(SchemaUnreleased, match=known_migrations()[0].name):
        await check_database(empty_conninfo)


async def test_an_old_schema_is_reported_with_the_command_to_run(empty_conninfo: str) -> None:
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

    assert "public.half" not in {table for _, table, _ in await schema_of(empty_conninfo)}
    assert [state.applied_at is not None for state in await migration_states(empty_conninfo)] == [True, False]


async def test_a_missing_database_is_reported() -> None:
    with pytest.raises(DatabaseUnavailable):
        await migrate_up("host=127.0.0.1 port=1 dbname=nothing user=nobody")
