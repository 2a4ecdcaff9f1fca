"""/admin/api/feeds/moderation and /blocked-domains as seed 003 §4.2 names them: every status, for every role."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from httpx import AsyncClient

from headwater.accounts.store import users
from headwater.accounts.types import Role, User
from headwater.audit import store as audit
from headwater.db import Database
from headwater.sources.custom.inspect import Inspector
from headwater.sources.custom.submit import submit
from headwater.sources.custom.types import Proposal
from headwater.sources.follow import follow
from headwater.web import WebOptions
from tests.api.test_custom import a_user, bearer
from tests.app import create_app
from tests.browser import visit
from tests.clock import MovableClock
from tests.site import MakeInspector, Site, a_site, inspectors, rss

pytestmark = pytest.mark.database
QUEUE = "/admin/api/feeds/moderation"
DOMAINS = "/admin/api/feeds/blocked-domains"
NOBODYS = str(UUID(int=7))
WHY = "It is a farm of links."
ROUTES = [
    ("GET", QUEUE, None),
    ("POST", f"{QUEUE}/{NOBODYS}/approve", {}),
    ("POST", f"{QUEUE}/{NOBODYS}/reject", {"reason": WHY}),
    ("GET", DOMAINS, None),
    ("POST", DOMAINS, {"domain": "spam.example", "reason": WHY}),
    ("DELETE", f"{DOMAINS}/spam.example", None),
]


@pytest.fixture(scope="module")
async def make_inspector() -> AsyncIterator[MakeInspector]:
    async with inspectors() as make:
        yield make


@pytest.fixture
def inspector(make_inspector: MakeInspector, database: Database, clock: MovableClock) -> Inspector:
    return make_inspector(database, clock)


@dataclass
class Desk:
    """A moderator with an API token, and Ada, who suggests."""

    api: AsyncClient
    database: Database
    inspector: Inspector
    site: Site
    clock: MovableClock
    ada: User

    async def suggest(self, place: str = "good.example/feed", name: str = "Good News", by: User | None = None) -> str:
        self.clock.move(seconds=1)
        self.site.answers.setdefault(place, rss(name, "First", "Second"))
        proposal = Proposal(name, self.site.url(place), "News", 30)
        feed = await submit(self.database, self.inspector, self.clock, user=by or self.ada, proposal=proposal)
        return str(feed.id)

    async def queue(self, **query: str) -> list[dict[str, Any]]:
        return (await self.api.get(QUEUE, params=query)).json()["feeds"]


@pytest.fixture
async def desk(database: Database, clock: MovableClock, inspector: Inspector) -> AsyncIterator[Desk]:
    app = create_app(database, clock, web=WebOptions(inspector=inspector))
    mo = await a_user(database, clock, "mo@example.com", Role.MODERATOR)
    async with visit(app) as client, a_site() as site:
        client.headers.update(await bearer(database, clock, mo, "admin"))
        yield Desk(client, database, inspector, site, clock, await a_user(database, clock, "ada@example.com"))


async def test_200_the_queue_has_what_a_decision_needs(desk: Desk) -> None:
    async with desk.database.as_system() as conn:
        await follow(conn, url="https://elsewhere.example/rss", name="good news", now=desk.clock())
    feed_id = await desk.suggest()

    response = await desk.api.get(QUEUE)

    assert response.status_code == 200
    (told,) = response.json()["feeds"]
    assert (told["id"], told["name"], told["host"]) == (feed_id, "Good News", "good.example")
    assert (told["category"], told["refresh_interval_minutes"]) == ("News", 30)
    assert (told["moderation_status"], told["is_active"]) == ("pending", False)
    assert {name: told["submitter"][name] for name in ("email", "karma", "approved", "rejected")} == {
        "email": "ada@example.com", "karma": 0, "approved": 0, "rejected": 0,
    }  # fmt: skip
    assert told["sample"]["titles"] == ["First", "Second"]
    assert [(one["name"], one["is_same_name"], one["is_same_host"]) for one in told["similar"]] == [
        ("good news", True, False)
    ]
    assert told["blocked_domain"] is None


async def test_secrets_of_similar_sources_are_masked(desk: Desk) -> None:
    async with desk.database.as_system() as conn:
        await follow(conn, url="https://elsewhere.example/rss?key=s3cret", name="Good News", now=desk.clock())
    await desk.suggest()

    (told,) = await desk.queue()

    assert [one["url"] for one in told["similar"]] == ["https://elsewhere.example/rss?key=***"]


async def test_200_approve(desk: Desk) -> None:
    feed_id = await desk.suggest()

    response = await desk.api.post(f"{QUEUE}/{feed_id}/approve", json={})

    assert response.status_code == 200
    told = response.json()
    assert (told["moderation_status"], told["is_active"], told["decided_by"]) == ("approved", True, "mo@example.com")
    assert told["submitter"]["karma"] == 1
    assert await desk.queue() == []
    assert [one["id"] for one in await desk.queue(status="approved")] == [feed_id]


async def test_200_reject_with_a_reason(desk: Desk) -> None:
    feed_id = await desk.suggest()

    response = await desk.api.post(f"{QUEUE}/{feed_id}/reject", json={"reason": WHY})

    assert response.status_code == 200
    told = response.json()
    assert (told["moderation_status"], told["is_active"], told["reason"]) == ("rejected", False, WHY)
    assert [one["id"] for one in await desk.queue(status="rejected")] == [feed_id]


async def test_every_decision_is_recorded_with_who_and_when(desk: Desk) -> None:
    feed_id = await desk.suggest()
    await desk.api.post(f"{QUEUE}/{feed_id}/approve", json={})

    async with desk.database.as_system() as conn:
        newest = (await audit.list_entries(conn, limit=1)).entries[0]

    assert (str(newest.action), newest.actor_name, str(newest.subject_id)) == (
        "feed.approved",
        "mo@example.com",
        feed_id,
    )
    assert newest.at == desk.clock()
    assert str(newest.detail["url"]).endswith("/feed")


@pytest.mark.parametrize(
    "body", [{}, {"reason": ""}, {"reason": " "}, {"reason": "x" * 501}, {"reason": 1}, {"why": WHY}]
)
async def test_422_a_rejection_requires_a_reason(desk: Desk, body: dict[str, object]) -> None:
    feed_id = await desk.suggest()

    assert (await desk.api.post(f"{QUEUE}/{feed_id}/reject", json=body)).status_code == 422
    assert len(await desk.queue()) == 1


async def test_404_and_409(desk: Desk) -> None:
    feed_id = await desk.suggest()
    await desk.api.post(f"{QUEUE}/{feed_id}/approve", json={})

    for deed, body in (("approve", {}), ("reject", {"reason": WHY})):
        assert (await desk.api.post(f"{QUEUE}/{feed_id}/{deed}", json=body)).status_code == 409
        assert (await desk.api.post(f"{QUEUE}/{NOBODYS}/{deed}", json=body)).status_code == 404


async def test_403_moderators_cannot_approve_their_own_suggestions(desk: Desk) -> None:
    async with desk.database.as_system() as conn:
        found = await users.find_credentials(conn, email_key="mo@example.com")
    assert found is not None
    feed_id = await desk.suggest(by=found.user)

    assert (await desk.api.post(f"{QUEUE}/{feed_id}/approve", json={})).status_code == 403


async def test_the_queue_is_filtered_and_has_pages(desk: Desk) -> None:
    bob = await a_user(desk.database, desk.clock, "bob@example.com")
    ids = [await desk.suggest(f"n{n}.example/feed", f"N{n}", bob if n == 2 else None) for n in range(3)]

    first = (await desk.api.get(QUEUE, params={"limit": 2})).json()
    second = (await desk.api.get(QUEUE, params={"limit": 2, "cursor": first["next_cursor"]})).json()

    assert [one["id"] for one in (*first["feeds"], *second["feeds"])] == ids
    assert second["next_cursor"] is None
    assert [one["id"] for one in await desk.queue(q="bob@")] == ids[2:]
    assert [one["id"] for one in await desk.queue(host="n1.example")] == [ids[1]]
    assert [one["id"] for one in await desk.queue(submitter_id=str(bob.id))] == ids[2:]
    assert await desk.queue(status="unreviewed") == []
    for query in ({"status": "odd"}, {"cursor": "odd"}, {"limit": "0"}, {"odd": "1"}, {"submitter_id": "odd"}):
        assert (await desk.api.get(QUEUE, params=query)).status_code == 422


async def test_201_blocking_can_reject_pending_suggestions(desk: Desk) -> None:
    feed_id = await desk.suggest("a.spam.example/feed")

    response = await desk.api.post(DOMAINS, json={"domain": "Spam.example", "reason": WHY, "reject_waiting": True})

    assert response.status_code == 201
    told = response.json()
    assert (told["domain"], told["blocked_by"], told["rejected"]) == ("spam.example", "mo@example.com", 1)
    assert [one["id"] for one in await desk.queue(status="rejected")] == [feed_id]
    assert [one["domain"] for one in (await desk.api.get(DOMAINS)).json()["domains"]] == ["spam.example"]


async def test_blocking_a_domain_rejects_its_approved_suggestions(desk: Desk) -> None:
    feed_id = await desk.suggest("a.spam.example/feed")
    await desk.api.post(f"{QUEUE}/{feed_id}/approve", json={})

    response = await desk.api.post(DOMAINS, json={"domain": "spam.example", "reason": WHY})

    assert response.json()["rejected"] == 1
    (told,) = await desk.queue(status="rejected")
    assert (told["id"], told["is_active"], told["reason"]) == (feed_id, False, WHY)


async def test_pending_suggestions_show_their_blocked_domain(desk: Desk) -> None:
    await desk.suggest("a.spam.example/feed")
    await desk.api.post(DOMAINS, json={"domain": "spam.example", "reason": WHY})

    assert [one["blocked_domain"] for one in await desk.queue()] == ["spam.example"]


async def test_409_a_suggestion_of_a_blocked_domain_is_approved_only_after_unblocking(desk: Desk) -> None:
    feed_id = await desk.suggest("a.spam.example/feed")
    await desk.api.post(DOMAINS, json={"domain": "spam.example", "reason": WHY})

    refused = await desk.api.post(f"{QUEUE}/{feed_id}/approve", json={})
    still = [(one["moderation_status"], one["is_active"]) for one in await desk.queue()]
    await desk.api.delete(f"{DOMAINS}/spam.example")
    approved = await desk.api.post(f"{QUEUE}/{feed_id}/approve", json={})

    assert refused.status_code == 409
    assert "spam.example is blocked" in refused.text
    assert still == [("pending", False)]
    assert approved.status_code == 200


async def test_409_422_204_and_404_of_blocked_domains(desk: Desk) -> None:
    given = {"domain": "spam.example", "reason": WHY}

    assert (await desk.api.post(DOMAINS, json=given)).status_code == 201
    assert (await desk.api.post(DOMAINS, json=given)).status_code == 409
    for odd in ({"domain": "com"}, {"domain": ""}, {"reason": ""}, {"reject_waiting": "yes"}, {"odd": 1}):
        assert (await desk.api.post(DOMAINS, json=given | odd)).status_code == 422
    assert (await desk.api.delete(f"{DOMAINS}/spam.example")).status_code == 204
    assert (await desk.api.delete(f"{DOMAINS}/spam.example")).status_code == 404


HOSTILE = ["%00", "%ED%A0%80", "a%00.example", "%F0%9F%A6%A6", "..", "%2e%2e", "'; DROP TABLE users", "x" * 300]


@pytest.mark.parametrize("domain", HOSTILE)
async def test_an_invalid_domain_is_refused_with_a_message(desk: Desk, domain: str) -> None:
    removed = await desk.api.delete(f"{DOMAINS}/{domain}")
    listed = await desk.api.get(f"{DOMAINS}?cursor={domain}")
    looked = await desk.api.get(f"{QUEUE}?q={domain}&host={domain}")

    if "%00" in domain:
        assert [answer.status_code for answer in (removed, listed, looked)] == [400] * 3
        assert all("U+0000" in answer.json()["detail"] for answer in (removed, listed, looked))
    else:
        assert removed.status_code in ({404, 405, 422} if len(domain) < 255 else {414})
        assert listed.status_code in {200, 422}
        assert looked.status_code in {200, 422}


async def test_blocked_domains_have_pages(desk: Desk) -> None:
    for name in ("b", "a", "c"):
        await desk.api.post(DOMAINS, json={"domain": f"{name}.example", "reason": WHY})

    first = (await desk.api.get(DOMAINS, params={"limit": 2})).json()
    second = (await desk.api.get(DOMAINS, params={"limit": 2, "cursor": first["next_cursor"]})).json()

    assert [one["domain"] for one in (*first["domains"], *second["domains"])] == ["a.example", "b.example", "c.example"]
    assert second["next_cursor"] is None


@pytest.mark.parametrize(("method", "path", "body"), ROUTES, ids=lambda value: str(value)[:60])
async def test_401_without_a_token_and_403_for_readers(
    desk: Desk, method: str, path: str, body: dict[str, object] | None
) -> None:
    reader = await bearer(desk.database, desk.clock, desk.ada, "read", "write")

    as_reader = await desk.api.request(method, path, json=body, headers=reader)
    as_moderator = await desk.api.request(method, path, json=body)
    del desk.api.headers["Authorization"]
    as_stranger = await desk.api.request(method, path, json=body)

    assert (as_stranger.status_code, as_reader.status_code) == (401, 403)
    assert as_moderator.status_code in {200, 201, 204, 404}
