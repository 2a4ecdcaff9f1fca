"""/api/v1/sources, status by status: seeds 000 §7 to §9 and 004, with what seed 003 adds to a source."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from httpx import AsyncClient

from headwater.audit import store as audit
from headwater.audit.types import AuditAction
from headwater.db import Database
from headwater.ids import new_id
from headwater.polling.store import claims as feed_claims
from headwater.polling.types import Disabled, FailureClass
from headwater.types import SourceId
from tests.clock import START, MovableClock
from tests.polling.answers import write
from tests.polling.test_store import an_answer
from tests.removal.builders import a_user, subscribe
from tests.removals import remove_all

pytestmark = pytest.mark.database

SOURCES = "/api/v1/sources"
FEED = "https://news.example/feed.xml"
WHOLE: dict[str, Any] = {
    "name": "Example News",
    "url": "https://news.example/",
    "feed_url": FEED,
    "sitemap_url": "https://news.example/sitemap.xml",
    "category": "Technology",
    "ingestion_mode": "both",
    "feed_poll_interval_minutes": 60,
    "policy": "five",
    "priority": 8,
    "selectors": {"title": ["h1", ".headline"], "body": ["article"]},
    "article_url_patterns": [r"/\d{4}/"],
    "external_links": True,
    "max_depth": 3,
    "page_budget": 500,
    "min_delay_ms": 2500,
    "enabled": False,
    "is_system": True,
    "is_critical": True,
}


STATE = (
    "submitted_by", "moderation_status", "status", "feed_disabled_at", "feed_disable_reason", "feed_disabled_until",
    "last_polled_at", "last_succeeded_at", "next_poll_at", "last_error", "last_error_type", "consecutive_errors",
    "article_count", "created_at", "updated_at",
)  # fmt: skip


async def test_a_source_has_these_fields_in_this_order(api: AsyncClient) -> None:
    source = await created(api)
    listed = (await api.get(SOURCES)).json()["sources"]

    assert list(await shown(api, source)) == ["id", *WHOLE, *STATE]
    assert list(listed[0]) == ["id", *WHOLE, *STATE]


async def created(api: AsyncClient, **body: Any) -> dict[str, Any]:
    response = await api.post(SOURCES, json={"feed_url": FEED, **body})
    assert response.status_code == 201, response.text
    return response.json()


async def shown(api: AsyncClient, source: dict[str, Any]) -> dict[str, Any]:
    response = await api.get(f"{SOURCES}/{source['id']}")
    assert response.status_code == 200
    return response.json()


async def names(api: AsyncClient, **wanted: Any) -> list[str]:
    response = await api.get(SOURCES, params=wanted)
    assert response.status_code == 200, response.text
    return sorted(one["name"] for one in response.json()["sources"])


async def poll(database: Database, clock: MovableClock, **state: Any) -> None:
    """Every due feed is polled with this outcome."""
    async with database.as_system() as conn:
        now = clock()
        found = await feed_claims.claim(
            conn, lease=new_id(), now=now, leased_until=now + timedelta(minutes=1), limit=99
        )
        answers = [
            replace(an_answer(feed, state=replace(feed.state, **state), next_poll_at=now + timedelta(hours=1)), at=now)
            for feed in found
        ]
        await write(conn, *answers)


async def test_all_given_fields_are_stored(api: AsyncClient) -> None:
    source = await created(api, **WHOLE)

    assert {name: source[name] for name in WHOLE} == WHOLE
    assert source == await shown(api, source)


async def test_missing_fields_have_defaults(api: AsyncClient) -> None:
    source = await created(api)

    assert {name: value for name, value in source.items() if name not in {"id", "created_at", "updated_at"}} == {
        "name": "news.example",
        "url": None,
        "feed_url": FEED,
        "sitemap_url": None,
        "category": None,
        "ingestion_mode": "feed",
        "feed_poll_interval_minutes": None,
        "policy": None,
        "priority": 5,
        "selectors": {},
        "article_url_patterns": [],
        "external_links": False,
        "max_depth": 2,
        "page_budget": None,
        "min_delay_ms": None,
        "enabled": True,
        "is_system": True,
        "is_critical": False,
        "submitted_by": None,
        "moderation_status": None,
        "status": "pending",
        "feed_disabled_at": None,
        "feed_disable_reason": None,
        "feed_disabled_until": None,
        "last_polled_at": None,
        "last_succeeded_at": None,
        "next_poll_at": START.isoformat().replace("+00:00", "Z"),
        "last_error": None,
        "last_error_type": None,
        "consecutive_errors": 0,
        "article_count": 0,
    }


@pytest.mark.parametrize(
    "body", [{"url": "https://site.example/"}, {"sitemap_url": "https://site.example/map.xml"}], ids=["site", "sitemap"]
)
async def test_a_site_is_followed_without_a_feed(body: dict[str, str], api: AsyncClient) -> None:
    response = await api.post(SOURCES, json=body)

    assert response.status_code == 201
    assert (response.json()["feed_url"], response.json()["next_poll_at"]) == (None, None)


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, "body"),
        ({"name": "x"}, "body"),
        ({"feed_url": ""}, "body.feed_url"),
        ({"feed_url": "news.example/feed"}, "body.feed_url"),
        ({"feed_url": "ftp://news.example/feed"}, "body.feed_url"),
        ({"feed_url": "https://"}, "body.feed_url"),
        ({"feed_url": FEED, "url": "http://a b/"}, "body.url"),
        ({"feed_url": "https://x.example/" + "x" * 2048}, "body.feed_url"),
        ({"feed_url": FEED, "name": ""}, "body.name"),
        ({"feed_url": FEED, "name": "x" * 256}, "body.name"),
        ({"feed_url": FEED, "name": "a\u0000b"}, "body.name"),
        ({"feed_url": FEED, "category": "x" * 101}, "body.category"),
        ({"feed_url": FEED, "feed_poll_interval_minutes": 14}, "body.feed_poll_interval_minutes"),
        ({"feed_url": FEED, "feed_poll_interval_minutes": 1441}, "body.feed_poll_interval_minutes"),
        ({"feed_url": FEED, "feed_poll_interval_minutes": "60"}, "body.feed_poll_interval_minutes"),
        ({"feed_url": FEED, "policy": "never"}, "body.policy"),
        ({"feed_url": FEED, "ingestion_mode": "magic"}, "body.ingestion_mode"),
        ({"feed_url": FEED, "ingestion_mode": "spider"}, "body"),
        ({"feed_url": FEED, "priority": 11}, "body.priority"),
        ({"feed_url": FEED, "max_depth": 11}, "body.max_depth"),
        ({"feed_url": FEED, "page_budget": 0}, "body.page_budget"),
        ({"feed_url": FEED, "min_delay_ms": 3_600_001}, "body.min_delay_ms"),
        ({"feed_url": FEED, "enabled": "yes"}, "body.enabled"),
        ({"feed_url": FEED, "selectors": {"title": [">>"]}}, "body"),
        ({"feed_url": FEED, "selectors": {"colour": ["h1"]}}, "body.selectors.colour.[key]"),
        ({"feed_url": FEED, "article_url_patterns": ["("]}, "body"),
        ({"feed_url": FEED, "colour": "blue"}, "body.colour"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_invalid_fields_are_refused_with_their_location(
    body: dict[str, Any], where: str, api: AsyncClient
) -> None:
    response = await api.post(SOURCES, json=body)

    assert response.status_code == 422
    assert [fault["where"] for fault in response.json()["errors"]] == [where]
    assert all(fault["problem"] for fault in response.json()["errors"])
    assert await names(api) == []


async def test_a_feed_is_followed_once(api: AsyncClient) -> None:
    await created(api)
    other = await created(api, feed_url="https://other.example/feed")

    again = await api.post(SOURCES, json={"feed_url": "http://NEWS.example/feed.xml?utm_source=x"})
    moved = await api.patch(f"{SOURCES}/{other['id']}", json={"feed_url": FEED})

    assert (again.status_code, moved.status_code) == (409, 409)
    assert "already followed" in again.json()["detail"]
    assert (await shown(api, other))["feed_url"] == "https://other.example/feed"


async def test_fields_are_changed_one_by_one_and_null_clears_them(api: AsyncClient) -> None:
    source = await created(api)

    for name, value in WHOLE.items():
        changed = await api.patch(f"{SOURCES}/{source['id']}", json={name: value})
        assert changed.status_code == 200, changed.text
        assert changed.json()[name] == value
    nothing = await api.patch(f"{SOURCES}/{source['id']}", json={})
    back = await api.patch(
        f"{SOURCES}/{source['id']}",
        json={
            "category": None,
            "policy": None,
            "feed_poll_interval_minutes": None,
            "page_budget": None,
            "min_delay_ms": None,
            "sitemap_url": None,
            "selectors": {},
            "article_url_patterns": [],
        },
    )

    assert {name: nothing.json()[name] for name in WHOLE} == WHOLE
    assert {back.json()[name] for name in ("category", "policy", "page_budget", "min_delay_ms", "sitemap_url")} == {
        None
    }
    assert (back.json()["selectors"], back.json()["article_url_patterns"]) == ({}, [])
    assert back.json()["feed_poll_interval_minutes"] is None


async def test_a_new_url_clears_errors_and_is_polled_at_once(
    api: AsyncClient, database: Database, clock: MovableClock
) -> None:
    source = await created(api)
    await poll(
        database, clock, consecutive_errors=3, last_error="Gone.", disabled=Disabled(START, FailureClass.GONE, None)
    )
    assert (await shown(api, source))["status"] == "auto_disabled"
    clock.move(hours=1)

    moved = await api.patch(f"{SOURCES}/{source['id']}", json={"feed_url": "https://news.example/new.xml"})

    assert moved.json()["status"] == "pending"
    assert moved.json()["consecutive_errors"] == 0
    assert moved.json()["next_poll_at"] == clock().isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("PATCH", "", {"name": "x"}),
        ("DELETE", "", None),
        ("PATCH", "/feed-disable", {"reason": "gone"}),
        ("PATCH", "/feed-enable", None),
    ],
    ids=["read", "change", "delete", "disable", "enable"],
)
async def test_an_unknown_id_is_not_found(
    method: str, path: str, body: dict[str, str] | None, api: AsyncClient
) -> None:
    response = await api.request(method, f"{SOURCES}/{uuid4()}{path}", json=body)

    assert response.status_code == 404


async def test_a_deleted_source_can_be_created_again(api: AsyncClient) -> None:
    source = await created(api)

    answers = [(await api.delete(f"{SOURCES}/{source['id']}")).status_code for _ in range(2)]

    assert answers == [204, 404]
    assert (await created(api))["id"] != source["id"]


@pytest.mark.parametrize(
    ("reason", "hours"),
    [("not_found", 48), ("gone", 72), ("forbidden", 24), ("upstream_failure", 6), ("network", 12), ("parse_error", 24)],
    ids=str,
)
async def test_the_cooldown_filter_of_seed_000(reason: str, hours: int, api: AsyncClient, clock: MovableClock) -> None:
    source = await created(api)

    off = await api.patch(f"{SOURCES}/{source['id']}/feed-disable", json={"reason": reason})
    inside = [await names(api, feed_active="true")]
    clock.move(hours=hours - 1)
    inside.append(await names(api, feed_active="true"))
    clock.move(hours=1)

    assert off.status_code == 200
    assert (off.json()["feed_disable_reason"], off.json()["status"]) == (reason, "auto_disabled")
    assert off.json()["feed_disabled_at"] == START.isoformat().replace("+00:00", "Z")
    assert off.json()["next_poll_at"] == off.json()["feed_disabled_until"]
    assert inside == [[], []]
    assert await names(api, feed_active="true") == ["news.example"]
    assert await names(api, feed_active="false") == []


async def test_a_feed_disabled_with_free_text_stays_disabled_until_enabled(
    api: AsyncClient, clock: MovableClock
) -> None:
    source = await created(api)
    await api.patch(f"{SOURCES}/{source['id']}/feed-disable", json={"reason": "The publisher asked us to stop."})
    clock.move(days=3000)

    off = await shown(api, source)
    active = await names(api, feed_active="true")
    on = await api.patch(f"{SOURCES}/{source['id']}/feed-enable")

    assert (off["status"], off["feed_disabled_until"], off["next_poll_at"]) == ("disabled", None, None)
    assert active == []
    assert on.status_code == 200
    assert {on.json()[name] for name in ("feed_disabled_at", "feed_disable_reason", "feed_disabled_until")} == {None}
    assert on.json()["next_poll_at"] == clock().isoformat().replace("+00:00", "Z")
    assert await names(api, feed_active="true") == ["news.example"]


@pytest.mark.parametrize(
    "body", [{}, {"reason": ""}, {"reason": None}, {"reason": " "}, {"reason": "x" * 201}, {"reason": "a", "b": 1}],
    ids=["nothing", "empty", "null", "blank", "long", "more"],
)  # fmt: skip
async def test_disabling_requires_a_reason(body: dict[str, Any], api: AsyncClient) -> None:
    source = await created(api)

    response = await api.patch(f"{SOURCES}/{source['id']}/feed-disable", json=body)

    assert response.status_code == 422
    assert (await shown(api, source))["feed_disabled_at"] is None


async def test_disabling_needs_a_feed(api: AsyncClient) -> None:
    site = (await api.post(SOURCES, json={"url": "https://site.example/"})).json()

    response = await api.patch(f"{SOURCES}/{site['id']}/feed-disable", json={"reason": "gone"})

    assert response.status_code == 409
    assert "no feed" in response.json()["detail"]


async def test_a_source_without_subscribers_stays_a_system_source(
    api: AsyncClient, database: Database, clock: MovableClock
) -> None:
    source = await created(api)

    cleared = await api.patch(f"{SOURCES}/{source['id']}", json={"is_system": False})
    new = await api.post(SOURCES, json={"feed_url": "https://other.example/feed", "is_system": False})
    await remove_all(database, clock)  # deletes custom sources without subscribers

    assert (cleared.status_code, new.status_code) == (409, 409)
    assert "no subscribers" in cleared.json()["detail"]
    assert (await shown(api, source))["is_system"] is True
    assert await names(api) == ["news.example"]


async def test_a_source_with_subscribers_can_become_a_custom_source(
    api: AsyncClient, database: Database, clock: MovableClock
) -> None:
    source = await created(api)
    async with database.as_system() as conn:
        await subscribe(conn, await a_user(conn), SourceId(UUID(source["id"])))

    cleared = await api.patch(f"{SOURCES}/{source['id']}", json={"is_system": False})
    await remove_all(database, clock)

    assert (cleared.status_code, cleared.json()["is_system"]) == (200, False)
    assert (await shown(api, source))["is_system"] is False


async def test_lists_are_filtered(api: AsyncClient, database: Database, clock: MovableClock) -> None:
    await created(api, name="failing", category="World News", is_critical=True)
    await poll(database, clock, last_error="It is broken.", consecutive_errors=2)
    await created(api, name="working", feed_url="https://b.example/feed", category="Technology")
    await poll(database, clock)
    await created(api, name="switched off", feed_url="https://c.example/feed", enabled=False)
    async with database.as_system() as conn:
        await conn.execute("UPDATE sources SET is_system = false WHERE name = 'switched off'")
    off = await created(api, name="off", feed_url="https://d.example/feed")
    await api.patch(f"{SOURCES}/{off['id']}/feed-disable", json={"reason": "gone"})
    await created(api, name="pending", feed_url="https://e.example/feed", ingestion_mode="both")
    await api.post(SOURCES, json={"name": "site", "url": "https://Site.example/"})

    assert await names(api, status="failing") == ["failing"]
    assert await names(api, status="working") == ["working"]
    assert await names(api, status="disabled") == ["switched off"]
    assert await names(api, status="auto_disabled") == ["off"]
    assert await names(api, status="pending") == ["pending", "site"]
    assert await names(api, feed_active="true") == ["failing", "pending", "working"]
    assert await names(api, feed_active="false") == ["off", "site", "switched off"]
    assert await names(api, enabled="false") == ["switched off"]
    assert await names(api, is_system="false") == ["switched off"]
    assert await names(api, is_critical="true") == ["failing"]
    assert await names(api, category="Technology") == ["working"]
    assert await names(api, ingestion_mode="both") == ["pending", "site"]
    assert await names(api, host="B.example") == ["working"]
    assert await names(api, host="site.example") == ["site"]
    assert await names(api, q="ING") == ["failing", "pending", "working"]
    assert await names(api, q="c.example/FEED") == ["switched off"]
    assert await names(api, q="%") == []
    assert await names(api, q="e", status="pending", enabled="true", ingestion_mode="both") == ["pending", "site"]


async def test_each_source_is_on_one_page(api: AsyncClient) -> None:
    made = [(await created(api, feed_url=f"https://a.example/{number}"))["id"] for number in range(5)]

    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = (await api.get(SOURCES, params={"limit": 2, **({"cursor": cursor} if cursor else {})})).json()
        seen += [one["id"] for one in page["sources"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break

    assert seen == made[::-1]


@pytest.mark.parametrize(
    "query",
    [
        {"limit": "0"},
        {"limit": "501"},
        {"cursor": "x"},
        {"status": "lost"},
        {"enabled": "maybe"},
        {"feed_active": "null"},
        {"colour": "blue"},
        {"ingestion_mode": "x"},
        {"q": ""},
        {"request": "x"},
    ],
    ids=str,
)
async def test_an_invalid_list_query_is_refused(query: dict[str, str], api: AsyncClient) -> None:
    response = await api.get(SOURCES, params=query)

    assert response.status_code == 422
    assert [fault["where"] for fault in response.json()["errors"]] == [f"query.{name}" for name in query]


async def test_every_change_is_in_the_audit_log_with_its_actor(api: AsyncClient, database: Database) -> None:
    source = await created(api)
    place = f"{SOURCES}/{source['id']}"
    await api.patch(place, json={"category": "Politics"})
    await api.patch(f"{place}/feed-disable", json={"reason": "gone"})
    await api.patch(f"{place}/feed-enable")
    await api.delete(place)
    await api.post(SOURCES, json={"feed_url": "https://"})

    async with database.as_system() as conn:
        lines = (await audit.list_entries(conn, limit=10)).entries

    assert {line.action for line in lines} == {
        AuditAction.SOURCE_CREATED, AuditAction.SOURCE_CHANGED, AuditAction.SOURCE_DISABLED, AuditAction.SOURCE_ENABLED,
        AuditAction.SOURCE_DELETED,
    }  # fmt: skip
    assert len(lines) == 5
    assert {line.actor_name for line in lines} == {"the operator's API token"}
    assert {str(line.subject_id) for line in lines} == {source["id"]}
