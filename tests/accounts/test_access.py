"""Coming in and going out, on a real database."""

from datetime import timedelta

import pytest

from headwater.accounts import store
from headwater.accounts.access import Access, LoggedIn, Mailed
from headwater.accounts.secrets import digest
from headwater.accounts.types import AccountOptions, Role, Visitor
from headwater.db import Database
from headwater.errors import (
    EmailTaken,
    Invalid,
    NotLoggedIn,
    RegistrationClosed,
    TooManyAttempts,
    WrongPassword,
)
from tests.builders import another_administrator
from tests.clock import MovableClock

pytestmark = pytest.mark.database

HERE = Visitor("192.0.2.1", "a browser")
PASSWORD = "correct horse battery"


@pytest.fixture
def access(database: Database, clock: MovableClock) -> Access:
    return Access(database, clock, AccountOptions())


async def register(access: Access, email: str = "ada@example.com") -> LoggedIn:
    came = await access.register(email, PASSWORD, HERE)
    assert isinstance(came, LoggedIn)
    return came


async def log_in(access: Access, email: str = "ada@example.com", password: str = PASSWORD) -> LoggedIn:
    came = await access.log_in(email, password, HERE)
    assert isinstance(came, LoggedIn)
    return came


async def test_the_first_account_runs_the_place_and_the_second_does_not(access: Access) -> None:
    first, second = await register(access), await register(access, "bob@example.com")

    assert first.user.role is Role.SUPER_ADMIN
    assert second.user.role is Role.READER


async def test_registering_lets_in_and_is_remembered(access: Access, database: Database) -> None:
    came = await register(access)

    session = await access.recognise(came.tokens.access)

    assert session is not None
    assert session.user == came.user
    async with database.transaction() as conn:
        cur = await conn.execute("SELECT event_type FROM events WHERE user_id = %(id)s", {"id": came.user.id})
        assert await cur.fetchall() == [("user_registered",)]


async def test_of_tokens_and_passwords_only_digests_are_kept(access: Access, database: Database) -> None:
    came = await register(access)

    async with database.transaction() as conn:
        cur = await conn.execute("SELECT password_hash, sessions::text FROM users JOIN sessions ON user_id = users.id")
        password_hash, session = (await cur.fetchall())[0]

    assert password_hash.startswith("$argon2id$")
    assert came.tokens.access not in session
    assert digest(came.tokens.refresh).hex() in session


async def test_an_address_has_one_account_however_it_is_spelled(access: Access) -> None:
    await register(access)

    with pytest.raises(EmailTaken):
        await register(access, "ADA@Example.com")


@pytest.mark.parametrize(
    ("email", "password", "message"),
    [
        ("", PASSWORD, "Email is required"),
        ("nobody", PASSWORD, "Invalid email address"),
        ("a b@example.com", PASSWORD, "Invalid email address"),
        ("ada@example.com\r\nBcc: all@example.com", PASSWORD, "Invalid email address"),
        ("ada@" + "x" * 250 + ".com", PASSWORD, "Invalid email address"),
        ("ada@example.com", "", "Password is required"),
        ("ada@example.com", "short", "Password must have at least 8 characters"),
        ("ada@example.com", "password", "This password is too easy to guess"),
        ("ada@example.com", "Ada@Example.com", "This password is too easy to guess"),
        ("ada@example.com", "x" * 1025, "Password must have at most 1024 characters"),
    ],
    ids=["none", "no-at", "space", "header", "long", "no-password", "short", "common", "email", "novel"],
)
async def test_what_cannot_be_an_account_is_refused_with_a_reason(
    access: Access, email: str, password: str, message: str
) -> None:
    with pytest.raises(Invalid, match=message):
        await access.register(email, password, HERE)


async def test_a_closed_registration_still_takes_the_first(database: Database, clock: MovableClock) -> None:
    access = Access(database, clock, AccountOptions(registration=False))
    await register(access)

    with pytest.raises(RegistrationClosed):
        await register(access, "bob@example.com")


async def test_logging_in_takes_the_right_password(access: Access) -> None:
    came = await register(access)

    again = await log_in(access, " Ada@example.com ")

    assert again.user.id == came.user.id
    with pytest.raises(WrongPassword):
        await access.log_in("ada@example.com", "wrong", HERE)
    with pytest.raises(WrongPassword):
        await access.log_in("nobody@example.com", PASSWORD, HERE)


async def test_guessing_is_slowed_by_account_even_from_many_addresses(access: Access, clock: MovableClock) -> None:
    await register(access)
    for turn in range(10):
        with pytest.raises(WrongPassword):
            await access.log_in("ada@example.com", "wrong", Visitor(f"192.0.2.{turn}", ""))

    with pytest.raises(TooManyAttempts) as refusal:
        await access.log_in("ada@example.com", PASSWORD, HERE)

    assert timedelta(0) < refusal.value.retry_after <= timedelta(minutes=15)
    clock.move(minutes=16)
    await access.log_in("ada@example.com", PASSWORD, HERE)


async def test_guessing_is_slowed_by_address_even_over_many_accounts(
    access: Access, database: Database, clock: MovableClock
) -> None:
    ends_at = clock() + timedelta(minutes=15)
    async with database.transaction() as conn:
        for _ in range(49):
            await store.count_attempt(conn, bucket=f"login:{HERE.address}", now=clock(), ends_at=ends_at)
    with pytest.raises(WrongPassword):
        await access.log_in("nobody@example.com", "wrong", HERE)

    with pytest.raises(TooManyAttempts):
        await access.log_in("another@example.com", "wrong", HERE)


async def test_the_short_token_ends_and_the_long_one_renews_it(access: Access, clock: MovableClock) -> None:
    came = await register(access)
    clock.move(minutes=15)
    assert await access.recognise(came.tokens.access) is None

    renewed = await access.renew(came.tokens.refresh)

    assert renewed is not None
    assert renewed[1] is not None
    assert await access.recognise(renewed[1].access) is not None


async def test_two_requests_at_once_may_bring_the_same_old_token(access: Access, clock: MovableClock) -> None:
    came = await register(access)
    await access.renew(came.tokens.refresh)
    clock.move(seconds=5)

    again = await access.renew(came.tokens.refresh)

    assert again is not None
    assert again[1] is None


async def test_a_token_that_comes_back_late_was_stolen_and_ends_the_session(
    access: Access, clock: MovableClock
) -> None:
    came = await register(access)
    renewed = await access.renew(came.tokens.refresh)
    assert renewed is not None
    assert renewed[1] is not None
    clock.move(minutes=5)

    assert await access.renew(came.tokens.refresh) is None

    assert await access.recognise(renewed[1].access) is None
    assert await access.renew(renewed[1].refresh) is None


async def test_a_session_nobody_renews_ends(access: Access, clock: MovableClock) -> None:
    came = await register(access)
    clock.move(days=31)

    assert await access.renew(came.tokens.refresh) is None


async def test_a_forgotten_password_is_reset_once_by_mail_and_logs_out_everywhere(access: Access) -> None:
    came = await register(access)
    mailed = await access.ask_for_reset("ada@example.com", HERE)
    assert mailed is not None

    await access.reset_password(mailed.token, "another good one")

    assert await access.recognise(came.tokens.access) is None
    await access.log_in("ada@example.com", "another good one", HERE)
    with pytest.raises(NotLoggedIn):
        await access.reset_password(mailed.token, "yet another one")


async def test_a_mailed_token_ends_and_only_the_last_one_counts(access: Access, clock: MovableClock) -> None:
    await register(access)
    first = await access.ask_for_reset("ada@example.com", HERE)
    last = await access.ask_for_reset("ada@example.com", HERE)
    assert first is not None
    assert last is not None

    with pytest.raises(NotLoggedIn):
        await access.reset_password(first.token, "another good one")
    clock.move(hours=2)
    with pytest.raises(NotLoggedIn):
        await access.reset_password(last.token, "another good one")


async def test_nobody_is_mailed_more_than_a_few_times_an_hour(access: Access) -> None:
    assert await access.ask_for_reset("nobody@example.com", HERE) is None
    await access.ask_for_reset("nobody@example.com", HERE)
    await access.ask_for_reset("nobody@example.com", HERE)

    with pytest.raises(TooManyAttempts):
        await access.ask_for_reset("nobody@example.com", HERE)


async def test_an_address_changes_once_it_is_shown_to_be_theirs(access: Access) -> None:
    came = await register(access)
    mailed = await access.ask_for_email(came.user, "lovelace@example.com", PASSWORD)
    await access.log_in("ada@example.com", PASSWORD, HERE)

    await access.confirm(mailed.token)

    assert (await log_in(access, "lovelace@example.com")).user.id == came.user.id
    with pytest.raises(WrongPassword):
        await access.log_in("ada@example.com", PASSWORD, HERE)


async def test_an_address_is_confirmed_first_where_that_is_demanded(database: Database, clock: MovableClock) -> None:
    access = Access(database, clock, AccountOptions(confirm_email=True))
    mailed = await access.register("ada@example.com", PASSWORD, HERE)
    again = await access.log_in("ada@example.com", PASSWORD, HERE)
    assert isinstance(mailed, Mailed)
    assert isinstance(again, Mailed)

    await access.confirm(again.token)

    assert (await log_in(access)).user.confirmed_at == clock()
    with pytest.raises(NotLoggedIn):
        await access.confirm(mailed.token)


async def test_a_changed_password_ends_every_other_session(access: Access) -> None:
    came = await register(access)
    elsewhere = await log_in(access)
    here = await access.recognise(came.tokens.access)

    with pytest.raises(WrongPassword):
        await access.change_password(came.user, "wrong", "another good one", keep=here)
    await access.change_password(came.user, PASSWORD, "another good one", keep=here)

    assert await access.recognise(elsewhere.tokens.access) is None
    assert await access.recognise(came.tokens.access) is not None


async def test_a_deleted_account_leaves_nothing(access: Access, database: Database) -> None:
    came = await register(access)
    await another_administrator(database)

    await access.delete_account(came.user, PASSWORD)

    async with database.transaction() as conn:
        assert [user.email for user in await store.list_users(conn)] == ["root@example.com"]
        for table in ("sessions", "events", "mailed_tokens", "api_tokens"):
            cur = await conn.execute(f"SELECT count(*) FROM {table}")
            assert await cur.fetchone() == (0,), table


async def test_a_person_sees_and_ends_only_their_own_sessions(access: Access, database: Database) -> None:
    ada, bob = await register(access), await register(access, "bob@example.com")
    theirs = await access.recognise(bob.tokens.access)
    assert theirs is not None

    async with database.as_user(ada.user.id) as conn:
        seen = await store.list_sessions(conn, user_id=bob.user.id)
        ended = await store.end_session(conn, session_id=theirs.id)

    assert seen == []
    assert ended == 0
    assert await access.recognise(bob.tokens.access) is not None
