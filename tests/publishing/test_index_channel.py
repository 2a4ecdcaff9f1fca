"""The search index as a destination: the stage `delivering` sends to it, and operators see and stop its channel."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from headwater.audit.types import COMMAND_LINE
from headwater.channels import operate
from headwater.channels.overview import list_overviews
from headwater.channels.store import records
from headwater.channels.types import Channel, ChannelFields, ChannelOverview, DestinationKind
from headwater.db import Database
from headwater.documents import store as documents
from headwater.errors import Invalid
from headwater.net import Client
from headwater.publishing.delivery.types import DeliveringOptions
from headwater.publishing.delivery.worker import Deliverer
from headwater.publishing.elasticsearch import SearchIndex
from headwater.publishing.worker import Indexer
from headwater.query.types import Everything, Query
from tests.channels.given import LIMITS, a_channel, queue
from tests.clock import START, MovableClock
from tests.headwater_process import PATIENCE_S
from tests.publishing.conftest import OPTIONS
from tests.publishing.stored import extract, forget, publish
from tests.publishing.stub_elasticsearch import StubElasticsearch, refuse, say
from tests.publishing.stub_webhook import StubWebhook

pytestmark = pytest.mark.database

URLS = [f"https://example.com/{number}" for number in range(1, 4)]
MAPPING_ERROR = {"type": "mapper_parsing_exception", "reason": "no"}
REFUSED = json.dumps({"errors": True, "items": [{"index": {"status": 400, "error": MAPPING_ERROR}}]})


class DeliveringStage:
    """The stage with an index, and what a test asks of it."""

    def __init__(self, deliverer: Deliverer, database: Database, clock: MovableClock) -> None:
        self.deliverer, self.database, self.clock = deliverer, database, clock

    async def turn(self) -> None:
        for item in await self.deliverer.claim(10):
            await self.deliverer.work(item)

    async def until(self, waiting: int = 0) -> None:
        """Turn after turn, ten seconds apart by the stage's clock, until so many documents wait."""
        async with asyncio.timeout(PATIENCE_S):  # transactions of other databases of the server delay the filling
            while True:
                await self.turn()
                async with self.database.transaction() as conn:
                    counts = await documents.count(conn)
                if counts.is_listening and not counts.is_filling and counts.waiting == waiting:
                    return
                self.clock.move(seconds=10)
                await asyncio.sleep(0.02)

    async def overview(self) -> ChannelOverview:
        async with self.database.transaction() as conn:
            (found,) = [
                one for one in await list_overviews(conn, now=self.clock())
                if one.channel.destination is DestinationKind.SEARCH_INDEX
            ]  # fmt: skip
        return found

    async def channel(self) -> Channel:
        return (await self.overview()).channel


@pytest.fixture
async def stage(database: Database, index: SearchIndex, clock: MovableClock) -> AsyncIterator[DeliveringStage]:
    async with Client(user_agent="Test/1", allow_loopback=True) as client:
        indexer = Indexer(database, index, clock, OPTIONS)
        options = DeliveringOptions(limits=replace(LIMITS, allow_loopback=True), timeout=timedelta(seconds=20))
        deliverer = Deliverer(database, client, clock, options, indexer)
        stage = DeliveringStage(deliverer, database, clock)
        await stage.until()
        yield stage
        await deliverer.close()


def urls_in(stub: StubElasticsearch) -> set[str]:
    return {document["url"] for document in stub.documents("raw_content").values()}


async def test_the_index_has_a_channel_that_counts_what_it_got(
    database: Database, stage: DeliveringStage, stub: StubElasticsearch
) -> None:
    await publish(database, *URLS)
    waiting = (await stage.overview()).counts.waiting
    await stage.until()
    await forget(database, URLS[0])
    await stage.until()
    channel = await stage.channel()

    assert urls_in(stub) == set(URLS[1:])
    assert waiting == 3
    assert (channel.name, channel.query, channel.delivered) == ("search-index", "*", 4)
    assert (channel.failures, channel.reason) == (0, None)
    assert channel.delivered_at is not None


async def test_another_channel_is_sent_while_the_index_does_not_answer(
    database: Database, stage: DeliveringStage, stub: StubElasticsearch
) -> None:
    stub.faults.extend([refuse(503)] * 50)
    async with StubWebhook() as hook:
        async with database.transaction() as conn:
            article = await extract(conn, URLS[0])
            channel = await a_channel(conn, options={"url": hook.url})
            await queue(conn, channel.id, [1], article_ids=[article])
        await stage.turn()
        await stage.turn()
    failing = await stage.channel()

    assert hook.revisions == [1]
    assert failing.failures > 0
    assert failing.reason is not None
    assert "503" in failing.reason


async def test_the_index_is_paused_and_resumed_as_any_channel(
    database: Database, stage: DeliveringStage, stub: StubElasticsearch
) -> None:
    channel = await stage.channel()
    async with database.transaction() as conn:
        await operate.set_paused(conn, channel.id, is_paused=True, actor=COMMAND_LINE, now=START)
    await publish(database, *URLS)
    await stage.turn()
    paused = urls_in(stub)
    async with database.transaction() as conn:
        await operate.set_paused(conn, channel.id, is_paused=False, actor=COMMAND_LINE, now=START)
    await stage.until()

    assert paused == set()
    assert urls_in(stub) == set(URLS)


async def test_the_lag_is_the_age_of_the_oldest_change_also_when_it_changed_again(
    database: Database, stage: DeliveringStage, clock: MovableClock
) -> None:
    empty = await stage.deliverer.lag()
    async with database.transaction() as conn:
        await extract(conn, URLS[0], text="One", now=clock())
        clock.move(minutes=1)
        await extract(conn, URLS[1], text="Two", now=clock())
        await extract(conn, URLS[0], text="Another, and longer than the first was", now=clock())
    clock.move(minutes=2)

    assert (empty, await stage.deliverer.lag()) == (timedelta(0), timedelta(minutes=3))


async def test_a_refused_document_is_a_dead_letter_that_is_retried(
    database: Database, stage: DeliveringStage, stub: StubElasticsearch
) -> None:
    stub.faults.append(say(REFUSED))
    await publish(database, URLS[0])
    await stage.until()
    refused = (await stage.overview()).counts.refused
    channel = await stage.channel()
    async with database.transaction() as conn:
        retried = await operate.retry(conn, channel.id, actor=COMMAND_LINE, now=START)
    await stage.until()

    assert (refused, retried) == (1, 1)
    assert urls_in(stub) == {URLS[0]}
    assert (await stage.overview()).counts.refused == 0


async def test_a_replay_sends_everything_again(
    database: Database, stage: DeliveringStage, stub: StubElasticsearch
) -> None:
    await publish(database, *URLS)
    await stage.until()
    before = sum(len(call.operations) for call in stub.calls)
    channel = await stage.channel()
    async with database.transaction() as conn:
        count = await operate.replay(conn, channel.id, since=START, actor=COMMAND_LINE, now=START)
    await stage.until()

    assert count == 3
    assert sum(len(call.operations) for call in stub.calls) == before + 3


async def test_its_channel_can_be_renamed_and_deleted_and_no_other_made(
    database: Database, stage: DeliveringStage
) -> None:
    channel = await stage.channel()
    query = Query("*", Everything())

    async def change(fields: ChannelFields) -> None:
        async with database.transaction() as conn:
            await operate.change(
                conn, channel.id, fields=fields, query=query, limits=LIMITS, actor=COMMAND_LINE, now=START
            )

    await change(replace(channel.fields, name="articles"))
    with pytest.raises(Invalid, match="made by Headwater"):
        await change(replace(channel.fields, destination=DestinationKind.NONE))
    with pytest.raises(Invalid, match="made by Headwater"):
        async with database.transaction() as conn:
            await a_channel(conn, "second", destination=DestinationKind.SEARCH_INDEX, options={})
    renamed = await stage.channel()
    async with database.transaction() as conn:
        await operate.delete(conn, channel.id, actor=COMMAND_LINE, now=START)
    await publish(database, *URLS)

    assert renamed.name == "articles"
    async with database.transaction() as conn:
        assert await records.list_channels(conn) == []
        assert (await documents.count(conn)).waiting == 0
