"""API tokens of users: what each allows, and responses to invalid ones."""

from collections.abc import AsyncIterator, Sequence

import pytest
from httpx import AsyncClient, Response

from headwater.accounts.bearers import make_token
from headwater.accounts.changes import change_role, create_account, find_account
from headwater.accounts.external import Issuer
from headwater.accounts.keys import FixedKey
from headwater.accounts.store import tokens, users
from headwater.accounts.types import AccountOptions, Role, User
from headwater.db import Database
from headwater.web import WebOptions
from tests.accounts.issuer import AUDIENCE, NAME, NOW, RSA, claims, signed
from tests.api.conftest import FRONTIER
from tests.app import create_app
from tests.browser import visit
from tests.builders import another_administrator
from tests.clock import MovableClock

pytestmark = pytest.mark.database

PASSWORD = "correct horse battery"
URL = {"url": "https://a.example/1"}
CUSTOM = "/api/feeds/custom"
NOBODYS = "00000000-0000-0000-0000-000000000007"


@pytest.fixture
async def api(database: Database, clock: MovableClock) -> AsyncIterator[AsyncClient]:
    """No token of the operator is set; tokens of users are accepted."""
    async with visit(create_app(database, clock)) as client:
        yield client


class People:
    def __init__(self, database: Database, clock: MovableClock) -> None:
        self.database = database
        self.clock = clock

    async def person(self, role: Role) -> User:
        email = f"{role}@example.com"
        return await create_account(self.database, self.clock, email=email, password=PASSWORD, role=role)

    async def token(self, user: User, scopes: Sequence[str] = ("read", "write")) -> str:
        async with self.database.as_system() as conn:
            name = "-".join(scopes)
            return await make_token(conn, user=user, name=name, scopes=scopes, now=self.clock())


@pytest.fixture
def people(database: Database, clock: MovableClock) -> People:
    return People(database, clock)


def with_token(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def read(api: AsyncClient, token: str) -> Response:
    return await api.get(f"{FRONTIER}/stats", headers=with_token(token))


async def write(api: AsyncClient, token: str) -> Response:
    return await api.post(f"{FRONTIER}/submit", json=URL, headers=with_token(token))


async def look(api: AsyncClient, token: str) -> Response:
    """A request that every reader may send."""
    return await api.get(CUSTOM, headers=with_token(token))


async def withdraw(api: AsyncClient, token: str) -> Response:
    """A request that every reader may send; there is no such suggestion."""
    return await api.delete(f"{CUSTOM}/{NOBODYS}", headers=with_token(token))


@pytest.mark.parametrize(
    ("scopes", "reads", "writes"),
    [(["read"], 200, 403), (["write"], 403, 404), (["read", "write"], 200, 404), (["admin"], 200, 404)],
    ids=["read", "write", "both", "admin"],
)
async def test_a_token_is_limited_to_its_scopes(
    api: AsyncClient, people: People, scopes: list[str], reads: int, writes: int
) -> None:
    token = await people.token(await people.person(Role.SUPER_ADMIN), scopes)

    answers = await look(api, token), await withdraw(api, token)

    assert [answer.status_code for answer in answers] == [reads, writes]
    for answer in answers:
        if answer.status_code == 403:
            assert 'error="insufficient_scope"' in answer.headers["www-authenticate"]
            assert answer.json()["type"].endswith("#forbidden")


async def test_every_change_needs_the_scope_for_it(api: AsyncClient, people: People) -> None:
    token = await people.token(await people.person(Role.SUPER_ADMIN), ["read"])
    url = f"{FRONTIER}/00000000-0000-0000-0000-000000000000"

    statuses = [
        (await write(api, token)).status_code,
        (await api.post(f"{FRONTIER}/submit/bulk", json={"urls": []}, headers=with_token(token))).status_code,
        (await api.post(f"{FRONTIER}/retry", json={"status": "dead"}, headers=with_token(token))).status_code,
        (await api.delete(url, headers=with_token(token))).status_code,
    ]

    assert statuses == [403, 403, 403, 403]


@pytest.mark.parametrize(
    ("role", "status"),
    [(Role.READER, 403), (Role.MODERATOR, 403), (Role.SUPER_ADMIN, 200)],
    ids=str,
)
async def test_the_frontier_requires_super_admin(api: AsyncClient, people: People, role: Role, status: int) -> None:
    scopes = ["read", "write"] if role is Role.READER else ["admin"]
    token = await people.token(await people.person(role), scopes)

    assert [(await read(api, token)).status_code, (await write(api, token)).status_code] == [status, status]


async def test_a_lowered_role_applies_at_once(api: AsyncClient, people: People) -> None:
    token = await people.token(await people.person(Role.SUPER_ADMIN), ["admin"])
    before = await read(api, token)
    await another_administrator(people.database)

    async with people.database.as_system() as conn:
        await change_role(conn, user_id=(await find_account(conn, "super_admin@example.com")).id, role=Role.READER)

    assert (before.status_code, (await read(api, token)).status_code) == (200, 401)


async def test_a_wrong_and_a_revoked_token_get_the_same_response(api: AsyncClient, people: People) -> None:
    user = await people.person(Role.MODERATOR)
    token = await people.token(user)
    async with people.database.as_system() as conn:
        (kept,) = await tokens.list_of(conn, user_id=user.id)
        await tokens.remove(conn, token_id=kept.id)

    revoked, wrong = await read(api, token), await read(api, "hw_" + "x" * 43)

    assert revoked.status_code == wrong.status_code == 401
    assert revoked.json() == wrong.json()
    assert revoked.headers["www-authenticate"] == wrong.headers["www-authenticate"]


@pytest.mark.parametrize(
    "spoil", [str.upper, lambda token: token[:-1], lambda token: token[3:], lambda token: f"{token}=", lambda _: "hw_"],
    ids=["case", "short", "prefix", "long", "nothing"],
)  # fmt: skip
async def test_a_token_with_a_changed_character_is_refused(api: AsyncClient, people: People, spoil: object) -> None:
    token = await people.token(await people.person(Role.MODERATOR))
    assert callable(spoil)

    assert (await read(api, str(spoil(token)))).status_code == 401


async def test_tokens_of_a_deleted_user_are_refused(api: AsyncClient, people: People) -> None:
    user = await people.person(Role.MODERATOR)
    token = await people.token(user)
    async with people.database.as_system() as conn:
        await users.remove(conn, user_id=user.id)

    assert (await read(api, token)).status_code == 401


async def test_cookies_do_not_authorise_the_api(api: AsyncClient, people: People) -> None:
    token = await people.token(await people.person(Role.SUPER_ADMIN))

    answer = await api.get(f"{FRONTIER}/stats", headers={"Cookie": f"headwater_access={token}"})

    assert answer.status_code == 401


async def test_the_last_use_of_a_token_is_recorded(api: AsyncClient, people: People, clock: MovableClock) -> None:
    user = await people.person(Role.MODERATOR)
    token = await people.token(user)
    clock.move(minutes=5)

    await read(api, token)

    async with people.database.as_system() as conn:
        assert [one.used_at for one in await tokens.list_of(conn, user_id=user.id)] == [clock()]


@pytest.fixture
async def trusting(database: Database, clock: MovableClock) -> AsyncIterator[AsyncClient]:
    """An app that accepts JWTs of an outside issuer."""
    keys = FixedKey(RSA.as_pem(private=False).decode())
    issuer = Issuer(keys, clock, name=NAME, audience=AUDIENCE)
    async with visit(create_app(database, clock, issuer=issuer)) as client:
        yield client


async def test_a_jwt_authorises_its_account(trusting: AsyncClient, people: People) -> None:
    await people.person(Role.SUPER_ADMIN)

    reader = await read(trusting, signed(claims()))
    admin = await read(trusting, signed(claims(sub="boss", email="super_admin@example.com")))
    late = await read(trusting, signed(claims(exp=NOW - 60)))
    again = await read(trusting, signed(claims()))

    assert [reader.status_code, admin.status_code, late.status_code, again.status_code] == [403, 403, 401, 403]
    assert 'scope="admin"' in admin.headers["www-authenticate"]  # a JWT reads and writes, whoever's it is
    async with people.database.as_system() as conn:
        assert [user.email for user in await users.list_all(conn)] == ["super_admin@example.com", "ann@example.com"]


@pytest.mark.parametrize(
    "options", [AccountOptions(confirm_email=True), AccountOptions(hide_accounts=True)], ids=["confirm", "hide"]
)
async def test_a_jwt_with_an_unconfirmed_email_is_refused_where_confirmation_is_required(
    database: Database, clock: MovableClock, people: People, options: AccountOptions
) -> None:
    await people.person(Role.SUPER_ADMIN)
    issuer = Issuer(FixedKey(RSA.as_pem(private=False).decode()), clock, name=NAME, audience=AUDIENCE)
    async with visit(create_app(database, clock, web=WebOptions(accounts=options), issuer=issuer)) as api:
        unverified = await look(api, signed(claims(sub="bob", email="bob@example.com", email_verified=False)))
        verified = await look(api, signed(claims()))
        async with database.as_system() as conn:
            (bob,) = [user for user in await users.list_all(conn) if user.email == "bob@example.com"]
            await users.confirm(conn, user_id=bob.id, now=clock())
        confirmed = await look(api, signed(claims(sub="bob", email="bob@example.com", email_verified=False)))

    assert [unverified.status_code, verified.status_code, confirmed.status_code] == [403, 200, 200]
    assert "/auth/forgot" in unverified.json()["detail"]


async def test_without_an_issuer_set_a_jwt_is_refused(api: AsyncClient, people: People) -> None:
    await people.person(Role.SUPER_ADMIN)

    assert (await read(api, signed(claims(email="super_admin@example.com")))).status_code == 401
