"""What each scope of a token allows: every API route, found from the app, by every scope and role."""

from collections.abc import AsyncIterator
from itertools import product

import pytest
from httpx import AsyncClient

from headwater.accounts.changes import add_user, change_role
from headwater.accounts.secrets import digest
from headwater.accounts.store import tokens as tokens_store
from headwater.accounts.store import users
from headwater.accounts.types import ApiToken, Role, Scope
from headwater.db import Database
from headwater.ids import new_id
from tests.app import create_app
from tests.browser import visit
from tests.builders import another_administrator
from tests.clock import START, MovableClock
from tests.web.test_every_route import ANYTHING, OF_PROGRAMS, Route

pytestmark = pytest.mark.database

READING = "GET"


@pytest.fixture
async def api(database: Database, clock: MovableClock) -> AsyncIterator[AsyncClient]:
    async with visit(create_app(database, clock)) as client:
        yield client


async def tokens(database: Database) -> dict[tuple[Role, Scope], str]:
    """One of every scope for a user of every role, also those that the account page would not make."""
    made: dict[tuple[Role, Scope], str] = {}
    async with database.as_system() as conn:
        for role in Role:
            user = await add_user(conn, f"{role}@example.com", None, role, START, confirmed_at=START)
            for scope in Scope:
                token = f"hw_{role}-{scope}"
                made[role, scope] = token
                named = ApiToken(new_id(), scope, [scope], START, None)
                await tokens_store.add(conn, named, user_id=user.id, token_hash=digest(token))
    return made


async def is_refused(api: AsyncClient, route: Route, token: str) -> bool:
    json = None if route.method == READING else {}
    headers = {"Authorization": f"Bearer {token}"}
    answer = await api.request(route.method, route.at(ANYTHING), headers=headers, json=json)
    assert answer.status_code < 500 or "database is unavailable" not in answer.text, (route, answer.text)
    assert answer.status_code != 401, route
    return answer.status_code == 403


def opens(route: Route, role: Role, scope: Scope) -> bool:
    """The rule, in words: `admin` does what the role allows; `read` and `write` do what a reader may."""
    needed = Role(route.role or Role.SUPER_ADMIN)
    if not role.includes(needed):
        return False
    if scope is Scope.ADMIN:
        return True
    return needed is Role.READER and (scope is Scope.READ) == (route.method == READING)


async def test_every_route_requires_its_scope_and_role(api: AsyncClient, database: Database) -> None:
    made = await tokens(database)

    wrong = [
        (str(route), str(role), str(scope))
        for route, role, scope in product(OF_PROGRAMS, Role, Scope)
        if await is_refused(api, route, made[role, scope]) == opens(route, role, scope)
    ]

    assert wrong == []
    assert len(OF_PROGRAMS) > 15
    assert {Role(route.role or Role.SUPER_ADMIN) for route in OF_PROGRAMS} == set(Role)


async def test_a_token_is_limited_to_the_current_role_of_its_owner(api: AsyncClient, database: Database) -> None:
    made = await tokens(database)
    await another_administrator(database)
    async with database.as_system() as conn:
        found = await users.find_credentials(conn, email_key="super_admin@example.com")
        assert found is not None
        await users.set_role(conn, user_id=found.user.id, role=Role.READER)
    above = [route for route in OF_PROGRAMS if route.role != Role.READER]

    opened = [str(route) for route in above if not await is_refused(api, route, made[Role.SUPER_ADMIN, Scope.ADMIN])]

    assert opened == []
    async with database.as_system() as conn:
        await users.set_role(conn, user_id=found.user.id, role=Role.SUPER_ADMIN)
        await change_role(conn, user_id=found.user.id, role=Role.MODERATOR)
        scopes = [one.scopes for one in await tokens_store.list_of(conn, user_id=found.user.id)]
    assert [Scope.ADMIN] not in scopes
