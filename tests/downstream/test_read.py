"""Pages of articles: what changes while one is read."""

import asyncio

import pytest

from headwater.db import Database
from headwater.downstream.read import RevisionQuery, read_page
from headwater.downstream.types import RevisionPage
from tests.api.test_articles import Newsroom, revise
from tests.builders import a_source
from tests.channels.test_route import is_waiting
from tests.clock import START

pytestmark = pytest.mark.database


async def test_a_reader_who_goes_on_after_the_last_revision_misses_nothing(database: Database) -> None:
    """An article that changes while a page is read has a later revision than others that are not read yet."""
    async with database.transaction() as conn:
        source = await a_source(conn, now=START)
    room = Newsroom(database, source.id)
    made = await room.add_several(3)

    async def read(after: int, limit: int) -> RevisionPage:
        async with database.transaction() as conn:
            return await read_page(conn, RevisionQuery(after, limit, START))

    async with database.transaction() as conn:
        await conn.execute("LOCK TABLE article_sources IN ACCESS EXCLUSIVE MODE")
        reading = asyncio.create_task(read(0, 2))  # it has the places of the first two, and waits for their sources
        while not reading.done() and not await is_waiting(database):
            await asyncio.sleep(0.01)
        await revise(conn, made[1])
    page = await reading
    rest = await read(max((one.revision or 0 for one in page.articles), default=0), 10)

    assert [one.id for one in page.articles] == [made[0]]
    assert [one.id for one in rest.articles] == [made[2], made[1]]
    assert page.has_more
