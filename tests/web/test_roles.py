"""Roles: a rule for every route that exists, tested with every lower role. A new route needs a rule."""

import pytest
from httpx import Response
from litestar import Litestar

from headwater.accounts.types import Role
from headwater.db import Database
from tests.app import create_app
from tests.clock import MovableClock
from tests.web.test_every_route import ANYTHING, CLOSED, OF_PROGRAMS, Route
from tests.web.visitor import PAGE, Person, a_person

pytestmark = pytest.mark.database

# The first that fits decides; one with a method is for that method only. What is open is in test_every_route.py.
RULES = [
    ("/admin/api/feeds/moderation", Role.MODERATOR),
    ("/admin/api/feeds/blocked-domains", Role.MODERATOR),
    ("/admin/api/", Role.SUPER_ADMIN),
    ("GET /api/v1/channels", Role.MODERATOR),
    ("GET /admin/channels/options", Role.SUPER_ADMIN),
    ("GET /admin/channels", Role.MODERATOR),
    ("/admin/articles", Role.MODERATOR),
    ("/admin/labels", Role.MODERATOR),
    ("/admin/moderation", Role.MODERATOR),
    ("/admin/palette", Role.MODERATOR),
    ("/admin/rules", Role.MODERATOR),
    ("/admin/stories", Role.MODERATOR),
    ("/api/v1/articles", Role.MODERATOR),
    ("/api/v1/classification", Role.MODERATOR),
    ("/api/v1/stories", Role.MODERATOR),
    ("/admin", Role.SUPER_ADMIN),
    ("/api/feeds/custom", Role.READER),
    ("/api/v1/rules", Role.READER),
    ("/api/v1/saved", Role.READER),
    ("/api/v1/", Role.SUPER_ADMIN),
    *(
        (path, Role.READER)
        for path in (
            "/account",
            "/articles",
            "/dashboard",
            "/discover",
            "/feeds",
            "/images",
            "/later",
            "/notifications",
            "/opml",
            "/read",
            "/rules",
            "/settings",
            "/summaries",
            "/tags",
            "/views",
        )
    ),
]


def fits(route: Route, path: str) -> bool:
    return f"{route.path}/".startswith(path) or f"{route}/".startswith(path)


def rule(route: Route) -> Role | None:
    return next((role for path, role in RULES if fits(route, path)), None)


def test_every_route_has_a_rule() -> None:
    assert [str(one) for one in CLOSED if rule(one) is None] == []


def test_every_rule_has_a_route() -> None:
    assert [path for path, _ in RULES if not any(fits(one, path) for one in CLOSED)] == []


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


async def somebody(app: Litestar, person: Person, database: Database, role: Role) -> str:
    """A logged-in user of this role. Returns an API token."""
    async with a_person(app) as first:
        await first.register("first@example.com")  # the first account is the administrator's
    await person.register(f"{role}@example.com")
    async with database.as_system() as conn:
        await conn.execute(
            "UPDATE users SET role = %(role)s WHERE email_key = %(key)s",
            {"role": role.value, "key": f"{role}@example.com"},
        )
    made = await person.client.post(
        "/account/tokens",
        headers=PAGE,
        data={
            "_csrf_token": person.token,
            "name": "robot",
            "scopes": ["read", "write"] if role is Role.READER else ["admin"],
        },
    )
    return made.text.partition("hw_")[2].partition("<")[0].partition('"')[0]


async def ask(person: Person, token: str, route: Route) -> Response:
    path, is_change = route.at(ANYTHING), route.method != "GET"
    if route in OF_PROGRAMS:
        headers = {"Authorization": f"Bearer hw_{token}"}
        return await person.client.request(route.method, path, headers=headers, json={} if is_change else None)
    headers = {**PAGE, "X-CSRF-Token": person.token}
    return await person.client.request(route.method, path, headers=headers, data={"x": "y"} if is_change else None)


@pytest.mark.parametrize("role", [Role.READER, Role.MODERATOR])
async def test_a_lower_role_is_refused(app: Litestar, database: Database, role: Role) -> None:
    closed = [one for one in CLOSED if (needed := rule(one)) is not None and not role.includes(needed)]
    async with a_person(app) as person:
        token = await somebody(app, person, database, role)

        answers = {str(one): (await ask(person, token, one)).status_code for one in closed}

    assert answers == {str(one): 403 for one in closed}
    assert len(closed) > 10


@pytest.mark.parametrize("role", Role)
async def test_each_role_reaches_its_pages(app: Litestar, database: Database, role: Role) -> None:
    """Otherwise the refusals of others would prove nothing."""
    looks = [
        one for one in CLOSED if one.method == "GET" and (needed := rule(one)) is not None and role.includes(needed)
    ]
    async with a_person(app) as person:
        token = await somebody(app, person, database, role)

        answers = {str(one): (await ask(person, token, one)).status_code for one in looks}

    assert {name: status for name, status in answers.items() if status in {401, 403} or status >= 500} == {}
