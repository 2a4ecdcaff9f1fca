"""Tokens of an outside issuer: which are believed, and whose account they open."""

import asyncio
import base64
import hmac
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from joserfc.jwk import OctKey, RSAKey

from headwater.accounts.access import Access, LoggedIn
from headwater.accounts.bearers import make_token
from headwater.accounts.changes import change_email, create_account
from headwater.accounts.external import ExternalAccounts, Issuer
from headwater.accounts.keys import FixedKey, PublishedKeys
from headwater.accounts.store import tokens, users
from headwater.accounts.types import AccountOptions, Identity, Role, User, Visitor
from headwater.db import Database
from headwater.errors import EmailTaken, Forbidden, Invalid, RegistrationClosed, Unavailable, WrongPassword
from headwater.net import Client
from tests.accounts.issuer import AUDIENCE, ELLIPTIC, NAME, NOW, RSA, Publisher, claims, publish_keys, signed
from tests.clock import MovableClock
from tests.owner import until_waiting

PASSWORD = "correct horse battery"
SECRET = "a secret of the issuer's, long enough"
ANN = Identity(NAME, "ann", "ann@example.com", True)
HERE = Visitor("192.0.2.1", "a browser")


@pytest.fixture
async def publisher() -> AsyncIterator[Publisher]:
    async with publish_keys() as publisher:
        yield publisher


@pytest.fixture
async def issuer(publisher: Publisher, clock: MovableClock) -> AsyncIterator[Issuer]:
    async with Client(user_agent="test", allow_loopback=True) as client:
        yield Issuer(PublishedKeys(client, publisher.url, clock), clock, name=NAME, audience=AUDIENCE)


def with_key(text: str, clock: MovableClock) -> Issuer:
    return Issuer(FixedKey(text), clock, name=NAME, audience=AUDIENCE)


def unsigned(header: dict[str, Any], said: dict[str, Any]) -> str:
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in (header, said)]
    return ".".join([*parts, ""])


async def test_a_good_token_names_its_person(issuer: Issuer) -> None:
    assert await issuer.identify(signed(claims())) == ANN


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://other.example"},
        {"iss": None},
        {"aud": "somebody-else"},
        {"aud": None},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": "a\nb"},
        {"sub": "x" * 256},
        {"exp": None},
        {"exp": NOW - 31},
        {"exp": "soon"},
        {"nbf": NOW + 31},
        {"iat": NOW + 31},
    ],
    ids=[
        "issuer", "no-issuer", "audience", "no-audience", "no-subject", "empty-subject", "number", "line-break", "long",
        "no-end", "over", "end-is-text", "not-yet", "from-the-future",
    ],
)  # fmt: skip
async def test_a_token_that_is_not_for_us_or_not_in_time_is_not_believed(
    issuer: Issuer, changed: dict[str, Any]
) -> None:
    assert await issuer.identify(signed(claims(**changed))) is None


async def test_clocks_may_differ_by_half_a_minute(issuer: Issuer) -> None:
    assert await issuer.identify(signed(claims(exp=NOW - 29, nbf=NOW + 29))) == ANN


async def test_tokens_not_signed_by_the_issuer_are_refused(issuer: Issuer) -> None:
    other_key = RSAKey.generate_key(2048, {"kid": "rsa"})
    good = signed(claims())
    head, body, signature = good.split(".")
    forged = unsigned({"alg": "HS256", "kid": "rsa"}, claims())
    seal = hmac.digest(RSA.as_pem(private=False), forged[:-1].encode(), "sha256")

    assert await issuer.identify(signed(claims(), other_key)) is None
    assert await issuer.identify(unsigned({"alg": "none", "kid": "rsa"}, claims())) is None
    assert await issuer.identify(f"{head}.{body}.") is None
    assert await issuer.identify(f"{head}.{body[:-2]}.{signature}") is None
    # The public key taken for an HMAC secret: the oldest trick of all.
    assert await issuer.identify(forged + base64.urlsafe_b64encode(seal).rstrip(b"=").decode()) is None


@pytest.mark.parametrize(
    "token", ["", "..", "a.b.c", "é.é.é", "." * 20_000, "e30.e30.e30", "bnVsbA.bnVsbA.bnVsbA"], ids=range(7)
)
async def test_garbage_is_not_believed(issuer: Issuer, token: str) -> None:
    assert await issuer.identify(token) is None


async def test_a_secret_is_for_hs256_and_a_public_key_for_its_own_kind(clock: MovableClock) -> None:
    secret = OctKey.import_key(SECRET, {"kid": "x"})
    rsa, elliptic = (key.as_pem(private=False).decode() for key in (RSA, ELLIPTIC))

    assert await with_key(SECRET, clock).identify(signed(claims(), secret, "HS256")) == ANN
    assert await with_key(SECRET, clock).identify(signed(claims())) is None
    assert await with_key(rsa, clock).identify(signed(claims())) == ANN
    assert await with_key(rsa.replace("\n", "\\n"), clock).identify(signed(claims())) == ANN
    assert await with_key(rsa, clock).identify(signed(claims(), secret, "HS256")) is None
    assert await with_key(elliptic, clock).identify(signed(claims(), ELLIPTIC, "ES256")) == ANN
    assert await with_key(elliptic, clock).identify(signed(claims())) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0123456789", "too short"),
        ("-----BEGIN PUBLIC KEY-----\nnonsense\n-----END PUBLIC KEY-----", "cannot be read"),
        (RSA.as_pem(private=True).decode(), "private key"),
    ],
    ids=["short", "nonsense", "private"],
)
def test_a_key_that_cannot_be_one_is_refused_at_the_start(text: str, message: str) -> None:
    with pytest.raises(Invalid, match=message) as refusal:
        FixedKey(text)

    assert text not in str(refusal.value)


async def test_keys_are_asked_for_once_and_again_when_one_is_new(
    issuer: Issuer, publisher: Publisher, clock: MovableClock
) -> None:
    await issuer.identify(signed(claims()))
    await issuer.identify(signed(claims()))
    once = publisher.asked
    publisher.keys = [RSA, ELLIPTIC]
    too_soon = await issuer.identify(signed(claims(), ELLIPTIC, "ES256"))
    clock.move(seconds=61)
    later = await issuer.identify(signed(claims(), ELLIPTIC, "ES256"))

    assert once == 1
    assert too_soon is None  # unknown key ids do not cause a request each time
    assert later == ANN
    assert publisher.asked == 2


async def test_keys_are_requested_again_after_the_clock_was_set_back(
    issuer: Issuer, publisher: Publisher, clock: MovableClock
) -> None:
    clock.move(days=1)
    await issuer.identify(signed(claims(exp=NOW + 100_000)))
    publisher.keys = [ELLIPTIC]
    clock.move(days=-1)

    assert await issuer.identify(signed(claims(), ELLIPTIC, "ES256")) == ANN


async def test_a_key_that_was_withdrawn_is_not_believed_for_long(
    issuer: Issuer, publisher: Publisher, clock: MovableClock
) -> None:
    await issuer.identify(signed(claims()))
    publisher.keys = [ELLIPTIC]
    clock.move(minutes=9)
    before = await issuer.identify(signed(claims()))
    clock.move(minutes=1)

    assert before == ANN
    assert await issuer.identify(signed(claims(exp=NOW + 6000))) is None


async def test_an_issuer_that_is_away_is_an_outage_and_known_keys_outlive_it(
    issuer: Issuer, publisher: Publisher, clock: MovableClock
) -> None:
    publisher.is_away = True
    with pytest.raises(Unavailable):
        await issuer.identify(signed(claims()))
    publisher.is_away = False
    clock.move(seconds=61)
    assert await issuer.identify(signed(claims())) == ANN

    publisher.is_away = True
    clock.move(minutes=20)

    assert await issuer.identify(signed(claims(exp=NOW + 6000))) == ANN


async def test_a_secret_that_is_published_is_no_key(clock: MovableClock) -> None:
    async with publish_keys() as publisher, Client(user_agent="test", allow_loopback=True) as client:
        secret = OctKey.import_key(SECRET, {"kid": "oct"})
        publisher.keys = [secret, RSA]
        issuer = Issuer(PublishedKeys(client, publisher.url, clock), clock, name=NAME, audience=AUDIENCE)

        assert await issuer.identify(signed(claims(), secret, "HS256")) is None
        assert await issuer.identify(signed(claims())) == ANN


async def test_keys_are_asked_for_through_the_guard(publisher: Publisher, clock: MovableClock) -> None:
    async with Client(user_agent="test") as client:
        issuer = Issuer(PublishedKeys(client, publisher.url, clock), clock, name=NAME, audience=AUDIENCE)
        with pytest.raises(Unavailable):
            await issuer.identify(signed(claims()))

    assert publisher.asked == 0


@pytest.fixture
def external_accounts(database: Database, clock: MovableClock) -> ExternalAccounts:
    return ExternalAccounts(database, clock, AccountOptions())


@pytest.fixture
async def admin(database: Database, clock: MovableClock) -> User:
    return await create_account(database, clock, email="root@example.com", password=PASSWORD, role=None)


@pytest.mark.database
async def test_who_comes_for_the_first_time_gets_an_account_and_keeps_it(
    external_accounts: ExternalAccounts, admin: User
) -> None:
    first = await external_accounts.account_of(ANN, may_be_first=False)
    moved = await external_accounts.account_of(Identity(NAME, "ann", "other@example.com", True), may_be_first=False)

    assert (first.email, first.role) == ("ann@example.com", Role.READER)
    assert moved == first  # the subject identifies a user, not the email
    assert first.id != admin.id


@pytest.mark.database
async def test_the_same_subject_of_another_issuer_is_another_user(
    external_accounts: ExternalAccounts, admin: User
) -> None:
    first = await external_accounts.account_of(ANN, may_be_first=False)

    other = await external_accounts.account_of(
        Identity("https://other.example", "ann", "ann@other.example", True), may_be_first=False
    )

    assert len({first.id, other.id, admin.id}) == 3


@pytest.mark.database
async def test_a_verified_address_leads_to_the_account_that_has_it(
    external_accounts: ExternalAccounts, admin: User
) -> None:
    came = await external_accounts.account_of(Identity(NAME, "root", "ROOT@example.com", True), may_be_first=False)

    assert came == admin


@pytest.mark.database
async def test_an_unverified_email_is_not_linked_to_an_account(
    external_accounts: ExternalAccounts, admin: User
) -> None:
    assert admin.email == "root@example.com"

    with pytest.raises(EmailTaken):
        await external_accounts.account_of(Identity(NAME, "thief", "root@example.com", False), may_be_first=False)


@pytest.mark.database
async def test_an_account_registered_with_the_email_of_another_becomes_the_owners_alone(
    external_accounts: ExternalAccounts, admin: User, database: Database, clock: MovableClock
) -> None:
    """An attacker registers with the email of another user, who later logs in by OpenID Connect."""
    assert admin
    access = Access(database, clock, AccountOptions())
    laid = await access.register("ann@example.com", PASSWORD, HERE)
    assert isinstance(laid, LoggedIn)
    async with database.as_system() as conn:
        token = await make_token(conn, user=laid.user, name="x", scopes=["read"], now=clock())

    came = await external_accounts.account_of(ANN, may_be_first=False)

    assert token
    assert came.id == laid.user.id
    assert await access.recognise(laid.tokens.access) is None
    with pytest.raises(WrongPassword):
        await access.log_in("ann@example.com", PASSWORD, HERE)
    async with database.as_system() as conn:
        assert await tokens.list_of(conn, user_id=came.id) == []


@pytest.mark.database
@pytest.mark.parametrize("step", ["changes its email", "is deleted"])
async def test_an_account_that_loses_the_email_meanwhile_is_not_linked(
    external_accounts: ExternalAccounts, admin: User, database: Database, clock: MovableClock, step: str
) -> None:
    laid = await Access(database, clock, AccountOptions()).register("ann@example.com", PASSWORD, HERE)
    assert admin
    assert isinstance(laid, LoggedIn)
    async with database.as_system() as conn:
        if step == "is deleted":
            await users.remove(conn, user_id=laid.user.id)
        else:
            await change_email(conn, laid.user, "thief@example.com", site="", now=clock())
        coming = asyncio.create_task(external_accounts.account_of(ANN, may_be_first=False))
        await until_waiting(database)

    came = await coming

    assert came.id != laid.user.id
    assert came.email == "ann@example.com"


@pytest.mark.database
async def test_a_closed_registration_is_closed_to_outsiders_too(
    database: Database, clock: MovableClock, admin: User
) -> None:
    assert admin
    external_accounts = ExternalAccounts(database, clock, AccountOptions(registration=False))

    with pytest.raises(RegistrationClosed):
        await external_accounts.account_of(ANN, may_be_first=True)


@pytest.mark.database
async def test_a_token_does_not_create_the_first_administrator(external_accounts: ExternalAccounts) -> None:
    with pytest.raises(Forbidden):
        await external_accounts.account_of(ANN, may_be_first=False)

    assert (await external_accounts.account_of(ANN, may_be_first=True)).role is Role.SUPER_ADMIN


@pytest.mark.database
async def test_an_unconfirmed_account_is_not_returned_as_such_once_its_owner_has_come(
    external_accounts: ExternalAccounts, admin: User, database: Database, clock: MovableClock
) -> None:
    assert admin
    await Access(database, clock, AccountOptions()).register("ann@example.com", PASSWORD, HERE)

    assert (await external_accounts.account_of(ANN, may_be_first=False)).confirmed_at == clock()


@pytest.mark.database
async def test_an_account_needs_an_address(external_accounts: ExternalAccounts, admin: User) -> None:
    assert admin

    with pytest.raises(Forbidden):
        await external_accounts.account_of(Identity(NAME, "anonymous", "", False), may_be_first=False)
