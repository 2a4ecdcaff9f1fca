"""Streams: heartbeats, their end, and that each gives its slot back."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from headwater.asgi.streams import (
    JsonLines,
    ServerSentEvents,
    StreamBatch,
    StreamForm,
    StreamItem,
    StreamOptions,
    Streams,
    StreamSlot,
    follow,
)
from headwater.errors import DatabaseUnavailable, TooManyRequests
from tests.headwater_process import PATIENCE_S

QUICK = StreamOptions(most=3, per_user=2, poll=timedelta(0), heartbeat=timedelta(0), longest=timedelta(hours=1))


class Log:
    """Numbers from 1 on, two at a time; then the database is unavailable, or the server stops."""

    def __init__(self, streams: Streams, latest: int, *, breaks: bool = False) -> None:
        self._streams, self._latest, self._breaks = streams, latest, breaks
        self._asked = 0

    async def latest(self) -> int:
        self._asked += 1
        if self._asked > self._latest:
            if self._breaks:
                raise DatabaseUnavailable("it restarts")
            self._streams.close()
        return self._latest

    async def read(self, cursor: int) -> StreamBatch:
        numbers = range(cursor + 1, min(cursor + 2, self._latest) + 1)
        items = [StreamItem(number, json.dumps({"number": number}).encode()) for number in numbers]
        return StreamBatch(items, numbers[-1], has_more=numbers[-1] < self._latest)


async def sent(streams: Streams, slot: StreamSlot, form: StreamForm, log: Log) -> bytes:
    content = follow(streams, slot, form, start=0, latest=log.latest, read=log.read)
    return b"".join([piece async for piece in content])


async def test_events_have_ids_and_a_heartbeat_carries_the_cursor() -> None:
    streams = Streams(QUICK)

    text = (await sent(streams, streams.open("ada"), ServerSentEvents("article"), Log(streams, 3))).decode()

    assert text.startswith('retry: 3000\n\nid: 1\nevent: article\ndata: {"number": 1}\n\n')
    assert text.endswith(": keep-alive\nid: 3\n\n")
    assert [line for line in text.splitlines() if line.startswith("data:")] == [
        f'data: {{"number": {number}}}' for number in (1, 2, 3)
    ]


async def test_lines_are_objects_and_a_heartbeat_is_an_empty_line() -> None:
    streams = Streams(QUICK)

    lines = (await sent(streams, streams.open("ada"), JsonLines(), Log(streams, 3))).decode().splitlines()

    assert [json.loads(line)["number"] for line in lines if line] == [1, 2, 3]
    assert "" in lines


@pytest.mark.parametrize("breaks", [False, True], ids=["server stops", "database unavailable"])
async def test_a_stream_that_ends_gives_its_slot_back(*, breaks: bool) -> None:
    streams = Streams(QUICK)
    slots = [streams.open("ada") for _ in range(2)]
    with pytest.raises(TooManyRequests):
        streams.open("ada")

    await sent(streams, slots[0], JsonLines(), Log(streams, 2, breaks=breaks))

    streams.open("ada").release()


@pytest.mark.parametrize(("answers", "expected"), [([True] * 3 + [False], [1, 2]), ([True, True, False], [1])])
async def test_a_stream_ends_when_its_token_is_revoked_also_in_a_batch(
    answers: list[bool], expected: list[int]
) -> None:
    streams, said = Streams(QUICK), iter(answers)
    log = Log(streams, 100)

    async def is_permitted() -> bool:
        return next(said)

    content = follow(
        streams, streams.open("ada"), JsonLines(), start=0, latest=log.latest, read=log.read, is_permitted=is_permitted
    )
    lines = b"".join([piece async for piece in content]).splitlines()

    assert [json.loads(line)["number"] for line in lines if line] == expected


async def test_a_stream_ends_after_its_longest_time_also_while_there_is_more() -> None:
    streams = Streams(replace(QUICK, longest=timedelta(0)))
    lines = (await sent(streams, streams.open("ada"), JsonLines(), Log(streams, 100))).splitlines()
    assert [json.loads(line)["number"] for line in lines if line] == [1, 2]


def test_a_response_that_was_never_sent_gives_its_slot_back() -> None:
    streams = Streams(QUICK)
    for _ in range(10):
        log = Log(streams, 1)
        follow(streams, streams.open("ada"), JsonLines(), start=0, latest=log.latest, read=log.read)


def test_all_users_together_have_a_limit_too() -> None:
    streams = Streams(QUICK)
    slots = [streams.open(user) for user in ("ada", "bob", "eve")]

    with pytest.raises(TooManyRequests):
        streams.open("mallory")
    slots[0].release()
    slots[0].release()
    streams.open("mallory").release()


async def test_a_few_streams_read_at_a_time_and_one_of_each_owner() -> None:
    streams = Streams(replace(QUICK, reading=2))
    inside: list[str] = []
    go_on = asyncio.Event()

    async def read(owner: str) -> None:
        async with streams.reading(owner):
            inside.append(owner)
            await go_on.wait()

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        for owner in ("ada", "ada", "ada", "bob", "eve"):
            group.create_task(read(owner))
        while len(inside) < 2:
            await asyncio.sleep(0)
        first = list(inside)
        go_on.set()

    assert first == ["ada", "bob"]
    assert sorted(inside) == ["ada", "ada", "ada", "bob", "eve"]


async def test_a_stream_that_waits_too_long_for_a_connection_ends() -> None:
    streams = Streams(QUICK)

    async def read(_: int) -> StreamBatch:
        raise TooManyRequests(timedelta(seconds=30))

    log = Log(streams, 2)
    content = follow(streams, streams.open("ada"), JsonLines(), start=0, latest=log.latest, read=read)
    assert [piece async for piece in content] == [b""]
