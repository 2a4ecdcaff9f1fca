"""Every route that exists, found from the app itself: a new one without a rule fails here.

Only public routes are open without a login, no change is made without a CSRF token, rows of another user are not
reachable by their id, and personal responses are not cached.
"""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import pytest
from httpx import Response
from litestar import Litestar

from headwater.accounts.types import Role
from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.asgi.session import PUBLIC
from headwater.db import Database
from headwater.sources.store import sources
from tests.app import create_app
from tests.builders import an_article, keep_image
from tests.clock import START, MovableClock
from tests.web.visitor import HTMX, PAGE, Person, a_person

pytestmark = pytest.mark.database

# Open to everybody without saying so: what a machine asks before anybody can log in, and what is the same for all.
# The feed of a view has its secret in the path.
OPEN = (
    "/healthz", "/readyz", "/metrics", "/static/", "/vendor/", "/api/openapi.json", "/api/docs", "/view-feeds/",
)  # fmt: skip
FEED = "https://example.com/feed.xml"
PROGRAMS = ("/api/", "/admin/api/")  # by a token in a header, never by a cookie
OPML = b"<opml version='2.0'><body><outline type='rss' text='x' xmlUrl='https://other.example/feed'/></body></opml>"
NOBODYS = str(UUID(int=7))
# What stands for each parameter of a path, when only the door is tried. A new name needs a line here and in `ada`.
ANYTHING = {
    "session_id": NOBODYS,
    "token_id": NOBODYS,
    "feed_id": NOBODYS,
    "article_id": NOBODYS,
    "import_id": NOBODYS,
    "url_id": NOBODYS,
    "person_id": NOBODYS,
    "domain": "spam.example",
    "month": "2026-03",
    "source_id": NOBODYS,
    "action": "read",
    "scheme": "type",
    "rule_id": NOBODYS,
    "reader_rule_id": NOBODYS,
    "target_id": NOBODYS,
    "code": "x",
    "channel_id": NOBODYS,
    "revision": "1",
    "secret": "a-guess",
    "story_id": NOBODYS,
    "view_id": NOBODYS,
    "file_path": "headwater.css",
    "page_path": "reading",
    "page": "sources",
    "filter_id": NOBODYS,
    "change_id": NOBODYS,
}


@dataclass(frozen=True, order=True)
class Route:
    """One method at one path."""

    method: str
    path: str
    role: str

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    def at(self, values: dict[str, str]) -> str:
        """The path with its parameters filled in."""
        return re.sub(r"\{(\w+):\w+\}", lambda found: values[found[1]], self.path)

    @property
    def is_public(self) -> bool:
        return self.role == PUBLIC

    @property
    def names(self) -> list[str]:
        return re.findall(r"\{(\w+):", self.path)


def routes_of(app: Litestar) -> list[Route]:
    found = {
        Route(method, route.path, str(handler.opt.get("role", "")))
        for route in app.routes
        for handler in getattr(route, "route_handlers", [])
        for method in handler.http_methods - {"OPTIONS", "HEAD"}
    }
    return sorted(found)


EVERY = routes_of(
    create_app(Database("", pool_size=1, wait=timedelta(seconds=1)), MovableClock())
)  # nobody opens this one
CLOSED = [one for one in EVERY if not one.is_public and one.path != "/api" and not one.path.startswith(OPEN)]
OF_PROGRAMS = [one for one in CLOSED if one.path.startswith(PROGRAMS)]
OF_PAGES = [one for one in EVERY if not one.path.startswith(("/api", *PROGRAMS, *OPEN))]
CHANGES = [one for one in OF_PAGES if one.method != "GET"]
OF_READERS = [one for one in CLOSED if one in OF_PAGES and one.role in {"", Role.READER}]
WITH_ID = [one for one in OF_READERS if one.names]


def test_routes_are_found() -> None:
    assert len(EVERY) >= 40
    assert len(CHANGES) >= 15
    assert len(WITH_ID) >= 10


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@dataclass(frozen=True)
class Ada:
    """A user who has one row of every kind, and their ids."""

    person: Person
    ids: dict[str, str]


@pytest.fixture
async def ada(app: Litestar, database: Database) -> AsyncIterator[Ada]:
    async with a_person(app) as person:
        await person.register()
        await person.send("POST", "/feeds", name="Example", url=FEED)
        await person.submit("/account/tokens", name="robot", scopes="read")
        brought = await person.client.post(
            "/opml",
            headers={**PAGE, "X-CSRF-Token": person.token},
            files={"file": ("x.opml", OPML, "text/x-opml")},
        )
        async with database.as_system() as conn:
            source = await sources.find_by_url(conn, url=FEED)
            await records.keep(conn, seen_at=START, listed=[ListedEntry(source.id, an_article())])
            cur = await conn.execute(
                """
                SELECT (SELECT id FROM sessions), (SELECT id FROM api_tokens),
                    (SELECT id FROM subscriptions WHERE name = 'Example'), (SELECT id FROM articles)
                """
            )
            row = await cur.fetchone()
        assert row is not None
        for owner_id, kind in ((source.id, "icon"), (row[3], "lead")):
            async with database.transaction() as conn:
                await keep_image(conn, owner_id, kind)
        names = ("session_id", "token_id", "feed_id", "article_id")
        ids = dict(zip(names, map(str, row), strict=True)) | {"action": "star"}
        ids["import_id"] = brought.headers.get("location", "").rpartition("/")[2]
        ids["source_id"] = str(source.id)
        await person.submit("/rules", query="otter", star="yes")
        await person.submit("/notifications/webhook", url="https://hooks.example/in")
        kept = (await person.open("/notifications")).text
        (ids["target_id"],) = re.findall(r'action="/notifications/([0-9a-f-]{36})/delete"', kept)
        (ids["reader_rule_id"],) = re.findall(r'href="/rules/([0-9a-f-]{36})"', (await person.open("/rules")).text)
        saved = await person.submit("/views", name="Otters", query="otters")
        ids["view_id"] = saved.headers["location"].rpartition("=")[2]
        yield Ada(person, ids)


async def ask(person: Person, route: Route, path: str, **headers: str) -> Response:
    data = {"x": "y"} if route.method in {"POST", "PATCH", "PUT"} else None
    return await person.client.request(route.method, path, headers=headers, data=data)


async def test_only_public_routes_are_open_without_a_login(app: Litestar) -> None:
    answers: dict[str, object] = {}
    async with a_person(app) as visitor:
        await visitor.open("/auth/register")
        for route in CLOSED:
            for kind in (PAGE, HTMX):
                answer = await ask(visitor, route, route.at(ANYTHING), **{**kind, "X-CSRF-Token": visitor.token})
                is_sent_to_the_door = answer.headers.get("location") == "/auth/login"
                if not (answer.status_code == 401 or (answer.status_code == 303 and is_sent_to_the_door)):
                    answers[str(route)] = answer.status_code

    assert answers == {}


async def test_a_session_cookie_does_not_authorise_the_api(ada: Ada) -> None:
    answers = {str(one): (await ask(ada.person, one, one.at(ANYTHING))).status_code for one in OF_PROGRAMS}

    assert answers == {str(one): 401 for one in OF_PROGRAMS}


async def test_no_change_is_made_without_a_csrf_token(app: Litestar, ada: Ada) -> None:
    async with a_person(app) as bob:
        await bob.register("bob@example.com")
    answers: dict[str, list[int]] = {}
    for route in CHANGES:
        for headers in ({}, {"X-CSRF-Token": ""}, {"X-CSRF-Token": "é" * 64}, {"X-CSRF-Token": bob.token}):
            encoded = {name: value.encode() for name, value in headers.items()}
            answer = await ask(ada.person, route, route.at(ANYTHING | ada.ids), **PAGE, **encoded)  # pyright: ignore[reportArgumentType]
            answers.setdefault(str(route), []).append(answer.status_code)

    mailed = answers.pop("POST /unsubscribe/{code:str}")  # by mail programs; the code of the link is what allows it
    assert set(mailed) == {404}
    assert {name: found for name, found in answers.items() if set(found) != {403}} == {}
    assert (await ada.person.open("/account")).status_code == 200


async def test_rows_of_another_user_are_not_reachable_by_id(app: Litestar, ada: Ada, database: Database) -> None:
    before = await everything(database)
    answers: dict[str, int] = {}
    async with a_person(app) as bob:
        await bob.register("bob@example.com")
        for route in WITH_ID:
            headers = {**HTMX, "X-CSRF-Token": bob.token}
            answers[str(route)] = (await ask(bob, route, route.at(ada.ids), **headers)).status_code

    assert {name: status for name, status in answers.items() if status != 404} == {}
    assert await everything(database) == before


async def test_the_owner_reaches_each_of_these_rows(ada: Ada) -> None:
    """Otherwise the refusals of another user would prove nothing."""
    reads = [one for one in WITH_ID if one.method == "GET"]

    answers = {str(one): (await ask(ada.person, one, one.at(ada.ids), **PAGE)).status_code for one in reads}

    assert answers == {str(one): 200 for one in reads}


async def test_personal_responses_are_not_cached_but_for_images_by_the_users_browser(ada: Ada) -> None:
    kept: dict[str, str] = {}
    for route in OF_PAGES:
        if route.method == "GET":
            answer = await ask(ada.person, route, route.at(ANYTHING | ada.ids), **PAGE)
            if "no-store" not in answer.headers.get("cache-control", ""):
                kept[str(route)] = f"{answer.status_code} {answer.headers.get('cache-control', '')}"

    images = ("/images/articles/{article_id:uuid}", "/images/feeds/{feed_id:uuid}")
    assert kept == {f"GET {path}": "200 private, no-cache" for path in images}


async def everything(database: Database) -> list[tuple[object, ...]]:
    """Ada's rows, as they are."""
    async with database.as_system() as conn:
        cur = await conn.execute(
            """
            SELECT
                (SELECT array_agg(subscriptions::text) FROM subscriptions),
                (SELECT array_agg(api_tokens::text) FROM api_tokens),
                (SELECT array_agg(marks::text) FROM marks),
                (SELECT array_agg(imports::text) FROM imports),
                (SELECT array_agg(rules::text) FROM rules),
                (SELECT array_agg(notification_targets::text) FROM notification_targets),
                (SELECT array_agg(sessions.id::text) FROM sessions JOIN users ON users.id = user_id
                    WHERE email = 'ada@example.com')
            """
        )
        return list(await cur.fetchall())
