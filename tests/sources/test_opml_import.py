"""The importing stage finishes interrupted imports."""

from uuid import UUID

import pytest

from headwater.accounts.quotas import Quotas
from headwater.db import Database
from headwater.sources.opml_import import Importer, ImportWorker
from headwater.sources.store import imports
from headwater.sources.types import Import
from headwater.types import UserId
from tests.builders import a_reader
from tests.clock import MovableClock

pytestmark = pytest.mark.database


@pytest.fixture
def stage(database: Database, clock: MovableClock) -> ImportWorker:
    return ImportWorker(database, clock, Quotas())


async def an_import(database: Database, clock: MovableClock, user_id: UserId, count: int) -> UUID:
    """As it is after an upload whose process was killed."""
    lines = "".join(f"<outline text='{n}' xmlUrl='https://{user_id}.example/{n}'/>" for n in range(count))
    return await Importer(database, clock).begin(user_id, "f", f"<opml><body>{lines}</body></opml>".encode())


async def find(database: Database, user_id: UserId, import_id: UUID) -> Import:
    async with database.as_user(user_id) as conn:
        found = await imports.find(conn, import_id=import_id)
    assert found is not None
    return found


async def work(stage: ImportWorker) -> int:
    """Take turns until nothing is claimed; returns how many lines were worked on."""
    total = 0
    while claimed := await stage.claim(stage.concurrency):
        for running in claimed:
            total += await stage.work(running)
    return total


async def test_imports_that_were_left_are_finished(
    database: Database, clock: MovableClock, stage: ImportWorker
) -> None:
    ada, ben = await a_reader(database), await a_reader(database, "ben@example.com")
    first = await an_import(database, clock, ada, 60)
    second = await an_import(database, clock, ben, 3)
    clock.move(minutes=2)
    lag = await stage.lag()

    count = await work(stage)

    assert (count, lag.total_seconds()) == (63, 120)
    for user_id, import_id, added in ((ada, first, 60), (ben, second, 3)):
        found = await find(database, user_id, import_id)
        assert (found.added, found.is_running) == (added, False)
    assert (await stage.lag()).total_seconds() == 0


async def test_an_import_of_which_only_the_end_was_not_written_is_finished(
    database: Database, clock: MovableClock, stage: ImportWorker
) -> None:
    ada = await a_reader(database)
    import_id = await an_import(database, clock, ada, 2)
    await Importer(database, clock).work(ada, import_id, 2)  # both lines, and no look for a third
    before = await find(database, ada, import_id)

    await work(stage)

    assert before.is_running
    assert not (await find(database, ada, import_id)).is_running


async def test_while_another_process_holds_the_last_line_the_stage_waits(
    database: Database, clock: MovableClock, stage: ImportWorker
) -> None:
    ada = await a_reader(database)
    import_id = await an_import(database, clock, ada, 1)
    async with database.as_system() as conn:
        await imports.claim_line(conn, user_id=ada, import_id=import_id)

        count = await work(stage)

    assert count == 0
    assert (await find(database, ada, import_id)).is_running


async def test_an_import_of_a_deleted_user_is_left_to_the_removing_stage(
    database: Database, clock: MovableClock, stage: ImportWorker
) -> None:
    ada = await a_reader(database)
    await an_import(database, clock, ada, 3)
    async with database.as_system() as conn:
        await conn.execute("DELETE FROM users WHERE id = %(id)s", {"id": ada})

    assert await stage.claim(1) == []
    assert (await stage.lag()).total_seconds() == 0
