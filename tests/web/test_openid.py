"""Login by OpenID Connect, against a provider on loopback."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from httpx import URL, Response
from joserfc.jwk import RSAKey
from litestar import Litestar
from pydantic import SecretStr

from headwater.accounts.changes import create_account
from headwater.accounts.openid import OpenId, OpenIdOptions
from headwater.accounts.store import users
from headwater.accounts.types import AccountOptions, Role
from headwater.db import Database
from headwater.net import Client
from headwater.web import WebOptions
from tests.accounts.issuer import NOW
from tests.accounts.provider import CLIENT_ID, CLIENT_SECRET, Provider, open_provider
from tests.app import create_app
from tests.clock import MovableClock
from tests.web.visitor import PASSWORD, Person, a_person

pytestmark = pytest.mark.database

SITE = "http://127.0.0.1:8000"


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with open_provider() as provider:
        yield provider


@pytest.fixture
async def openid(provider: Provider, clock: MovableClock) -> AsyncIterator[OpenId]:
    options = OpenIdOptions(provider.url, CLIENT_ID, SecretStr(CLIENT_SECRET), f"{SITE}/auth/openid/callback")
    async with Client(user_agent="test", allow_loopback=True) as client:
        yield OpenId(client, clock, options)


@pytest.fixture
def app(database: Database, clock: MovableClock, openid: OpenId) -> Litestar:
    return create_app(database, clock, openid=openid)


@pytest.fixture
async def person(app: Litestar) -> AsyncIterator[Person]:
    async with a_person(app) as person:
        yield person


async def leave(person: Person) -> URL:
    """To the provider, which redirects back at once. Returns the URL of the callback."""
    away = await person.open("/auth/openid")
    assert away.status_code == 303
    async with httpx.AsyncClient() as outside:
        return URL((await outside.get(away.headers["location"])).headers["location"])


async def go_there_and_back(person: Person) -> Response:
    back = await leave(person)
    return await person.open(f"{back.path}?{back.query.decode()}")


async def test_the_login_page_links_to_the_provider_if_set(
    person: Person, database: Database, clock: MovableClock
) -> None:
    await create_account(database, clock, email="root@example.com", password=PASSWORD, role=None)
    async with a_person(create_app(database, clock)) as elsewhere:
        without = await elsewhere.open("/auth/login")
        nowhere = await elsewhere.open("/auth/openid")

    assert 'href="/auth/openid"' in (await person.open("/auth/login")).text
    assert "/auth/openid" not in without.text
    assert nowhere.status_code == 404


async def test_a_returning_user_is_logged_in_to_the_same_account(
    person: Person, app: Litestar, database: Database
) -> None:
    came = await go_there_and_back(person)
    inside = await person.open("/dashboard")
    async with a_person(app) as again:
        await go_there_and_back(again)

    assert (came.status_code, came.headers["location"]) == (303, "/dashboard")
    assert inside.status_code == 200
    cookies = came.headers.get_list("set-cookie")
    assert all("HttpOnly" in line and "SameSite=lax" in line for line in cookies)
    assert any(line.startswith("headwater_openid=") and "Max-Age=0" in line for line in cookies)
    async with database.as_system() as conn:
        (user,) = await users.list_all(conn)
        cur = await conn.execute("SELECT event_type FROM events ORDER BY id")
        events = [name for (name,) in await cur.fetchall()]
    assert (user.email, user.role, user.confirmed_at is not None) == ("ann@example.com", Role.SUPER_ADMIN, True)
    assert events == ["user_registered", "user_login", "user_login"]


async def test_the_client_secret_is_sent_in_the_form_if_required(provider: Provider, person: Person) -> None:
    provider.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}

    came = await go_there_and_back(person)

    assert came.status_code == 303
    assert provider.refusals == []


async def test_a_code_is_refused_in_another_browser(app: Litestar, person: Person) -> None:
    back = await leave(person)
    async with a_person(app) as victim:
        planted = await victim.open(f"{back.path}?{back.query.decode()}")
        await leave(victim)
        begun = await victim.open(f"{back.path}?{back.query.decode()}")
        inside = await victim.open("/dashboard")

    assert [planted.status_code, begun.status_code, inside.status_code] == [401, 401, 303]
    assert "was not started here" in planted.text


async def test_an_attempt_is_valid_once(person: Person) -> None:
    back = await leave(person)
    path = f"{back.path}?{back.query.decode()}"
    first = await person.open(path)
    await person.submit("/auth/logout")

    assert (first.status_code, (await person.open(path)).status_code) == (303, 401)


@pytest.mark.parametrize(
    "query", ["", "error=access_denied", "code=x", "code=x&state=y", "code=%ff&state=%ff", "state=é"], ids=range(6)
)
async def test_a_callback_without_a_code_shows_the_login_page(person: Person, query: str) -> None:
    await leave(person)

    refused = await person.open(f"/auth/openid/callback?{query}")

    assert refused.status_code == 401
    assert "Log in" in refused.text


async def test_a_code_with_a_control_character_is_not_sent(person: Person, provider: Provider) -> None:
    await leave(person)

    refused = await person.open("/auth/openid/callback?code=%00&state=%ff")

    assert refused.status_code == 400
    assert "U+0000" in refused.text
    assert provider.refusals == []


async def test_an_unknown_code_is_refused(person: Person, provider: Provider) -> None:
    back = await leave(person)

    refused = await person.open(str(back.copy_set_param("code", "invented")).removeprefix(SITE))

    assert refused.status_code == 401
    assert provider.refusals == ["invalid_grant"]


async def test_a_callback_of_another_issuer_is_refused(person: Person) -> None:
    back = await leave(person)

    refused = await person.open(str(back.copy_set_param("iss", "https://evil.example")).removeprefix(SITE))

    assert refused.status_code == 401


@pytest.mark.parametrize(
    "told",
    [
        {"nonce": "another"},
        {"nonce": "\ud800"},
        {"nonce": None},
        {"iss": "https://evil.example"},
        {"aud": "another-client"},
        {"aud": [CLIENT_ID, "another"], "azp": "another"},
        {"aud": [CLIENT_ID, "another"]},
        {"exp": NOW - 60},
        {"sub": None},
    ],
    ids=["nonce", "surrogate", "no-nonce", "issuer", "audience", "other-party", "many", "over", "nobody"],
)
async def test_a_token_for_another_attempt_is_refused(person: Person, provider: Provider, told: dict[str, Any]) -> None:
    provider.claims = told

    refused = await go_there_and_back(person)

    assert refused.status_code == 401
    assert "Login with the provider failed" in refused.text
    assert (await person.open("/dashboard")).status_code == 303


async def test_a_token_with_another_signature_is_refused(person: Person, provider: Provider) -> None:
    provider.signs_with = RSAKey.generate_key(2048, {"kid": "rsa"})

    assert (await go_there_and_back(person)).status_code == 401


async def test_only_a_verified_email_leads_to_its_account(
    person: Person, provider: Provider, database: Database, clock: MovableClock
) -> None:
    await create_account(database, clock, email="ann@example.com", password=PASSWORD, role=Role.SUPER_ADMIN)
    provider.person = {"sub": "thief", "email": "ann@example.com", "email_verified": False}
    refused = await go_there_and_back(person)
    provider.person = {"sub": "ann", "email": "ann@example.com", "email_verified": True}

    came = await go_there_and_back(person)

    assert (refused.status_code, came.status_code) == (409, 303)
    async with database.as_system() as conn:
        assert len(await users.list_all(conn)) == 1


async def test_closed_registration_applies_to_openid(database: Database, clock: MovableClock, openid: OpenId) -> None:
    await create_account(database, clock, email="root@example.com", password=PASSWORD, role=None)
    options = WebOptions(accounts=AccountOptions(registration=False))
    async with a_person(create_app(database, clock, web=options, openid=openid)) as person:
        refused = await go_there_and_back(person)

    assert refused.status_code == 403
    assert "Registration is closed" in refused.text


@pytest.mark.parametrize(
    "metadata",
    [{"issuer": "https://evil.example"}, {"jwks_uri": "file:///etc/passwd"}, {"token_endpoint": None}],
    ids=["issuer", "scheme", "missing"],
)
async def test_an_unusable_provider_is_reported(person: Person, provider: Provider, metadata: dict[str, Any]) -> None:
    provider.metadata = metadata

    away = await person.open("/auth/openid")

    assert away.status_code == 503
    assert "does not respond" in away.text
