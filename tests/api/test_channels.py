"""/api/v1/channels: every status, for every role."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from httpx import AsyncClient, Response

from headwater.accounts.types import Role
from headwater.audit import store as audit
from headwater.channels.types import ChannelId
from headwater.db import Database
from headwater.labels.vocabulary import CRIME, SPORT
from tests.api.test_custom import a_user, bearer
from tests.app import create_app
from tests.browser import visit
from tests.channels.given import queue
from tests.channels.test_preview import routed
from tests.channels.test_route import an_article
from tests.clock import START, MovableClock

pytestmark = pytest.mark.database
CHANNELS = "/api/v1/channels"
NOBODYS = str(UUID(int=7))
HOOK = {
    "name": "articles:crime",
    "query": "topic:crime",
    "destination": "webhook",
    "options": {"url": "https://hooks.example.com/in?key=hunter2"},
}


@dataclass
class Desk:
    """An administrator and a moderator with tokens."""

    api: AsyncClient
    moderator: dict[str, str]
    database: Database
    clock: MovableClock

    async def create(self, **more: object) -> dict[str, Any]:
        made = await self.api.post(CHANNELS, json=HOOK | more)
        assert made.status_code == 201, made.text
        return made.json()

    async def fill(self, channel: dict[str, Any], *, refused: int = 0, delivered: int = 0, waiting: int = 0) -> None:
        """Deliveries from revision 1 on: first the refused, then the delivered, then the waiting."""
        async with self.database.transaction() as conn:
            await queue(conn, ChannelId(UUID(channel["id"])), range(1, refused + delivered + waiting + 1))
            await conn.execute("UPDATE deliveries SET reason = 'HTTP 422' WHERE revision <= %s", (refused,))
            await conn.execute(
                "UPDATE deliveries SET delivered_at = %s WHERE revision > %s AND revision <= %s",
                (START, refused, refused + delivered),
            )

    async def actions(self) -> list[str]:
        async with self.database.as_system() as conn:
            return [str(one.action) for one in (await audit.list_entries(conn, limit=50)).entries]


@pytest.fixture
async def desk(database: Database, clock: MovableClock) -> AsyncIterator[Desk]:
    boss = await a_user(database, clock, "boss@example.com", Role.SUPER_ADMIN)
    mo = await a_user(database, clock, "mo@example.com", Role.MODERATOR)
    async with visit(create_app(database, clock)) as client:
        client.headers.update(await bearer(database, clock, boss, "admin"))
        yield Desk(client, await bearer(database, clock, mo, "admin"), database, clock)


def one(channel: dict[str, Any], rest: str = "") -> str:
    return f"{CHANNELS}/{channel['id']}{rest}"


def fault(answer: Response) -> tuple[int, str, str]:
    [found] = answer.json()["errors"]
    return answer.status_code, found["where"], found["code"]


async def test_a_channel_is_created_read_changed_and_deleted(desk: Desk) -> None:
    made = await desk.create()

    assert made["secret"].startswith("whsec_")
    assert (made["status"], made["waiting"], made["dead_letters"], made["lag_seconds"]) == ("active", 0, 0, 0)
    found = (await desk.api.get(one(made))).json()
    assert "secret" not in found
    assert found["options"] == HOOK["options"]
    changed = await desk.api.patch(one(made), json={"query": "topic:crime or topic:politics"})
    assert (changed.status_code, changed.json()["query"]) == (200, "topic:crime or topic:politics")
    assert changed.json()["secret"] is None
    assert [each["name"] for each in (await desk.api.get(CHANNELS)).json()["channels"]] == ["articles:crime"]
    assert (await desk.api.delete(one(made))).status_code == 204
    assert (await desk.api.get(one(made))).json()["code"] == "channel_not_found"
    assert await desk.actions() == ["channel.deleted", "channel.changed", "channel.created"]


async def test_a_new_destination_has_options_of_its_own(desk: Desk) -> None:
    made = await desk.create()

    changed = await desk.api.patch(one(made), json={"destination": "none"})

    assert changed.json()["options"] == {}
    assert changed.json()["has_password"] is False


async def test_changes_at_the_same_time_keep_what_the_other_sent(desk: Desk) -> None:
    made = await desk.create()

    both = await asyncio.gather(
        desk.api.patch(one(made), json={"query": "topic:sport"}),
        desk.api.patch(one(made), json={"name": "articles:sport"}),
    )

    assert [answer.status_code for answer in both] == [200, 200]
    found = (await desk.api.get(one(made))).json()
    assert (found["name"], found["query"]) == ("articles:sport", "topic:sport")


async def test_moderators_read_without_secrets_and_change_nothing(desk: Desk) -> None:
    made = await desk.create()
    desk.api.headers.update(desk.moderator)

    assert "hunter2" not in (await desk.api.get(CHANNELS)).text
    assert "hooks.example.com" in (await desk.api.get(one(made))).text
    assert (await desk.api.get(one(made, "/deliveries"))).status_code == 200
    for method, path, body in [
        ("POST", CHANNELS, HOOK),
        ("PATCH", one(made), {"query": "*"}),
        ("DELETE", one(made), None),
        ("POST", one(made, "/pause"), None),
        ("POST", one(made, "/replay"), {"since": "2026-01-01T00:00:00Z"}),
        ("POST", one(made, "/retry"), None),
        ("POST", one(made, "/secret"), None),
    ]:
        refused = await desk.api.request(method, path, json=body)
        assert (refused.status_code, refused.json()["code"]) == (403, "insufficient_role")


@pytest.mark.parametrize(
    ("more", "where", "code"),
    [
        ({"query": "topik:crime"}, "body.query", "invalid_query"),
        ({"query": "crime or -crime"}, "body.query", "matches_everything"),
        ({"query": "is:unread"}, "body.query", "invalid_query"),
        ({"name": "Crime & more"}, "body", "invalid_value"),
        ({"destination": "redis", "options": {"url": "redis://elsewhere", "stream": "x"}}, "body", "invalid_value"),
        ({"options": {"url": "ftp://example.com"}}, "body", "invalid_value"),
        ({"options": {"url": "https://example.com", "speed": 1}}, "body", "invalid_value"),
        ({"options": {"url": ["https://example.com"]}}, None, "invalid_value"),
        ({"destination": "carrier pigeon"}, "body.destination", "invalid_value"),
        ({"password": "hunter2"}, None, None),
        ({"other": 1}, "body.other", "unknown_field"),
    ],
)
async def test_an_invalid_channel_is_refused_with_its_place(
    desk: Desk, more: dict[str, Any], where: str | None, code: str | None
) -> None:
    refused = await desk.api.post(CHANNELS, json=HOOK | more)

    if code is None:  # a webhook signs: it needs no password, and keeps none
        assert refused.status_code == 201
        return
    assert refused.status_code == 422, refused.text
    found = refused.json()["errors"][0]
    assert found["code"] == code
    assert where is None or found["where"] == where


async def test_a_name_is_taken_once(desk: Desk) -> None:
    await desk.create()

    refused = await desk.api.post(CHANNELS, json=HOOK)

    assert (refused.status_code, refused.json()["code"]) == (409, "channel_exists")


async def test_a_query_is_previewed_before_and_after_it_is_saved(desk: Desk) -> None:
    made = await desk.create()
    async with desk.database.transaction() as conn:
        await routed(conn, await an_article(conn, 1, CRIME), await an_article(conn, 2, SPORT))

    before = (await desk.api.get(f"{CHANNELS}/preview", params={"q": "topic:sport"})).json()
    after = (await desk.api.get(one(made, "/preview"), params={"days": 30})).json()

    assert [each["url"] for each in before["examples"]] == ["https://example.com/2"]
    assert (after["days"], after["matched"], after["examined"]) == (30, 1, 2)
    wrong = await desk.api.get(f"{CHANNELS}/preview", params={"q": "topik:sport"})
    assert fault(wrong) == (422, "query.q", "invalid_query")
    assert (await desk.api.get(f"{CHANNELS}/preview?q=x&days=31")).status_code == 422


async def test_deliveries_come_in_pages_and_by_state(desk: Desk) -> None:
    made = await desk.create()
    await desk.fill(made, refused=2, delivered=3, waiting=4)

    pages = [await desk.api.get(one(made, "/deliveries?limit=4"))]
    while cursor := pages[-1].json()["next_cursor"]:
        pages.append(await desk.api.get(one(made, f"/deliveries?limit=4&cursor={cursor}")))
    seen = [each["revision"] for page in pages for each in page.json()["deliveries"]]
    assert seen == [9, 8, 7, 6, 5, 4, 3, 2, 1]
    for status, expected in {"waiting": [9, 8, 7, 6], "delivered": [5, 4, 3], "refused": [2, 1]}.items():
        found = (await desk.api.get(one(made, f"/deliveries?status={status}"))).json()["deliveries"]
        assert [(each["revision"], each["status"]) for each in found] == [(number, status) for number in expected]
    assert (await desk.api.get(one(made, "/deliveries?cursor=x"))).status_code == 422
    assert (await desk.api.get(f"{CHANNELS}/{NOBODYS}/deliveries")).status_code == 404


async def test_numbers_of_a_channel(desk: Desk) -> None:
    made = await desk.create()
    await desk.fill(made, refused=2, delivered=3, waiting=4)
    desk.clock.move(seconds=65)

    found = (await desk.api.get(one(made))).json()

    assert (found["waiting"], found["dead_letters"], found["delivered_last_hour"]) == (4, 2, 3)
    assert found["lag_seconds"] == 60  # the oldest of the waiting was queued 5 s after the first


async def test_a_channel_is_paused_and_resumed(desk: Desk) -> None:
    made = await desk.create()

    assert (await desk.api.post(one(made, "/pause"))).json()["status"] == "paused"
    assert (await desk.api.post(one(made, "/pause"))).json()["status"] == "paused"
    assert (await desk.api.post(one(made, "/resume"))).json()["status"] == "active"
    assert await desk.actions() == ["channel.resumed", "channel.paused", "channel.created"]


async def test_a_channel_is_replayed_from_a_time(desk: Desk) -> None:
    made = await desk.create()
    await desk.fill(made, delivered=5)

    since = (START + timedelta(seconds=2)).isoformat()
    assert (await desk.api.post(one(made, "/replay"), json={"since": since})).json() == {"queued": 3}
    assert (await desk.api.get(one(made))).json()["status"] == "replaying"
    naive = await desk.api.post(one(made, "/replay"), json={"since": "2026-01-01T00:00:00"})
    assert fault(naive) == (422, "body.since", "invalid_value")


async def test_dead_letters_are_retried_one_by_one_or_all(desk: Desk) -> None:
    made = await desk.create()
    await desk.fill(made, refused=3)

    assert (await desk.api.post(one(made, "/retry?revision=2"))).json() == {"queued": 1}
    assert fault(await desk.api.post(one(made, "/retry?revision=2"))) == (422, "query.revision", "invalid_value")
    assert (await desk.api.post(one(made, "/retry"))).json() == {"queued": 2}
    assert (await desk.api.post(one(made, "/retry"))).json() == {"queued": 0}


async def test_the_secret_of_a_webhook_is_renewed(desk: Desk) -> None:
    made = await desk.create()
    read_only = await desk.create(name="reading", destination="none", options={})

    renewed = (await desk.api.post(one(made, "/secret"))).json()["secret"]
    assert renewed.startswith("whsec_")
    assert renewed != made["secret"]
    assert (await desk.api.post(one(read_only, "/secret"))).status_code == 422
