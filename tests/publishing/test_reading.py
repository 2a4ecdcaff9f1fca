"""Channels that are read: the cursor of their messages."""

import asyncio

import pytest

from headwater.channels.route import Router
from headwater.channels.types import DestinationKind
from headwater.db import Database
from headwater.labels.vocabulary import CRIME
from headwater.publishing.reading import ChannelMessages, read_messages
from tests.channels.test_route import a_channel, an_article, is_waiting
from tests.clock import START

pytestmark = pytest.mark.database


async def test_a_message_that_comes_while_they_are_read_is_not_read_again(database: Database) -> None:
    async with database.transaction() as conn:
        channel = await a_channel(conn, "crime", "topic:crime", DestinationKind.NONE)
        article_id = await an_article(conn, 1, CRIME)

    async def read(after: int) -> ChannelMessages:
        async with database.transaction() as conn:
            return await read_messages(conn, channel, after=after, limit=10, now=START)

    async with database.transaction() as conn:
        await conn.execute("LOCK TABLE deliveries IN ACCESS EXCLUSIVE MODE")
        reading = asyncio.create_task(read(0))  # it knows the last revision, and waits
        while not reading.done() and not await is_waiting(database):
            await asyncio.sleep(0.01)
        await Router().route(conn, article_ids=[article_id], now=START)
    found = await reading
    again = await read(found.cursor)

    assert [one.revision for one in found.messages] == [found.cursor]
    assert again.messages == []


async def test_large_messages_are_read_a_few_at_a_time_and_none_is_left_out(database: Database) -> None:
    async with database.transaction() as conn:
        channel = await a_channel(conn, "crime", "topic:crime", DestinationKind.NONE)
        made = [await an_article(conn, number, CRIME) for number in (1, 2, 3)]
        await Router().route(conn, article_ids=made, now=START)
        pages, cursor, has_more = list[int](), 0, True
        while has_more:
            found = await read_messages(conn, channel, after=cursor, limit=10, now=START, bytes_most=5_000)
            pages.append(len(found.messages))
            cursor, has_more = found.cursor, found.has_more

    assert pages == [2, 1]
