"""/admin/api/feeds/sources, status by status: seed 003."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from httpx import AsyncClient

from headwater.accounts.types import Role
from headwater.audit import store as audit
from headwater.audit.types import AuditAction
from headwater.db import Database
from headwater.polling.types import Disabled, FailureClass
from tests.api.test_bearers import People, with_token
from tests.api.test_sources import poll
from tests.app import create_app
from tests.browser import visit
from tests.clock import START, MovableClock

pytestmark = pytest.mark.database

FEEDS = "/admin/api/feeds/sources"
GIVEN = {
    "name": "New Tech Feed",
    "url": "https://example.com/feed.xml",
    "category": "Technology",
    "refresh_interval_minutes": 60,
}


async def created(api: AsyncClient, **changes: Any) -> dict[str, Any]:
    response = await api.post(FEEDS, json={**GIVEN, **changes})
    assert response.status_code == 201, response.text
    return response.json()


async def test_a_feed_is_created_as_specified(api: AsyncClient) -> None:
    feed = await created(api)

    assert {name: value for name, value in feed.items() if name not in {"id", "created_at", "updated_at"}} == {
        **GIVEN,
        "is_system": True,
        "is_active": True,
        "is_critical": False,
        "user_id": None,
        "last_fetched_at": None,
        "error_count": 0,
        "last_error_message": None,
    }
    assert (await api.get(f"{FEEDS}/{feed['id']}")).json() == feed
    assert [one["id"] for one in (await api.get(FEEDS, params={"q": GIVEN["url"]})).json()["sources"]] == [feed["id"]]


async def test_a_duplicate_is_a_conflict(api: AsyncClient) -> None:
    await created(api)
    other = await created(api, url="https://other.example/feed")

    again = await api.post(FEEDS, json={**GIVEN, "name": "Another name"})
    moved = await api.patch(f"{FEEDS}/{other['id']}", json={"url": GIVEN["url"]})

    assert (again.status_code, moved.status_code) == (409, 409)


@pytest.mark.parametrize(
    "changes",
    [
        {"url": "ftp://example.com/feed"},
        {"url": "example.com/feed"},
        {"url": "https://"},
        {"name": ""},
        {"name": "x" * 256},
        {"name": None},
        {"refresh_interval_minutes": 14},
        {"refresh_interval_minutes": 1441},
        {"category": "x" * 101},
        {"is_active": True},
    ],
    ids=["ftp", "no-scheme", "no-host", "no-name", "long-name", "null-name", "often", "seldom", "category", "unknown"],
)
async def test_the_specified_validation_rules_apply(changes: dict[str, Any], api: AsyncClient) -> None:
    response = await api.post(FEEDS, json={**GIVEN, **changes})

    assert response.status_code == 422
    assert [fault["where"] for fault in response.json()["errors"]] == [f"body.{name}" for name in changes]


async def test_a_new_url_is_fetched_at_once(api: AsyncClient, database: Database, clock: MovableClock) -> None:
    feed = await created(api)
    await poll(database, clock, consecutive_errors=4, last_error="Not there.")
    failing = (await api.get(f"{FEEDS}/{feed['id']}")).json()

    moved = await api.patch(f"{FEEDS}/{feed['id']}", json={"url": "https://example.com/new.xml", "category": None})

    assert (failing["error_count"], failing["last_error_message"]) == (4, "Not there.")
    assert moved.status_code == 200
    assert (moved.json()["url"], moved.json()["error_count"], moved.json()["category"]) == (
        "https://example.com/new.xml", 0, None
    )  # fmt: skip


async def test_a_feed_is_disabled_and_enabled(api: AsyncClient, database: Database, clock: MovableClock) -> None:
    feed = await created(api)
    place = f"{FEEDS}/{feed['id']}"
    await poll(
        database, clock, consecutive_errors=5, last_error="Gone.", disabled=Disabled(START, FailureClass.GONE, None)
    )
    by_itself = (await api.get(place)).json()["is_active"]
    inactive = len((await api.get(FEEDS, params={"is_active": "false"})).json()["sources"])

    on = await api.patch(place, json={"is_active": True})
    off = await api.patch(place, json={"is_active": False})
    refused = await api.post(f"{place}/refresh")
    again = await api.patch(place, json={"is_active": True, "name": "Better", "refresh_interval_minutes": None})

    assert (by_itself, inactive) == (False, 1)
    assert (on.json()["is_active"], on.json()["error_count"]) == (True, 0)
    assert off.json()["is_active"] is False
    assert refused.status_code == 409
    assert (again.json()["is_active"], again.json()["name"]) == (True, "Better")
    assert again.json()["refresh_interval_minutes"] is None
    assert (await api.get(f"/api/v1/sources/{feed['id']}")).json()["next_poll_at"] is not None


async def test_a_refresh_is_accepted_and_due(api: AsyncClient, database: Database, clock: MovableClock) -> None:
    feed = await created(api)
    await poll(database, clock)
    clock.move(minutes=5)

    response = await api.post(f"{FEEDS}/{feed['id']}/refresh")

    told = (await api.get(f"/api/v1/sources/{feed['id']}")).json()
    assert response.status_code == 202
    assert response.json()["last_fetched_at"] == START.isoformat().replace("+00:00", "Z")
    assert told["next_poll_at"] == clock().isoformat().replace("+00:00", "Z")


async def test_errors_are_reset_and_nothing_else(api: AsyncClient, database: Database, clock: MovableClock) -> None:
    feed = await created(api)
    await poll(
        database, clock, consecutive_errors=5, last_error="Gone.", disabled=Disabled(START, FailureClass.GONE, None)
    )

    response = await api.post(f"{FEEDS}/{feed['id']}/reset-errors")

    assert response.status_code == 200
    assert (response.json()["error_count"], response.json()["last_error_message"]) == (0, None)
    assert response.json()["is_active"] is False


async def test_a_feed_is_deleted(api: AsyncClient) -> None:
    feed = await created(api)

    assert [(await api.delete(f"{FEEDS}/{feed['id']}")).status_code for _ in range(2)] == [204, 404]


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/refresh"), ("POST", "/reset-errors")],
    ids=["read", "change", "delete", "refresh", "reset"],
)
async def test_an_unknown_id_is_not_found(method: str, path: str, api: AsyncClient) -> None:
    body = {} if method == "PATCH" else None

    response = await api.request(method, f"{FEEDS}/{uuid4()}{path}", json=body)

    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"


async def test_each_source_is_on_one_page(api: AsyncClient) -> None:
    made = [(await created(api, url=f"https://a.example/{number}"))["id"] for number in range(3)]

    first = (await api.get(FEEDS, params={"limit": 2})).json()
    second = (await api.get(FEEDS, params={"limit": 2, "cursor": first["next_cursor"]})).json()

    assert [one["id"] for one in first["sources"] + second["sources"]] == made[::-1]
    assert second["next_cursor"] is None


async def test_an_import_can_be_repeated(api: AsyncClient) -> None:
    feed = await created(api)
    await api.patch(f"{FEEDS}/{feed['id']}", json={"is_active": False})
    body = {
        "sources": [
            {**GIVEN, "category": "World"},
            {"name": "B", "url": "https://b.example/f"},
            {**GIVEN, "url": "https://["},
        ]
    }

    first = await api.post(f"{FEEDS}/import", json=body)
    second = await api.post(f"{FEEDS}/import", json=body)

    assert first.status_code == 200
    assert [one["result"] for one in first.json()["lines"]] == ["changed", "created", "failed"]
    assert [one["result"] for one in second.json()["lines"]] == ["unchanged", "unchanged", "failed"]
    assert {name: second.json()[name] for name in ("created", "changed", "unchanged", "failed")} == {
        "created": 0, "changed": 0, "unchanged": 2, "failed": 1
    }  # fmt: skip
    told = (await api.get(f"{FEEDS}/{feed['id']}")).json()
    assert (told["is_active"], told["category"]) == (False, "World")


@pytest.mark.parametrize("role", [Role.READER, Role.MODERATOR])
async def test_only_super_admins_are_allowed(role: Role, database: Database, clock: MovableClock) -> None:
    people = People(database, clock)
    token = await people.token(await people.person(role))
    async with visit(create_app(database, clock)) as client:
        answers = [
            await client.get(FEEDS, headers=with_token(token)),
            await client.post(FEEDS, json=GIVEN, headers=with_token(token)),
            await client.get("/api/v1/sources", headers=with_token(token)),
            await client.get(FEEDS),
        ]

    assert [answer.status_code for answer in answers] == [403, 403, 403, 401]


async def test_changes_are_in_the_audit_log_with_their_actor(database: Database, clock: MovableClock) -> None:
    people = People(database, clock)
    person = await people.person(Role.SUPER_ADMIN)
    token = await people.token(person, scopes=("read", "write", "admin"))
    async with visit(create_app(database, clock)) as client:
        client.headers.update(with_token(token))
        feed = await created(client)
        await client.post(f"{FEEDS}/{feed['id']}/refresh")
        await client.post(f"{FEEDS}/{feed['id']}/reset-errors")

    async with database.as_system() as conn:
        lines = (await audit.list_entries(conn, limit=10)).entries

    assert {line.action for line in lines} == {
        AuditAction.SOURCE_CREATED,
        AuditAction.SOURCE_REFRESHED,
        AuditAction.SOURCE_RESET,
    }
    assert {line.actor_id for line in lines} == {person.id}


# Seed 003 §7.1 and §7.3: feeds that have not updated for a day, and disabled feeds with errors.


async def fetched(database: Database, name: str, at: datetime | None, errors: int = 0) -> None:
    async with database.transaction() as conn:
        await conn.execute(
            """
            UPDATE feed_state
            SET last_succeeded_at = %(at)s, last_polled_at = %(at)s, consecutive_errors = %(errors)s
            WHERE source_id = (SELECT id FROM sources WHERE name = %(name)s)
            """,
            {"name": name, "at": at, "errors": errors},
        )


async def listed(api: AsyncClient, **query: str) -> list[str]:
    response = await api.get(FEEDS, params=query)
    assert response.status_code == 200, response.text
    return [one["name"] for one in response.json()["sources"]]


async def test_stuck_feeds_and_disabled_feeds_with_errors_are_listed_in_the_specified_order(
    api: AsyncClient, database: Database
) -> None:
    for number, (name, at, errors, is_active) in enumerate(
        [
            ("fresh", START - timedelta(hours=1), 0, True),
            ("stuck", START - timedelta(hours=25), 2, True),
            ("never", None, 3, False),
            ("older", START - timedelta(days=9), 5, False),
            ("newer", START - timedelta(days=2), 5, False),
            ("parked", START - timedelta(days=1), 0, False),
        ]
    ):
        feed = await created(api, name=name, url=f"https://f{number}.example/feed")
        await fetched(database, name, at, errors)
        if not is_active:
            await api.patch(f"{FEEDS}/{feed['id']}", json={"is_active": False})

    before = (START - timedelta(hours=24)).isoformat()
    stuck = await listed(api, is_active="true", last_fetched_before=before)
    broken = await listed(api, is_active="false", min_error_count="1", order="last_fetched")

    assert stuck == ["stuck"]
    assert broken == ["newer", "older", "never"]


async def test_the_order_by_last_fetch_continues_on_the_next_page(api: AsyncClient, database: Database) -> None:
    for number in range(5):
        await created(api, name=f"{number}", url=f"https://f{number}.example/feed")
        await fetched(database, f"{number}", START - timedelta(hours=number) if number < 3 else None)

    found: list[str] = []
    cursor: dict[str, str] = {}
    while len(found) < 6:
        page = (await api.get(FEEDS, params={"order": "last_fetched", "limit": "2", **cursor})).json()
        found += [one["name"] for one in page["sources"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    odd = await api.get(FEEDS, params={"cursor": "odd"})

    assert found == ["0", "1", "2", "4", "3"]
    assert odd.status_code == 422


@pytest.mark.parametrize("path", [FEEDS, "/api/v1/sources"])
@pytest.mark.parametrize("name", [" ", "\u3000 \t", "\u200b"])
async def test_a_name_of_blanks_is_refused(api: AsyncClient, path: str, name: str) -> None:
    given = {"name": name, "url" if path == FEEDS else "feed_url": "https://blank.example/feed"}

    assert (await api.post(path, json=given)).status_code == 422
    assert (await api.get(path, params={"q": "blank.example"})).json()["sources"] == []
