"""The database that tests share is as new after each of them."""

from typing import LiteralString

import psycopg
import pytest

from headwater.ids import new_id
from tests.builders import a_source
from tests.databases import EmptiedDatabase

pytestmark = pytest.mark.database

RELATIONS: LiteralString = """
    SELECT relkind, oid::regclass::text FROM pg_class
    WHERE relnamespace IN ('public'::regnamespace, 'months'::regnamespace) AND relkind IN ('r', 'S') ORDER BY 2
"""


async def content(conninfo: str) -> dict[str, list[str]]:
    """The rows of each table, and the next value of each sequence."""
    found: dict[str, list[str]] = {}
    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        for kind, name in await (await conn.execute(RELATIONS)).fetchall():
            select = f"SELECT t::text FROM {name} AS t ORDER BY 1" if kind == "r" else f"SELECT last_value FROM {name}"
            found[name] = [row for (row,) in await (await conn.execute(select.encode())).fetchall()]
    return found


async def test_a_test_leaves_no_row_and_no_number_to_the_next(emptied_database: EmptiedDatabase, conninfo: str) -> None:
    before = await content(conninfo)
    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        await a_source(conn)
        await conn.execute("UPDATE publishing_state SET last_revision = 7")
        await conn.execute("DELETE FROM rules_state")
    changed = await content(conninfo)

    await emptied_database.reset()

    assert emptied_database.conninfo == conninfo  # emptied, not made again
    assert await content(conninfo) == before != changed


async def test_foreign_keys_hold_in_an_emptied_database(emptied_database: EmptiedDatabase, conninfo: str) -> None:
    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        await a_source(conn)

    await emptied_database.reset()

    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        source = await a_source(conn)
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            async with conn.transaction():
                await conn.execute("UPDATE feed_state SET source_id = %(id)s", {"id": new_id()})
        await conn.execute("DELETE FROM sources WHERE id = %(id)s", {"id": source.id})
        left = await (await conn.execute("SELECT count(*) FROM feed_state")).fetchone()

    assert left == (0,)
