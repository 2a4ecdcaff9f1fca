"""/api/v1/articles/…/labels, /classification and /stories: every status, for every role."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from httpx import AsyncClient, Response

from headwater.accounts.types import Role
from headwater.audit import store as audit
from headwater.db import Database, fetch_value
from headwater.types import ArticleId
from tests.api.test_custom import a_user, bearer
from tests.app import create_app
from tests.browser import visit
from tests.builders import a_source
from tests.clock import START, MovableClock
from tests.labels.given import an_article_of, disagree
from tests.web.test_stories_page import a_story

pytestmark = pytest.mark.database
RULES = "/api/v1/classification/rules"
STORIES = "/api/v1/stories"
NOBODYS = str(UUID(int=7))
SPORT = {"name": "Sport", "scheme": "topic", "label": "sport", "keywords": ["league table"], "patterns": ["*/sport/*"]}
ROUTES = [
    ("GET", f"/api/v1/articles/{NOBODYS}/labels", None),
    ("PUT", f"/api/v1/articles/{NOBODYS}/labels/type", {"labels": ["job"]}),
    ("DELETE", f"/api/v1/articles/{NOBODYS}/labels/type", None),
    ("POST", f"/api/v1/articles/{NOBODYS}/classify", None),
    ("GET", "/api/v1/classification/stats", None),
    ("GET", RULES, None),
    ("POST", RULES, SPORT),
    ("POST", f"{RULES}/test", SPORT),
    ("GET", f"{RULES}/{NOBODYS}", None),
    ("PATCH", f"{RULES}/{NOBODYS}", {"is_enabled": True}),
    ("DELETE", f"{RULES}/{NOBODYS}", None),
    ("POST", f"{RULES}/{NOBODYS}/test", None),
    ("GET", STORIES, None),
    ("GET", f"{STORIES}/{NOBODYS}", None),
]


@dataclass
class Desk:
    """A moderator with an API token, and an article about which methods disagree."""

    api: AsyncClient
    database: Database
    clock: MovableClock
    article_id: ArticleId

    @property
    def labels(self) -> str:
        return f"/api/v1/articles/{self.article_id}/labels"

    async def actions(self) -> list[str]:
        async with self.database.as_system() as conn:
            return [str(one.action) for one in (await audit.list_entries(conn, limit=50)).entries]

    async def create(self, **more: object) -> dict[str, Any]:
        made = await self.api.post(RULES, json=SPORT | more)
        assert made.status_code == 201, made.text
        return made.json()


@pytest.fixture
async def desk(database: Database, clock: MovableClock) -> AsyncIterator[Desk]:
    mo = await a_user(database, clock, "mo@example.com", Role.MODERATOR)
    async with database.transaction() as conn:
        article_id = await an_article_of(conn, url="https://example.com/sport/1")
        await disagree(conn, article_id)
    async with visit(create_app(database, clock)) as client:
        client.headers.update(await bearer(database, clock, mo, "admin"))
        yield Desk(client, database, clock, article_id)


def problems(answer: Response) -> str:
    return " ".join(one["problem"] for one in answer.json()["errors"])


@pytest.mark.parametrize("scopes", [["read"], ["read", "write"]])
async def test_readers_and_tokens_without_admin_are_refused(
    desk: Desk, database: Database, clock: MovableClock, scopes: list[str]
) -> None:
    ada = await a_user(database, clock, "ada@example.com")
    hers = await bearer(database, clock, ada, *scopes)

    answers = {
        f"{method} {path}": (await desk.api.request(method, path, json=body, headers=hers)).status_code
        for method, path, body in ROUTES
    }

    assert set(answers.values()) == {403}


async def test_what_does_not_exist_is_not_found(desk: Desk) -> None:
    for method, path, body in ROUTES:
        if NOBODYS in path:
            answer = await desk.api.request(method, path, json=body)
            assert answer.status_code == 404, (method, path, answer.text)


# Labels


async def test_an_article_that_only_private_feeds_list_is_not_found(desk: Desk) -> None:
    """Its id is known from `near_duplicate_of` of another; its URL may have a key."""
    async with desk.database.transaction() as conn:
        await conn.execute("UPDATE sources SET is_system = false, feed_url = feed_url || '?key=8c1f2a'")
    answers = [
        await desk.api.get(desk.labels),
        await desk.api.put(f"{desk.labels}/type", json={"labels": ["job"]}),
        await desk.api.delete(f"{desk.labels}/type"),
        await desk.api.post(f"/api/v1/articles/{desk.article_id}/classify"),
    ]
    assert [one.status_code for one in answers] == [404] * 4


async def test_labels_are_listed_set_and_withdrawn(desk: Desk) -> None:
    listed = (await desk.api.get(desk.labels)).json()
    assert (listed["title"], listed["url"]) == ("The harbour opens", "https://example.com/sport/1")
    said = {(one["method"], one["label"], one["is_shown"], one["is_disputed"]) for one in listed["labels"]}
    assert said == {("rule", "job", True, True), ("model", "event", False, True)}

    changed = await desk.api.put(f"{desk.labels}/type", json={"labels": ["recipe"]})
    assert changed.status_code == 200
    shown = [(one["label"], one["method"]) for one in changed.json()["labels"] if one["is_shown"]]
    assert shown == [("recipe", "person")]
    topics = await desk.api.put(f"{desk.labels}/topic", json={"labels": ["sport", "health"]})
    assert len(topics.json()["labels"]) == 5

    assert (await desk.api.delete(f"{desk.labels}/type")).status_code == 204
    assert (await desk.api.delete(f"{desk.labels}/type")).status_code == 404
    assert await desk.actions() == ["labels.withdrawn", "labels.set", "labels.set"]


@pytest.mark.parametrize(
    ("scheme", "body"),
    [
        ("type", {"labels": ["poem"]}),
        ("type", {"labels": ["job", "event"]}),
        ("type", {"labels": []}),
        ("type", {"labels": [""]}),
        ("type", {"labels": "job"}),
        ("type", {"labels": ["job"], "score": 1}),
        ("keyword", {"labels": ["x" * 101]}),
        ("keyword", {"labels": ["a\u0000"]}),
        ("quality", {"labels": ["quality"]}),
        ("mood", {"labels": ["job"]}),
    ],
)
async def test_invalid_labels_are_refused(desk: Desk, scheme: str, body: dict[str, object]) -> None:
    refused = await desk.api.put(f"{desk.labels}/{scheme}", json=body)

    assert refused.status_code == 422
    assert refused.json()["errors"]
    assert await desk.actions() == []


async def test_an_article_is_queued_again(desk: Desk) -> None:
    queued = await desk.api.post(f"/api/v1/articles/{desk.article_id}/classify")

    assert (queued.status_code, queued.json()["article_id"]) == (200, str(desk.article_id))
    async with desk.database.transaction() as conn:
        assert await fetch_value(conn, "SELECT classify_at FROM article_state") == START
    assert await desk.actions() == ["article.requeued"]


async def test_labels_are_counted(desk: Desk) -> None:
    counted = (await desk.api.get("/api/v1/classification/stats")).json()

    assert (counted["articles"], counted["is_whole"], counted["disputed"], counted["waiting"]) == (1, True, 1, 1)
    assert counted["labels"] == [{"scheme": "type", "label": "job", "articles": 1}]
    assert counted["methods"] == [{"method": "rule", "labels": 1}]


# Rules


async def test_a_rule_is_created_changed_tested_enabled_and_deleted(desk: Desk) -> None:
    rule = await desk.create()
    path = f"{RULES}/{rule['id']}"
    assert (rule["is_enabled"], rule["is_tested"], rule["version"], rule["min_score"]) == (False, False, 1, 0.5)
    assert (await desk.api.get(RULES)).json()["rules"] == [rule]

    changed = (await desk.api.patch(path, json={"keywords": ["goal"], "name": "Goals", "min_score": 1})).json()
    assert (changed["keywords"], changed["name"], changed["version"]) == (["goal"], "Goals", 2)
    assert (changed["patterns"], changed["min_score"], changed["requeued"]) == (["*/sport/*"], 1.0, 0)
    trial = (await desk.api.post(f"{path}/test", params={"days": 2})).json()
    assert (trial["tested"], trial["matched"], trial["is_whole"], trial["days"]) == (1, 1, True, 2)
    assert trial["examples"][0]["patterns"] == ["*/sport/*"]
    assert (await desk.api.get(path)).json()["is_tested"]
    enabled = (await desk.api.patch(path, json={"is_enabled": True})).json()
    assert (enabled["is_enabled"], enabled["requeued"], enabled["version"]) == (True, 1, 2)
    both = (await desk.api.patch(path, json={"is_enabled": False, "label": "weather"})).json()
    assert (both["is_enabled"], both["label"], both["requeued"]) == (False, "weather", 1)

    assert (await desk.api.delete(path)).status_code == 204
    assert (await desk.api.get(path)).status_code == 404
    assert await desk.actions() == [
        "rule.deleted", "rule.disabled", "rule.changed", "rule.enabled", "rule.changed", "rule.created",
    ]  # fmt: skip


async def test_a_rule_is_tested_without_being_saved(desk: Desk) -> None:
    trial = await desk.api.post(f"{RULES}/test", json={**SPORT, "days": 30})

    assert (trial.status_code, trial.json()["matched"]) == (200, 1)
    assert (await desk.api.get(RULES)).json() == {"rules": []}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"keywords": [], "patterns": []}, "matches nothing"),
        ({"patterns": ["*"]}, "matches everything"),
        ({"label": "football"}, "is not a label of topic"),
        ({"scheme": "quality"}, "topic"),
        ({"name": ""}, "at least 1 character"),
        ({"min_score": 2}, "less than or equal to 1"),
        ({"min_score": "0.5"}, "number"),
        ({"source_ids": [NOBODYS]}, "There is no public source"),
        ({"keywords": ["x"] * 101}, "at most 100"),
        ({"is_enabled": True}, "not permitted"),
    ],
)
async def test_an_invalid_rule_is_refused(desk: Desk, change: dict[str, object], message: str) -> None:
    for path in (RULES, f"{RULES}/test"):
        refused = await desk.api.post(path, json=SPORT | change)
        assert refused.status_code == 422
        assert message in problems(refused)
    assert await desk.actions() == []


async def test_an_invalid_change_is_refused_and_changes_nothing(desk: Desk) -> None:
    rule = await desk.create()
    path = f"{RULES}/{rule['id']}"

    for change in ({"patterns": ["**"]}, {"label": "nothing"}, {"is_enabled": "yes"}, {"days": 3}):
        assert (await desk.api.patch(path, json=change)).status_code == 422
    assert (await desk.api.post(f"{path}/test", params={"days": 31})).status_code == 422
    assert (await desk.api.get(path)).json() == rule


async def test_two_rules_of_one_name_conflict(desk: Desk) -> None:
    await desk.create()
    other = await desk.create(name="Other")

    assert (await desk.api.post(RULES, json=SPORT | {"name": "SPORT"})).status_code == 409
    assert (await desk.api.patch(f"{RULES}/{other['id']}", json={"name": "sport"})).status_code == 409


async def test_a_rule_by_a_public_source(desk: Desk) -> None:
    async with desk.database.transaction() as conn:
        source = await a_source(conn, url="https://public.example/feed")

    rule = await desk.create(source_ids=[str(source.id)])

    assert rule["source_ids"] == [str(source.id)]


# Stories


async def test_the_largest_stories_are_listed(desk: Desk) -> None:
    async with desk.database.transaction() as conn:
        await a_story(conn, "Small", articles=2)
        large = await a_story(conn, "Large", articles=3)

    listed = (await desk.api.get(STORIES)).json()["stories"]
    assert [(one["title"], one["article_count"], one["source_count"]) for one in listed] == [
        ("Large", 3, 2), ("Small", 2, 2),
    ]  # fmt: skip
    assert len((await desk.api.get(STORIES, params={"limit": 1})).json()["stories"]) == 1
    for since in ("2099-01-01T00:00:00Z", "2099-01-01T00:00:00"):
        assert (await desk.api.get(STORIES, params={"since": since})).json() == {"stories": []}
    for query in ({"since": "yesterday"}, {"limit": "0"}, {"sort": "x"}):
        assert (await desk.api.get(STORIES, params=query)).status_code == 422
    one = (await desk.api.get(f"{STORIES}/{large}")).json()
    assert (one["title"], len(one["articles"])) == ("Large", 3)
    assert {article["title"] for article in one["articles"]} == {"Large 0", "Large 1", "Large 2"}


async def test_a_persons_label_is_a_revision_in_the_same_request(desk: Desk) -> None:
    async with desk.database.transaction() as conn:
        await conn.execute("UPDATE article_state SET classified_at = %s", (START,))
    revision = 0
    for method in ("PUT", "DELETE"):
        body = {"labels": ["recipe"]} if method == "PUT" else None
        await desk.api.request(method, f"{desk.labels}/type", json=body)
        async with desk.database.transaction() as conn:
            before, revision = revision, await fetch_value(conn, "SELECT revision FROM article_state")
        assert revision > before
