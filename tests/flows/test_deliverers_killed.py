"""Delivering workers are killed at random, their destinations and the database under them: each delivery arrives."""

import asyncio
import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import nats
import psycopg
import pytest
import redis

from headwater.audit.types import COMMAND_LINE
from headwater.channels import operate
from headwater.channels.types import ChannelFields, DestinationKind, DestinationLimits
from headwater.db.embedded import EmbeddedServer
from headwater.db.migrate import migrate_up
from headwater.publishing.delivery.types import DeliveringOptions
from headwater.query.types import Everything, Query
from headwater.runtime import utc_now
from tests.broker_processes import needs_brokers, open_nats, open_redis
from tests.builders import a_source
from tests.flows.deliverer_process import start_deliverer
from tests.flows.test_up import embedded_only
from tests.flows.webhook_thread import Webhook, open_webhook
from tests.headwater_process import PATIENCE_S, wait_for

pytestmark = pytest.mark.soak

SECOND = timedelta(seconds=1)
CHANNELS = ("hook-1", "hook-2", "redis", "nats", "file")
ARTICLES = 4_000  # a delivery of each for each channel: 20,000
WORKERS, KILLS = 3, 8
BATCH = 50
LIMITS = DestinationLimits(hosts=frozenset({"127.0.0.1"}), has_directory=True, allow_loopback=True)
STREAM = "headwater"
SUBJECT = "headwater.articles"
NATS_STREAM = "HEADWATER"

ARTICLES_SQL = """
    WITH given AS (
        SELECT number, (left(first_id_at(now())::text, 24) || lpad(to_hex(number), 12, '0'))::uuid AS id
        FROM generate_series(1, %(count)s) AS number
    ), written AS (
        INSERT INTO articles (id, url, url_key, title, seen_at)
        SELECT id, 'https://news.example/' || number, sha256(number::text::bytea), 'Article ' || number, now()
        FROM given
    ), stated AS (
        INSERT INTO article_state (article_id, classified_at, revision, revised_at)
        SELECT id, now(), number, now() FROM given
    ), listed AS (
        INSERT INTO article_sources (article_id, source_id, entry_id, seen_at, listed_at)
        SELECT id, %(source_id)s, number::text, now(), now() FROM given
    ), queued AS (
        INSERT INTO deliveries (channel_id, revision, article_id, queued_at)
        SELECT channels.id, number, given.id, now() FROM given, channels
    )
    UPDATE publishing_state SET last_revision = %(count)s
"""
WAITING = "SELECT count(*) FROM deliveries WHERE delivered_at IS NULL"
DONE = "SELECT count(*) FROM deliveries WHERE delivered_at IS NOT NULL"


@dataclass
class Destinations:
    hooks: Mapping[str, Webhook]
    redis_port: int
    nats_port: int
    folder: Path

    def options(self, channel: str) -> tuple[DestinationKind, dict[str, Any]]:
        match channel:
            case "redis":
                return DestinationKind.REDIS, {"url": f"redis://127.0.0.1:{self.redis_port}", "stream": STREAM}
            case "nats":
                return DestinationKind.NATS, {"url": f"nats://127.0.0.1:{self.nats_port}", "subject": SUBJECT}
            case "file":
                return DestinationKind.FILE, {"name": "articles.jsonl"}
            case _:
                return DestinationKind.WEBHOOK, {"url": self.hooks[channel].url}

    def arrived(self) -> dict[str, list[str]]:
        """The ids of what arrived at each destination, in order."""
        lines = (self.folder / "articles.jsonl").read_text().splitlines()
        entries: Any = redis.Redis(port=self.redis_port).xrange(STREAM)
        messages = {name: hook.messages for name, hook in self.hooks.items()}
        messages["redis"] = [json.loads(fields[b"data"]) for _, fields in entries]
        messages["file"] = [json.loads(line) for line in lines]
        messages["nats"] = asyncio.run(read_nats(self.nats_port))
        return {name: [one["delivery_id"] for one in each] for name, each in messages.items()}


@pytest.fixture
def server(open_folder: Path) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(open_folder / "data")
    server.start()
    asyncio.run(migrate_up(server.conninfo))
    yield server
    server.leave()


@pytest.fixture
def destinations(open_folder: Path) -> Iterator[Destinations]:
    folder = open_folder / "channels"
    folder.mkdir()
    with ExitStack() as stack:
        hooks = {name: stack.enter_context(open_webhook()) for name in CHANNELS if name.startswith("hook")}
        ports = stack.enter_context(open_redis(open_folder)), stack.enter_context(open_nats(open_folder))
        asyncio.run(make_nats_stream(ports[1]))
        yield Destinations(hooks, *ports, folder)


@embedded_only
@needs_brokers
def test_each_delivery_arrives_in_order_whatever_is_killed(server: EmbeddedServer, destinations: Destinations) -> None:
    chance = random.Random(7)
    ids = asyncio.run(queue_all(server, destinations))
    options = DeliveringOptions(
        limits=LIMITS, directory=str(destinations.folder), concurrency=2, lease=4 * SECOND, timeout=2 * SECOND,
        turn=2 * SECOND, wait_min=SECOND / 5, wait_max=SECOND,
    )  # fmt: skip
    with ExitStack() as stack:

        def a_worker() -> BaseProcess:
            worker = start_deliverer(server.conninfo, options)
            stack.callback(worker.kill)
            return worker

        workers = [a_worker() for _ in range(WORKERS)]
        wait_for(lambda: count(server, DONE) > 0)
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.1, 0.4))
            victim = workers.pop(chance.randrange(WORKERS))
            victim.kill()
            victim.join()
            workers.append(a_worker())
        down = destinations.hooks["hook-2"]
        down.is_down = True
        wait_for(lambda: down.refused > 2)
        left = count(server, WAITING)
        restart(server)
        wait_for(lambda: count(server, WAITING) <= ARTICLES)
        down.is_down = False
        wait_for(lambda: count(server, WAITING) == 0)
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.join(PATIENCE_S)
        codes = [worker.exitcode for worker in workers]
    arrived = destinations.arrived()

    assert left > 0  # the destination and the database failed while there was work
    for channel, wanted in ids.items():
        assert first_of_each(arrived[channel]) == wanted, channel  # each, in order, under its own id
    again = {channel: sent(arrived[channel]) for channel in ids}
    assert max(again.values()) <= (KILLS + 2) * BATCH, again
    assert codes == [0] * WORKERS


def first_of_each(arrived: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(arrived))


def sent(arrived: Sequence[str]) -> int:
    """How many arrived once more."""
    return sum(times - 1 for times in Counter(arrived).values())


async def queue_all(server: EmbeddedServer, destinations: Destinations) -> dict[str, list[str]]:
    """The channels and a delivery of each article for each of them. Returns the ids, in order."""
    async with await psycopg.AsyncConnection.connect(server.conninfo) as conn:
        ids: dict[str, list[str]] = {}
        for name in CHANNELS:
            kind, options = destinations.options(name)
            fields = ChannelFields(name, "*", kind, {**options, "batch": BATCH})
            made = await operate.create(
                conn, fields=fields, query=Query("*", Everything()), limits=LIMITS, actor=COMMAND_LINE, now=utc_now()
            )
            if name in destinations.hooks:
                destinations.hooks[name].secret = made.secret
            ids[name] = [f"{made.channel.id}:{revision}" for revision in range(1, ARTICLES + 1)]
        source = await a_source(conn)  # articles that no public feed lists are not sent
        await conn.execute(ARTICLES_SQL, {"count": ARTICLES, "source_id": source.id})
    return ids


def count(server: EmbeddedServer, statement: str) -> int:
    with psycopg.connect(server.conninfo) as conn:
        (found,) = conn.execute(statement.encode()).fetchone() or (0,)
        return found


def restart(server: EmbeddedServer) -> None:
    """The whole database goes at once, as when its machine does, and comes back."""
    pid = server.pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: server.pid() is None)
    server.start()


async def make_nats_stream(port: int) -> None:
    connection: Any = await nats.connect(f"nats://127.0.0.1:{port}")
    await connection.jetstream().add_stream(name=NATS_STREAM, subjects=[SUBJECT])
    await connection.close()


async def read_nats(port: int) -> list[dict[str, Any]]:
    """What is in the stream, in order."""
    connection: Any = await nats.connect(f"nats://127.0.0.1:{port}")
    stream = connection.jetstream()
    last = (await stream.stream_info(NATS_STREAM)).state.last_seq
    found = [json.loads((await stream.get_msg(NATS_STREAM, seq)).data) for seq in range(1, last + 1)]
    await connection.close()
    return found
