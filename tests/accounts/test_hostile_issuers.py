"""OpenID providers and key sets that hang, lie or send far too much: bounded, and all else goes on."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from time import process_time
from typing import Any
from uuid import uuid4

import httpx
import pytest
from httpx import URL
from joserfc.jwk import ECKey
from litestar import Litestar
from pydantic import SecretStr
from structlog.testing import capture_logs

from headwater.accounts.external import Issuer
from headwater.accounts.keys import MOST_KEYS, PublishedKeys
from headwater.accounts.openid import OpenId, OpenIdAttempt, OpenIdOptions
from headwater.db import Database
from headwater.errors import IssuerUnavailable
from headwater.net import Client
from headwater.text import text_problem
from tests.accounts.hostile import ANSWERS, HUGE, Hostile, open_hostile
from tests.accounts.issuer import AUDIENCE, NAME, RSA, Publisher, claims, publish_keys, signed
from tests.accounts.provider import CLIENT_ID, CLIENT_SECRET, Provider, open_provider
from tests.app import create_app
from tests.clock import MovableClock
from tests.web.visitor import Person, a_person

SITE = "http://127.0.0.1:8000"
BACK = f"{SITE}/auth/openid/callback"
PATIENCE_S = 60
EVERY = pytest.mark.parametrize("path", sorted(ANSWERS))


class Impatient(Client):
    """Waits a second for a hostile server, and as long as Headwater does for a good one."""

    patience = timedelta(seconds=1)

    async def get(self, url: str, *, within: timedelta, **more: Any) -> Any:
        return await super().get(url, within=self._shorter(url, within), **more)

    async def post(self, url: str, *, within: timedelta, **more: Any) -> Any:
        return await super().post(url, within=self._shorter(url, within), **more)

    def _shorter(self, url: str, within: timedelta) -> timedelta:
        return self.patience if URL(url).path in ANSWERS else within


@pytest.fixture
async def hostile() -> AsyncIterator[Hostile]:
    async with open_hostile() as hostile:
        yield hostile


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    resolve = {"internal.example": "10.0.0.1"}
    async with Impatient(user_agent="test", allow_loopback=True, resolve=resolve) as client:
        yield client


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with open_provider() as provider:
        yield provider


@pytest.fixture
def openid(provider: Provider, client: Client, clock: MovableClock) -> OpenId:
    return OpenId(client, clock, OpenIdOptions(provider.url, CLIENT_ID, SecretStr(CLIENT_SECRET), BACK))


async def code_of(openid: OpenId, attempt: OpenIdAttempt) -> str:
    """The code with which the provider redirects back."""
    async with httpx.AsyncClient() as browser:
        back = await browser.get(await openid.address(attempt))
    return URL(back.headers["location"]).params["code"]


# The configuration of an issuer


class Elsewhere(Impatient):
    """Asks a hostile server instead of the provider, where the address ends like this."""

    def lead(self, ending: str, to: str) -> None:
        self.ending, self.to = ending, to

    async def get(self, url: str, **more: Any) -> Any:
        return await super().get(self.to if url.endswith(self.ending) else url, **more)


@pytest.fixture
async def elsewhere() -> AsyncIterator[Elsewhere]:
    client = Elsewhere(user_agent="test", allow_loopback=True, resolve={"internal.example": "10.0.0.1"})
    async with client:
        yield client


@EVERY
async def test_an_issuer_that_cannot_say_what_it_is_is_unavailable(
    path: str, hostile: Hostile, elsewhere: Elsewhere, clock: MovableClock
) -> None:
    elsewhere.lead("/openid-configuration", hostile.url + path)
    openid = OpenId(elsewhere, clock, OpenIdOptions("http://127.0.0.1:1", CLIENT_ID, SecretStr("x"), BACK))
    async with asyncio.timeout(PATIENCE_S):
        with capture_logs() as logs, pytest.raises(IssuerUnavailable):
            await openid.address(OpenIdAttempt("seed"))
        with pytest.raises(IssuerUnavailable):  # at once: there is no second request within half a minute
            await openid.address(OpenIdAttempt("seed"))

    assert sum(hostile.asked.values()) == 1 or path == "/circle"
    assert hostile.sent < HUGE / 10
    refused = ["address refused"] if path == "/inside" else []
    assert [line["event"] for line in logs] == [*refused, "OpenID issuer unavailable"]
    if path == "/inside":
        assert "does not connect there" in logs[-1]["error"]


async def test_a_hundred_log_ins_at_an_issuer_that_hangs_make_one_request(
    hostile: Hostile, elsewhere: Elsewhere, clock: MovableClock
) -> None:
    elsewhere.lead("/openid-configuration", f"{hostile.url}/hang")
    openid = OpenId(elsewhere, clock, OpenIdOptions("http://127.0.0.1:1", CLIENT_ID, SecretStr("x"), BACK))
    async with asyncio.timeout(PATIENCE_S):
        found = await asyncio.gather(*(openid.address(OpenIdAttempt("s")) for _ in range(100)), return_exceptions=True)

    assert {type(one) for one in found} == {IssuerUnavailable}
    assert hostile.asked["/hang"] == 1


async def test_known_keys_outlive_a_key_set_that_is_unavailable_when_the_issuer_is_discovered_again(
    hostile: Hostile, elsewhere: Elsewhere, clock: MovableClock, provider: Provider
) -> None:
    elsewhere.lead("/nowhere", "")
    openid = OpenId(elsewhere, clock, OpenIdOptions(provider.url, CLIENT_ID, SecretStr(CLIENT_SECRET), BACK))
    provider.claims = {"exp": int(clock().timestamp()) + 20_000}
    attempt = OpenIdAttempt("seed")
    first = await openid.identify(attempt, code=await code_of(openid, attempt), issuer="")
    elsewhere.lead("/jwks", f"{hostile.url}/html")
    provider.metadata = {"authorization_endpoint": f"{provider.url}/authorize?again=1"}
    clock.move(hours=2)
    async with asyncio.timeout(PATIENCE_S):
        while "again=1" not in await openid.address(attempt):
            await asyncio.sleep(0.01)

    assert await openid.identify(attempt, code=await code_of(openid, attempt), issuer="") == first


async def test_a_cached_issuer_that_hangs_later_is_not_waited_for(
    hostile: Hostile, elsewhere: Elsewhere, clock: MovableClock, provider: Provider
) -> None:
    elsewhere.lead("/nowhere", "")
    openid = OpenId(elsewhere, clock, OpenIdOptions(provider.url, CLIENT_ID, SecretStr(CLIENT_SECRET), BACK))
    before = await openid.address(OpenIdAttempt("seed"))
    clock.move(hours=2)
    elsewhere.lead("/openid-configuration", f"{hostile.url}/hang")

    assert [await openid.address(OpenIdAttempt("seed")) for _ in range(20)] == [before] * 20
    async with asyncio.timeout(PATIENCE_S):
        while hostile.asked["/hang"] == 0:
            await asyncio.sleep(0.01)
    assert hostile.asked["/hang"] == 1


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://evil.example"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": "http://127.0.0.1/a\r\nSet-Cookie: a=b"},
        {"authorization_endpoint": "http://127.0.0.1/" + "a" * 10_000},
        {"token_endpoint": ["http://127.0.0.1/"]},
        {"jwks_uri": 7},
    ],
    ids=["issuer", "script", "header", "long", "list", "number"],
)
async def test_an_issuer_that_lies_about_itself_is_unavailable(
    metadata: dict[str, Any], provider: Provider, openid: OpenId
) -> None:
    provider.metadata = metadata

    with pytest.raises(IssuerUnavailable):
        await openid.address(OpenIdAttempt("seed"))


# Where codes become tokens


@pytest.mark.database
@EVERY
async def test_a_token_endpoint_that_misbehaves_is_said_to_the_person_and_all_else_works(
    path: str, hostile: Hostile, provider: Provider, openid: OpenId, database: Database, clock: MovableClock
) -> None:
    provider.metadata = {"token_endpoint": hostile.url + path}
    app = create_app(database, clock, openid=openid)
    async with a_person(app) as person:
        back = await come_back(person)
        login = asyncio.create_task(person.open(back))
        alive = await asyncio.wait_for(privacy_status(app), PATIENCE_S)
        answer = await asyncio.wait_for(login, PATIENCE_S)

    assert alive == 200
    assert answer.status_code in {303, 401, 503}
    if answer.status_code == 503:
        assert "does not respond" in answer.text
    assert hostile.sent < HUGE / 10


async def come_back(person: Person) -> str:
    away = await person.open("/auth/openid")
    assert away.status_code == 303
    async with httpx.AsyncClient() as outside:
        back = URL((await outside.get(away.headers["location"])).headers["location"])
    return f"{back.path}?{back.query.decode()}"


async def privacy_status(app: Litestar) -> int:
    async with a_person(app) as other:
        return (await other.open("/privacy")).status_code


# Keys


@EVERY
async def test_keys_that_cannot_be_read_are_an_outage(
    path: str, hostile: Hostile, client: Client, clock: MovableClock
) -> None:
    issuer = Issuer(PublishedKeys(client, hostile.url + path, clock), clock, name=NAME, audience=AUDIENCE)
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(IssuerUnavailable):
            await issuer.identify(signed(claims()))
        with pytest.raises(IssuerUnavailable):
            await issuer.identify(signed(claims()))

    assert sum(hostile.asked.values()) == 1
    assert hostile.sent < HUGE / 10


@pytest.fixture
async def publisher() -> AsyncIterator[Publisher]:
    async with publish_keys() as publisher:
        yield publisher


@pytest.fixture
def issuer(publisher: Publisher, client: Client, clock: MovableClock) -> Issuer:
    return Issuer(PublishedKeys(client, publisher.url, clock), clock, name=NAME, audience=AUDIENCE)


async def test_a_flood_of_unknown_keys_is_one_request_a_minute(
    issuer: Issuer, publisher: Publisher, clock: MovableClock
) -> None:
    for minute in range(1, 4):
        tokens = [signed(claims(exp=10**11), kid=uuid4().hex) for _ in range(50)]
        found = await asyncio.gather(*(issuer.identify(token) for token in tokens))
        assert found == [None] * 50
        assert publisher.asked == minute
        clock.move(minutes=1)


async def test_many_who_come_first_share_one_request_and_all_are_let_in(issuer: Issuer, publisher: Publisher) -> None:
    found = await asyncio.gather(*(issuer.identify(signed(claims())) for _ in range(50)))

    assert None not in found
    assert publisher.asked == 1


async def test_known_keys_are_used_while_new_ones_cannot_be_fetched(
    hostile: Hostile, elsewhere: Elsewhere, publisher: Publisher, clock: MovableClock
) -> None:
    elsewhere.lead("/nowhere", "")
    issuer = Issuer(PublishedKeys(elsewhere, publisher.url, clock), clock, name=NAME, audience=AUDIENCE)
    good = signed(claims(exp=10**11))
    assert await issuer.identify(good) is not None
    clock.move(minutes=2)
    elsewhere.lead("/jwks.json", f"{hostile.url}/hang")
    elsewhere.patience = timedelta(seconds=5)
    unknown = asyncio.create_task(issuer.identify(signed(claims(exp=10**11), kid="unknown")))
    async with asyncio.timeout(PATIENCE_S):
        while hostile.asked["/hang"] == 0:
            await asyncio.sleep(0.01)
        assert await issuer.identify(good) is not None
        assert not unknown.done()
        assert await unknown is None


async def test_of_a_set_of_thousands_of_keys_only_so_many_are_read(issuer: Issuer, publisher: Publisher) -> None:
    one = ECKey.generate_key("P-256", {"kid": "0"}).as_dict(private=False)
    publisher.keys = [Listed({**one, "kid": str(number)}) for number in range(2_000)]

    assert await issuer._keys.find("0") is not None  # pyright: ignore[reportPrivateUsage]
    assert await issuer._keys.find(str(MOST_KEYS)) is None  # pyright: ignore[reportPrivateUsage]


async def test_private_keys_in_a_key_set_are_not_read(issuer: Issuer, publisher: Publisher) -> None:
    private = ECKey.generate_key("P-256", {"kid": "private"}).as_dict(private=True)
    # The factors of a forged RSA key are searched for: 7 s of CPU for each of this size.
    number = base64.urlsafe_b64encode(b"\xff" * 1_999 + b"\x01").rstrip(b"=").decode()
    forged = {"kty": "RSA", "kid": "forged", "n": number, "e": "AQAB", "d": number}
    publisher.keys = [RSA, Listed(private), *[Listed(forged)] * 3]
    started = process_time()

    assert await issuer.identify(signed(claims())) is not None
    assert await issuer._keys.find("private") is None  # pyright: ignore[reportPrivateUsage]
    assert process_time() - started < 10


class Listed:
    """A key as it is published."""

    def __init__(self, content: Any) -> None:
        self.content = content

    def as_dict(self, *, private: bool) -> Any:
        assert not private
        return self.content


ODD: list[Any] = [None, [], {}, "x", "\0", 5, -1, True, 1e308, 10**400, [[]], [None], {"a": []}, "../../etc/passwd"]


@pytest.mark.parametrize("name", ["alg", "kid", "crit", "typ", "cty", "b64", "zip", "jku", "jwk", "x5u", "x5c", "enc"])
async def test_a_header_of_a_token_can_be_anything_and_breaks_nothing(issuer: Issuer, name: str) -> None:
    for value in ODD:
        header = {"alg": "RS256", "kid": "rsa", name: value}
        parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (header, claims())]
        for signature in (b"", b"AAAA"):
            assert await issuer.identify(b".".join([*parts, signature]).decode()) is None


@pytest.mark.parametrize("name", ["exp", "nbf", "iat", "aud", "iss", "sub", "email", "email_verified"])
async def test_a_claim_of_a_token_can_be_anything_and_breaks_nothing(issuer: Issuer, name: str) -> None:
    for value in [*ODD, "a\0@example.com", "a\x7f@example.com", "\ud800@example.com"]:
        identity = await issuer.identify(signed(claims(**{name: value})))
        assert identity is None or text_problem(identity.email) is None
        assert identity is None or (identity.issuer, len(identity.subject) > 0) == (NAME, True)
