"""Each kind of destination: what arrives, in which form, and what becomes of its failures."""

import asyncio
import base64
import errno
import hashlib
import hmac
import json
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web

from headwater.ids import new_id
from headwater.net import Client
from headwater.net.webhook import OpenClient
from headwater.publishing.delivery.decide import joined
from headwater.publishing.delivery.types import Accepted, ContentRefused, DestinationFailed, OutgoingMessage
from headwater.publishing.destinations.file import FileDestination
from headwater.publishing.destinations.nats import NatsDestination
from headwater.publishing.destinations.redis import RedisDestination
from headwater.publishing.destinations.webhook import WebhookDestination
from tests.clock import START, MovableClock
from tests.publishing.stub_nats import StubNats
from tests.publishing.stub_redis import StubRedis
from tests.publishing.stub_webhook import StubWebhook

CHANNEL = new_id()
SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
SOON = timedelta(milliseconds=300)
PATIENT = timedelta(seconds=20)


def messages(*revisions: int, text: str = "x") -> list[OutgoingMessage]:
    return [
        OutgoingMessage(f"{CHANNEL}:{one}", one, json.dumps({"revision": one, "text": text}).encode())
        for one in revisions
    ]


@pytest.fixture
async def hook() -> AsyncIterator[StubWebhook]:
    async with StubWebhook() as hook:
        yield hook


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Client(user_agent="Test/1", allow_loopback=True) as client:
        yield client


def webhook(url: str, client: Client | OpenClient, *, within: timedelta = PATIENT) -> WebhookDestination:
    return WebhookDestination(
        url, channel_id=CHANNEL, channel="crime", secret=SECRET, client=client, timeout=within, clock=MovableClock()
    )


async def test_a_webhook_gets_a_signed_batch(hook: StubWebhook, client: Client) -> None:
    assert await webhook(hook.url, client).send(messages(1, 2)) == Accepted()
    [(headers, body)] = hook.requests
    said = json.loads(body)
    assert said["schema_version"] == 1
    assert said["channel"] == {"id": str(CHANNEL), "name": "crime"}
    assert hook.revisions == [1, 2]
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.digest(b"k" * 32, signed, hashlib.sha256)).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert headers["webhook-timestamp"] == str(int(START.timestamp()))
    assert headers["webhook-id"] == f"{CHANNEL}:1-2", "the same when these are sent again"


async def test_a_webhook_refuses_single_messages_by_their_id(hook: StubWebhook, client: Client) -> None:
    refused = {"refused": [{"id": f"{CHANNEL}:2", "reason": "no\nthanks"}, {"id": "other"}, 7]}
    hook.answer = lambda *_: web.json_response(refused)
    assert await webhook(hook.url, client).send(messages(1, 2)) == Accepted(
        {f"{CHANNEL}:2": "It was refused: no thanks"}
    )


@pytest.mark.parametrize("body", ["", "no JSON", "[]", '{"refused": 3}', "[" * 60_000, '{"refused": [{"id": {}}]}'])
async def test_any_other_body_of_a_2xx_accepts_all(hook: StubWebhook, client: Client, body: str) -> None:
    hook.answer = lambda *_: web.Response(status=202, text=body)
    assert await webhook(hook.url, client).send(messages(1)) == Accepted()


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_refused_content_is_told_apart_from_a_failure(hook: StubWebhook, client: Client, status: int) -> None:
    hook.answer = lambda *_: web.Response(status=status, text="bad\x00\n thing")
    outcome = await webhook(hook.url, client).send(messages(1))
    assert outcome == ContentRefused(f"It answered with {status}: bad thing")


async def test_a_webhook_says_how_long_to_wait(hook: StubWebhook, client: Client) -> None:
    hook.answer = lambda *_: web.Response(status=429, headers={"Retry-After": "90"})
    outcome = await webhook(hook.url, client).send(messages(1))
    assert outcome == DestinationFailed("It answered with 429.", timedelta(seconds=90))


async def test_redirects_are_not_followed(hook: StubWebhook, client: Client) -> None:
    hook.answer = lambda *_: web.Response(status=307, headers={"Location": "http://169.254.169.254/"})
    outcome = await webhook(hook.url, client).send(messages(1))
    assert isinstance(outcome, DestinationFailed)
    assert "redirects are not followed" in outcome.reason


async def test_a_slow_webhook_fails_in_time(hook: StubWebhook, client: Client) -> None:
    hook.wait_s = 5
    outcome = await webhook(hook.url, client, within=SOON).send(messages(1))
    assert outcome == DestinationFailed("No complete answer within 0.3 s.")


@pytest.mark.parametrize("is_guarded", [True, False])
async def test_an_answer_of_100_mb_is_not_read(hook: StubWebhook, client: Client, is_guarded: bool) -> None:
    hook.endless_bytes = 100_000_000
    used = client if is_guarded else OpenClient()
    assert await webhook(hook.url, used).send(messages(1)) == Accepted()
    if isinstance(used, OpenClient):
        await used.close()
    assert hook.sent_bytes < 20_000_000


async def test_a_private_address_is_refused_unless_it_is_allowed(hook: StubWebhook) -> None:
    async with Client(user_agent="Test/1") as guarded:
        outcome = await webhook(hook.url, guarded).send(messages(1))
    assert isinstance(outcome, DestinationFailed)
    assert "Headwater does not connect there" in outcome.reason
    assert "hidden" not in outcome.reason
    allowed = OpenClient()
    assert await webhook(hook.url, allowed).send(messages(1)) == Accepted()
    await allowed.close()


async def test_a_webhook_that_is_down_is_a_failure_without_its_url(client: Client) -> None:
    async with StubWebhook() as hook:
        url = hook.url
    for used in (client, OpenClient()):
        outcome = await webhook(url, used).send(messages(1))
        assert isinstance(outcome, DestinationFailed)
        assert "hidden" not in outcome.reason
        if isinstance(used, OpenClient):
            await used.close()


async def test_lines_are_appended_to_a_file(tmp_path: Path) -> None:
    file = FileDestination(tmp_path, "crime.jsonl")
    assert await file.send(messages(1, 2)) == Accepted()
    assert await file.send(messages(3)) == Accepted()
    lines = (tmp_path / "crime.jsonl").read_text().splitlines()
    assert [json.loads(line)["revision"] for line in lines] == [1, 2, 3]


async def test_a_torn_line_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "crime.jsonl"
    path.write_bytes(b'{"revision": 1}\n' + b'{"revision": 2, "text": "' + b"x" * 200_000)
    assert await FileDestination(tmp_path, "crime.jsonl").send(messages(2)) == Accepted()
    assert [json.loads(line)["revision"] for line in path.read_text().splitlines()] == [1, 2]
    path.write_bytes(b'{"revision": 1')
    await FileDestination(tmp_path, "crime.jsonl").send(messages(1))
    assert [json.loads(line)["revision"] for line in path.read_text().splitlines()] == [1]


async def test_a_full_disk_leaves_no_part_of_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, path = FileDestination(tmp_path, "crime.jsonl"), tmp_path / "crime.jsonl"
    await file.send(messages(1))
    write = os.pwrite
    room = [10]

    def full(fd: int, data: bytes, at: int) -> int:
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, data[: room.pop()], at)

    monkeypatch.setattr(os, "pwrite", full)
    outcome = await file.send(messages(2))
    assert outcome == DestinationFailed("The file cannot be written: No space left on device.")
    monkeypatch.undo()
    assert await file.send(messages(2)) == Accepted()
    assert [json.loads(line)["revision"] for line in path.read_text().splitlines()] == [1, 2]


async def test_a_file_is_never_outside_its_directory(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside.jsonl"
    inside.mkdir()
    outside.write_text("")
    (inside / "link.jsonl").symlink_to(outside)
    os.mkfifo(inside / "pipe.jsonl")
    assert isinstance(await FileDestination(inside, "link.jsonl").send(messages(1)), DestinationFailed)
    assert isinstance(await FileDestination(inside, "pipe.jsonl").send(messages(1)), DestinationFailed)
    assert isinstance(await FileDestination(tmp_path / "missing", "a").send(messages(1)), DestinationFailed)
    assert outside.read_text() == ""


def redis(url: str, *, within: timedelta = PATIENT, most: int | None = None) -> RedisDestination:
    return RedisDestination(
        url, stream="articles:crime", username=None, password="pw", database=0, most=most, timeout=within
    )


async def test_messages_are_entries_of_a_redis_stream(
) -> None:  # fmt: skip
    async with StubRedis() as server:
        stream = redis(server.url, most=1000)
        assert await stream.send(messages(1, 2)) == Accepted()
        await stream.close()
    names = [(name, fields["id"].decode()) for name, fields in server.entries]
    assert names == [("articles:crime", f"{CHANNEL}:1"), ("articles:crime", f"{CHANNEL}:2")]
    assert json.loads(server.entries[0][1]["data"])["revision"] == 1
    verbs = [command[0].upper() for command in server.commands]
    assert verbs.index(b"AUTH") < verbs.index(b"MULTI") < verbs.index(b"EXEC")
    added = next(command for command in server.commands if command[0] == b"XADD")
    assert added[2:5] == [b"MAXLEN", b"~", b"1000"]


@pytest.mark.parametrize("kind", ["redis", "nats"])
async def test_a_broker_that_sends_a_line_without_end_is_a_failure(kind: str) -> None:
    async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while True:
                writer.write(b"+" * 100_000)
                await writer.drain()

    async with await asyncio.start_server(flood, "127.0.0.1", 0) as server:
        address = f"{kind}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        broker = redis(address) if kind == "redis" else nats(address)
        outcome = await broker.send(messages(1))
        await broker.close()

    assert isinstance(outcome, DestinationFailed)


async def test_redis_that_refuses_or_is_silent_or_away_is_a_failure() -> None:
    async with StubRedis() as server:
        server.error = "EXECABORT Transaction discarded because of previous errors."
        stream = redis(server.url)
        outcome = await stream.send(messages(1))
        assert isinstance(outcome, DestinationFailed)
        assert outcome.reason.startswith("Redis refuses: ")
        server.error = ""
        assert await stream.send(messages(1)) == Accepted()
        await stream.close()
        server.is_silent = True
        silent = redis(server.url, within=SOON)
        assert isinstance(await silent.send(messages(1)), DestinationFailed)
        await silent.close()
    away = redis(server.url)
    outcome = await away.send(messages(1))
    assert isinstance(outcome, DestinationFailed)
    assert "pw" not in outcome.reason
    await away.close()


def nats(url: str, *, within: timedelta = PATIENT) -> NatsDestination:
    return NatsDestination(url, subject="articles.crime", username=None, password=None, timeout=within)


async def test_messages_are_stored_by_nats_once_and_in_order() -> None:
    async with StubNats() as server:
        subject = nats(server.url)
        assert await subject.send(messages(1, 2)) == Accepted()
        assert await subject.send(messages(2, 3)) == Accepted()
        await subject.close()
    assert [(known, name) for known, name, _ in server.stored] == [
        (f"{CHANNEL}:{one}", "articles.crime") for one in (1, 2, 3)
    ]


async def test_nats_that_stops_accepting_keeps_what_it_has() -> None:
    async with StubNats() as server:
        server.refuses_after = 2
        subject = nats(server.url)
        outcome = await subject.send(messages(1, 2, 3))
        assert outcome == DestinationFailed("NATS refuses: insufficient resources", accepted=2)
        await subject.close()


async def test_a_message_that_is_too_long_for_nats_is_refused_alone() -> None:
    async with StubNats() as server:
        server.max_payload = 5_000
        subject = nats(server.url)
        long = messages(2, text="x" * 10_000)
        outcome = await subject.send([*messages(1), *long, *messages(3)])
        await subject.close()
    assert isinstance(outcome, Accepted)
    assert list(outcome.refused) == [f"{CHANNEL}:2"]
    assert [known for known, _, _ in server.stored] == [f"{CHANNEL}:1", f"{CHANNEL}:3"]


async def test_a_message_that_is_too_long_is_not_accepted_by_nats_that_fails_later() -> None:
    async with StubNats() as server:
        server.max_payload, server.refuses_after = 5_000, 1
        subject = nats(server.url)
        long = messages(2, text="x" * 10_000)
        outcome = await subject.send([*messages(1), *long, *messages(3)])
        await subject.close()
    assert isinstance(outcome, DestinationFailed)
    assert (outcome.accepted, list(outcome.refused)) == (2, [f"{CHANNEL}:2"])
    found = joined([*messages(1), *long], outcome)
    assert (found.delivered, [revision for revision, _ in found.refused]) == ([1], [2])


async def test_nats_that_is_away_or_silent_is_a_failure() -> None:
    async with StubNats() as server:
        server.is_silent = True
        subject = nats(server.url, within=timedelta(seconds=1))
        assert isinstance(await subject.send(messages(1)), DestinationFailed)
        await subject.close()
    away = nats(server.url, within=timedelta(seconds=1))
    assert isinstance(await away.send(messages(1)), DestinationFailed)
    await away.close()
    await asyncio.sleep(0)
