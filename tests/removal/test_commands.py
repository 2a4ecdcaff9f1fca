"""`headwater source remove` and `headwater user remove` where no worker runs."""

import pytest

from headwater.db import Database
from tests.builders import another_administrator
from tests.headwater_process import Headwater
from tests.removal.builders import a_full_source, a_full_user, count, tables_with

pytestmark = pytest.mark.database


@pytest.fixture
def headwater(conninfo: str, tmp_path_factory: pytest.TempPathFactory) -> Headwater:
    return Headwater(tmp_path_factory.mktemp("headwater"), DATABASE_URL=conninfo)


async def test_a_source_that_is_removed_by_a_command_leaves_only_the_line_in_the_audit_log(
    headwater: Headwater, database: Database
) -> None:
    async with database.as_system() as conn:
        source = await a_full_source(conn)

    done = headwater.run("source", "remove", str(source.id), "--yes")

    assert done.returncode == 0, done.stderr
    async with database.as_system() as conn:
        assert await tables_with(conn, source.id) == {"audit_log"}
    assert await count(database, "articles") == 0


async def test_a_user_who_is_removed_by_a_command_leaves_nothing(headwater: Headwater, database: Database) -> None:
    await another_administrator(database)
    async with database.as_system() as conn:
        source = await a_full_source(conn)
        user_id = await a_full_user(conn, source)

    done = headwater.run("user", "remove", "ada@example.com", "--yes")

    assert done.returncode == 0, done.stderr
    async with database.as_system() as conn:
        assert await tables_with(conn, user_id, source.id) == set()
    assert await count(database, "articles") == 0
