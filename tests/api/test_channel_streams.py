"""Channels that are read: streams from a cursor, and feeds with a token or at a secret address."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from httpx import AsyncClient
from lxml import etree

from headwater.accounts.types import Role
from headwater.channels.route import Router
from headwater.channels.types import Channel, DestinationKind
from headwater.db import Database
from headwater.feeds import parse_feed
from headwater.labels.vocabulary import CRIME, SPORT
from headwater.types import ArticleId
from tests.api.test_articles import served
from tests.api.test_custom import a_user, bearer
from tests.channels.given import revision_at
from tests.channels.test_route import a_channel, an_article
from tests.clock import START, MovableClock

pytestmark = pytest.mark.database
ATOM = "{http://www.w3.org/2005/Atom}"


@dataclass
class Wire:
    """A channel of articles about crime, and the app on a port of its own."""

    client: AsyncClient
    stop: asyncio.Event
    database: Database
    channel: Channel

    @property
    def path(self) -> str:
        return f"/api/v1/channels/{self.channel.id}"

    async def add(self, number: int, topic: str = CRIME, title: str = "The harbour opens") -> ArticleId:
        async with self.database.transaction() as conn:
            article_id = await an_article(conn, number, topic, title=title)
            at = START + timedelta(minutes=number)
            await Router().route(conn, article_ids=[article_id], now=at)
        return article_id


@pytest.fixture
async def wire(database: Database, clock: MovableClock) -> AsyncIterator[Wire]:
    async with database.transaction() as conn:
        channel = await a_channel(conn, "articles:crime", "topic:crime", DestinationKind.NONE)
    async with served(database, clock) as (client, stop):
        yield Wire(client, stop, database, channel)


async def next_messages(lines: AsyncIterator[str], count: int) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    async with asyncio.timeout(300):
        while len(found) < count:
            line = await anext(lines)
            found += [json.loads(line)] if line else []
    return found


async def test_a_stream_has_the_messages_after_a_revision_and_then_what_is_new(wire: Wire) -> None:
    first = await wire.add(1)
    await wire.add(2, SPORT)
    third = await wire.add(3)

    async with wire.client.stream("GET", f"{wire.path}/stream?after=0") as response:
        lines = response.aiter_lines()
        found = await next_messages(lines, 2)
        fourth = await wire.add(4)
        found += await next_messages(lines, 1)
        wire.stop.set()
        async with asyncio.timeout(300):
            rest = [line async for line in lines]

    revisions = [revision_at(START + timedelta(minutes=number)) for number in (1, 3, 4)]
    assert [one["revision"] for one in found] == revisions
    assert [one["id"] for one in found] == [str(first), str(third), str(fourth)]
    assert found[0]["delivery_id"] == f"{wire.channel.id}:{revisions[0]}"
    assert found[0]["schema_version"] == 1
    assert set(rest) <= {""}


async def test_events_go_on_after_the_last_event_id(wire: Wire) -> None:
    for number in (1, 2, 3):
        await wire.add(number)
    second, third = [revision_at(START + timedelta(minutes=number)) for number in (2, 3)]
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(second)}

    async with wire.client.stream("GET", f"{wire.path}/stream?after=0", headers=headers) as response:
        lines = response.aiter_lines()
        seen: list[str] = []
        async with asyncio.timeout(300):
            while not any(line.startswith("data:") for line in seen):
                seen.append(await anext(lines))

    assert response.headers["content-type"].startswith("text/event-stream")
    assert [line for line in seen if line.startswith(("id:", "event:"))] == [f"id: {third}", "event: article"]


async def test_a_stream_of_a_deleted_channel_ends(wire: Wire) -> None:
    async with wire.client.stream("GET", f"{wire.path}/stream") as response:
        assert response.status_code == 200
        assert (await wire.client.delete(wire.path)).status_code == 204
        await wire.add(1)  # streams look when there is a new revision
        async with asyncio.timeout(300):
            assert {line async for line in response.aiter_lines()} <= {""}
    assert (await wire.client.get(f"{wire.path}/stream")).json()["code"] == "channel_not_found"


async def test_a_wrong_cursor_is_refused(wire: Wire) -> None:
    assert (await wire.client.get(f"{wire.path}/stream?after=x")).status_code == 422
    wrong = await wire.client.get(f"{wire.path}/stream", headers={"Last-Event-ID": "9" * 30})
    assert (wrong.status_code, wrong.json()["errors"][0]["where"]) == (422, "query.after")


async def test_a_feed_is_read_at_its_secret_address_until_it_is_revoked(wire: Wire) -> None:
    await wire.add(1, title="Theft & <b>more</b>")
    await wire.add(2)
    made = (await wire.client.post(f"{wire.path}/feed")).json()
    atom, feed_json = urlsplit(made["atom_url"]).path, urlsplit(made["json_url"]).path
    del wire.client.headers["Authorization"]

    answer = await wire.client.get(atom)
    assert answer.headers["content-type"].startswith("application/atom+xml")
    assert answer.headers["cache-control"] == "private, max-age=300"
    tree = etree.fromstring(answer.content)
    assert [one.text for one in tree.iter(f"{ATOM}title")] == [
        "articles:crime",
        "The harbour opens",
        "Theft & <b>more</b>",
    ]
    read = parse_feed(answer.content, url=made["atom_url"])
    assert [entry.url for entry in read.entries] == ["https://example.com/2", "https://example.com/1"]
    known = {"If-None-Match": answer.headers["etag"]}
    assert (await wire.client.get(atom, headers=known)).status_code == 304
    await wire.add(3)
    assert (await wire.client.get(atom, headers=known)).status_code == 200
    items = (await wire.client.get(feed_json)).json()["items"]
    assert [one["url"] for one in items] == [f"https://example.com/{number}" for number in (3, 2, 1)]


async def test_a_new_address_and_a_revoked_one_replace_the_old(wire: Wire) -> None:
    old, new = [(await wire.client.post(f"{wire.path}/feed")).json()["atom_url"] for _ in range(2)]

    assert (await wire.client.get(urlsplit(old).path)).status_code == 404
    assert (await wire.client.get(urlsplit(new).path)).status_code == 200
    assert (await wire.client.get(wire.path)).json()["has_feed"] is True
    assert (await wire.client.delete(f"{wire.path}/feed")).status_code == 204
    assert (await wire.client.get(urlsplit(new).path)).status_code == 404


async def test_guessing_addresses_is_limited(wire: Wire) -> None:
    statuses = [(await wire.client.get(f"/channel-feeds/guess{number}/atom.xml")).status_code for number in range(62)]

    assert (statuses[0], statuses[59], statuses[60]) == (404, 404, 429)


async def test_a_feed_is_read_with_a_token_in_both_forms(wire: Wire) -> None:
    await wire.add(1)

    atom = await wire.client.get(f"{wire.path}/feed")
    as_json = await wire.client.get(f"{wire.path}/feed", headers={"Accept": "application/feed+json"})

    assert atom.headers["content-type"].startswith("application/atom+xml")
    assert "etag" in atom.headers
    assert as_json.json()["title"] == "articles:crime"


@pytest.mark.parametrize(
    "change", ["DELETE FROM api_tokens", "UPDATE users SET role = 'reader'"], ids=["token revoked", "role lost"]
)
async def test_a_stream_ends_soon_after_its_token_is_revoked(wire: Wire, clock: MovableClock, change: str) -> None:
    user = await a_user(wire.database, clock, "mod@example.com", Role.MODERATOR)
    headers = await bearer(wire.database, clock, user, "admin")
    await wire.add(1)

    async with wire.client.stream("GET", f"{wire.path}/stream?after=0", headers=headers) as response:
        lines = response.aiter_lines()
        await next_messages(lines, 1)
        async with wire.database.as_system() as conn:
            await conn.execute(change.encode())
        async with asyncio.timeout(300):
            assert [line async for line in lines if line] == []
