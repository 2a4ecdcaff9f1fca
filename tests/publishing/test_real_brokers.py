"""The destinations on a real Redis and a real NATS: order, errors, and a server that is killed and comes back."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client as NatsClient
from nats.js.api import StreamConfig
from redis.asyncio import Redis

from headwater.channels.store import records
from headwater.channels.store.deliveries import LeasedChannel
from headwater.channels.types import DestinationKind, DestinationLimits
from headwater.db import Database
from headwater.net import Client
from headwater.publishing.delivery.types import Accepted, DestinationFailed
from headwater.publishing.delivery.worker import Deliverer
from headwater.publishing.destinations.nats import NatsDestination
from headwater.publishing.destinations.redis import RedisDestination
from tests.channels.given import a_channel, queue
from tests.clock import MovableClock
from tests.publishing.real_brokers import nats_server, redis_server
from tests.publishing.test_delivering import OPTIONS, some_articles
from tests.publishing.test_destinations import CHANNEL, messages

pytestmark = pytest.mark.soak
SHORT = timedelta(seconds=2)


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Client(user_agent="Test/1", allow_loopback=True) as client:
        yield client


def redis(port: int, **more: Any) -> RedisDestination:
    options: dict[str, Any] = {"username": None, "password": None, "database": 0, "most": None, **more}
    return RedisDestination(f"redis://127.0.0.1:{port}", stream="crime", timeout=SHORT, **options)


async def entries(port: int, **login: Any) -> list[dict[bytes, bytes]]:
    server: Any = Redis(port=port, **login)
    async with server:
        return [fields for _, fields in await server.xrange("crime")]


async def test_redis_has_all_in_order_after_it_was_killed(tmp_path: Path) -> None:
    with redis_server(tmp_path) as server:
        stream = redis(server.port)
        assert await stream.send(messages(*range(1, 501))) == Accepted()
        server.kill()
        assert isinstance(await stream.send(messages(501)), DestinationFailed)
        server.start()
        assert await stream.send(messages(501)) == Accepted()
        await stream.close()
        found = await entries(server.port)
    assert [json.loads(one[b"data"])["revision"] for one in found] == list(range(1, 502))
    assert found[0][b"id"].decode() == f"{CHANNEL}:1"


async def test_redis_without_memory_or_rights_or_with_another_type_refuses_the_whole_batch(tmp_path: Path) -> None:
    with redis_server(tmp_path, "--requirepass", "secret") as server:
        no_login = redis(server.port)
        outcome = await no_login.send(messages(1))
        assert isinstance(outcome, DestinationFailed)
        await no_login.close()
        stream = redis(server.port, password="secret", most=10)
        async with Redis(port=server.port, password="secret") as operator:
            await operator.config_set("maxmemory", "1")
            outcome = await stream.send(messages(1, 2))
            assert isinstance(outcome, DestinationFailed)
            assert outcome.reason.startswith("Redis refuses: ")
            await operator.config_set("maxmemory", "0")
            assert await operator.exists("crime") == 0
            await operator.set("crime", "a text")
            assert isinstance(await stream.send(messages(1, 2)), DestinationFailed)
            await operator.delete("crime")
        assert await stream.send(messages(1, 2)) == Accepted()
        await stream.close()
        assert len(await entries(server.port, password="secret")) == 2


async def stream_of(port: int, *, create: bool = False) -> list[tuple[str, int]]:
    """The ids and revisions that NATS has stored."""
    server = NatsClient()
    await server.connect(f"nats://127.0.0.1:{port}")
    jetstream = server.jetstream()
    found: list[tuple[str, int]] = []
    if create:
        await jetstream.add_stream(StreamConfig(name="articles", subjects=["articles.>"]))
    else:
        state = (await jetstream.stream_info("articles")).state
        for number in range(1, state.last_seq + 1):
            stored = await jetstream.get_msg("articles", number)
            body: dict[str, Any] = json.loads(stored.data or b"{}")
            found.append(((stored.headers or {})["Nats-Msg-Id"], body["revision"]))
    await server.close()
    return found


async def test_nats_has_all_in_order_and_once_after_it_was_killed(tmp_path: Path) -> None:
    with nats_server(tmp_path) as server:
        subject = NatsDestination(
            f"nats://127.0.0.1:{server.port}", subject="articles.crime", username=None, password=None, timeout=SHORT
        )
        outcome = await subject.send(messages(1))
        assert outcome == DestinationFailed("NATS has no stream for the subject articles.crime.")
        await stream_of(server.port, create=True)
        assert await subject.send(messages(*range(1, 201))) == Accepted()
        server.kill()
        assert isinstance(await subject.send(messages(201)), DestinationFailed)
        server.start()
        assert await subject.send(messages(200, 201)) == Accepted()
        await subject.close()
        found = await stream_of(server.port)
    assert found == [(f"{CHANNEL}:{one}", one) for one in range(1, 202)]


async def test_a_channel_waits_for_its_redis_and_loses_nothing(
    tmp_path: Path, database: Database, client: Client, clock: MovableClock
) -> None:
    limits = DestinationLimits(hosts=frozenset({"127.0.0.1"}))
    deliverer = Deliverer(database, client, clock, replace(OPTIONS, limits=limits, timeout=SHORT))
    ids = await some_articles(database, 40)

    async def run() -> list[str | None]:
        claimed = [one for one in await deliverer.claim(10) if isinstance(one, LeasedChannel)]
        return [(await deliverer.work(one)).failure for one in claimed]

    with redis_server(tmp_path) as server:
        options = {"url": f"redis://127.0.0.1:{server.port}", "stream": "crime", "batch": 10}
        async with database.transaction() as conn:
            channel = await a_channel(conn, destination=DestinationKind.REDIS, options=options)
            await queue(conn, channel.id, range(1, 21), article_ids=ids[:20])
        assert await run() == [None]
        server.kill()
        async with database.transaction() as conn:
            await queue(conn, channel.id, range(21, 41), article_ids=ids[20:])
        [failure] = await run()
        assert failure is not None
        assert failure.startswith("Redis does not answer")
        server.start()
        async with database.transaction() as conn:
            clock.now = (await records.find(conn, channel_id=channel.id)).ready_at
        assert await run() == [None]
        found = await entries(server.port)
    assert [json.loads(one[b"data"])["revision"] for one in found] == list(range(1, 41))
    await deliverer.close()
