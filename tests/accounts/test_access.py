"""Coming in and going out, on a real database."""

import asyncio
import base64
from contextlib import suppress
from datetime import timedelta

import pytest

from headwater.accounts.access import Access, AwaitsConfirmation, LoggedIn
from headwater.accounts.decide import LOGIN_PER_NETWORK, account_bucket
from headwater.accounts.mail.types import AccountEmail
from headwater.accounts.secrets import digest
from headwater.accounts.store import attempts, sessions, users
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
from headwater.timekeeping import store as clocks
from tests.accounts.mailbox import collect, token_in
from tests.builders import another_administrator
from tests.clock import MovableClock
from tests.removals import remove_all

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
    async with database.as_system() as conn:
        cur = await conn.execute("SELECT event_type FROM events WHERE user_id = %(id)s", {"id": came.user.id})
        assert await cur.fetchall() == [("user_registered",)]


async def test_of_tokens_and_passwords_only_digests_are_kept(access: Access, database: Database) -> None:
    came = await register(access)

    async with database.as_system() as conn:
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


async def test_guessing_from_one_network_blocks_that_network_only(access: Access, clock: MovableClock) -> None:
    await register(access)
    thief = Visitor("203.0.113.7", "")
    for _ in range(10):
        with pytest.raises(WrongPassword):
            await access.log_in("ada@example.com", "wrong", thief)

    with pytest.raises(TooManyAttempts) as refusal:
        await access.log_in("ada@example.com", PASSWORD, thief)

    assert timedelta(0) < refusal.value.retry_after <= timedelta(minutes=15)
    await access.log_in("ada@example.com", PASSWORD, HERE)
    with pytest.raises(TooManyAttempts):  # the owner's log-in gives the thief no new tries
        await access.log_in("ada@example.com", "wrong", thief)
    clock.move(minutes=16)
    await access.log_in("ada@example.com", PASSWORD, thief)


async def test_guessing_from_many_networks_ends_too_and_the_owners_own_network_still_works(
    access: Access, database: Database, clock: MovableClock
) -> None:
    await register(access)
    bucket = f"login:{account_bucket('ada@example.com')}"
    async with database.as_system() as conn:
        for _ in range(100):
            await attempts.count(conn, bucket=bucket, now=clock(), ends_at=clock() + timedelta(hours=1))

    with pytest.raises(TooManyAttempts, match="set a new one by email"):
        await access.log_in("ada@example.com", PASSWORD, Visitor("203.0.113.7", ""))
    with pytest.raises(WrongPassword):
        await access.log_in("ada@example.com", "wrong", HERE)

    assert isinstance(await access.log_in("ada@example.com", PASSWORD, HERE), LoggedIn)
    await access.ask_for_reset("ada@example.com", Visitor("203.0.113.7", ""))
    (email,) = await collect(database, clock)
    await access.reset_password(token_in(email), "another good one")
    assert isinstance(await access.log_in("ada@example.com", "another good one", Visitor("203.0.113.7", "")), LoggedIn)


@pytest.mark.parametrize("what", ["login", "register", "forgot"])
async def test_one_household_has_one_allowance_whichever_of_its_ipv6_addresses_it_uses(
    access: Access, what: str
) -> None:
    async def attempt(number: int, network: str = "2001:db8:1:2") -> None:
        visitor, email = Visitor(f"{network}::{number:x}", ""), f"user{number}@example.com"
        if what == "login":
            await access.log_in(email, "wrong", visitor)
        elif what == "register":
            await access.register(email, "short" if number < 0 else PASSWORD, visitor)
        else:
            await access.ask_for_reset(email, visitor)

    most = {"login": 50, "register": 10, "forgot": 10}[what]
    for number in range(1, most + 1):
        with suppress(WrongPassword):
            await attempt(number)
    with pytest.raises(TooManyAttempts):
        await attempt(most + 1)

    with suppress(WrongPassword):
        await attempt(most + 2, "2001:db8:1:3")


async def test_successful_log_ins_do_not_use_up_the_limit_of_the_network(access: Access) -> None:
    await register(access)
    for number in range(60):
        if number % 9 == 0:
            with pytest.raises(WrongPassword):
                await access.log_in(f"user{number}@example.com", "wrong", HERE)
        else:
            await access.log_in("ada@example.com", PASSWORD, HERE)


async def test_wrong_passwords_in_one_session_do_not_use_up_the_limit_of_another(access: Access) -> None:
    mine, theirs = await register(access), await log_in(access)
    here, there = await access.recognise(mine.tokens.access), await access.recognise(theirs.tokens.access)
    for _ in range(10):
        with pytest.raises(WrongPassword):
            await access.change_password(mine.user, "wrong", "another good one", keep=there)
    with pytest.raises(TooManyAttempts):
        await access.change_password(mine.user, PASSWORD, "another good one", keep=there)

    await access.change_password(mine.user, PASSWORD, "another good one", keep=here)


async def test_a_network_that_has_guessed_too_often_adds_no_rows_however_many_accounts_it_names(
    access: Access, database: Database, clock: MovableClock
) -> None:
    ends_at = clock() + timedelta(minutes=15)
    async with database.as_system() as conn:
        for _ in range(50):
            await attempts.count(conn, bucket=f"login:{HERE.address}", now=clock(), ends_at=ends_at)

    for number in range(5):
        with pytest.raises(TooManyAttempts):
            await access.log_in(f"{number}@example.com", "wrong", HERE)

    async with database.as_system() as conn:
        cur = await conn.execute("SELECT count(*) FROM attempts")
        assert await cur.fetchone() == (1,)


async def test_guessing_is_slowed_by_address_even_over_many_accounts(
    access: Access, database: Database, clock: MovableClock
) -> None:
    ends_at = clock() + timedelta(minutes=15)
    async with database.as_system() as conn:
        for _ in range(49):
            await attempts.count(conn, bucket=f"login:{HERE.address}", now=clock(), ends_at=ends_at)
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


async def test_requests_at_once_that_bring_the_same_old_token_get_the_same_new_ones(access: Access) -> None:
    came = await register(access)

    renewed = await asyncio.gather(*(access.renew(came.tokens.refresh) for _ in range(5)))

    assert {one[1] for one in renewed if one} == {renewed[0][1] if renewed[0] else None}
    assert renewed[0] is not None
    assert renewed[0][1] is not None
    assert await access.recognise(renewed[0][1].access) is not None


@pytest.mark.parametrize("late", [timedelta(seconds=5), timedelta(seconds=31), timedelta(minutes=2)], ids=str)
async def test_a_lost_answer_to_a_renewal_logs_nobody_out(access: Access, clock: MovableClock, late: timedelta) -> None:
    came = await register(access)
    clock.move(minutes=20)
    lost = await access.renew(came.tokens.refresh)
    assert lost is not None
    clock.now += late

    again = await access.renew(came.tokens.refresh)

    assert again is not None
    assert again[1] == lost[1]
    assert again[1] is not None
    next_one = await access.renew(again[1].refresh)
    assert next_one is not None
    assert next_one[1] is not None
    assert await access.recognise(next_one[1].access) is not None


@pytest.mark.parametrize(("is_used", "grace"), [(True, 30), (False, 180)], ids=["used", "lost"])
async def test_who_brings_an_old_token_again_and_again_does_not_make_it_live_longer(
    access: Access, clock: MovableClock, is_used: bool, grace: int
) -> None:
    came = await register(access)
    renewed = await access.renew(came.tokens.refresh)
    assert renewed is not None
    assert renewed[1] is not None
    if is_used:
        assert await access.recognise(renewed[1].access) is not None
    for _ in range(3):
        clock.move(seconds=grace // 3 - 1)
        assert await access.renew(came.tokens.refresh) is not None
    clock.move(seconds=3)

    assert await access.renew(came.tokens.refresh) is None
    assert await access.renew(renewed[1].refresh) is None


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


async def test_a_thief_who_renews_twice_before_the_owner_comes_back_is_out_when_they_do(
    access: Access, clock: MovableClock
) -> None:
    came = await register(access)
    first = await access.renew(came.tokens.refresh)
    assert first is not None
    assert first[1] is not None
    second = await access.renew(first[1].refresh)
    assert second is not None
    assert second[1] is not None
    assert await access.recognise(second[1].access) is not None
    clock.move(minutes=5)

    assert await access.renew(came.tokens.refresh) is None

    assert await access.recognise(second[1].access) is None
    assert await access.renew(second[1].refresh) is None


async def test_a_refresh_token_that_we_have_not_made_ends_no_session(access: Access) -> None:
    came = await register(access)
    session = await access.recognise(came.tokens.access)
    assert session is not None
    forged = base64.urlsafe_b64encode(session.id.bytes + bytes(16)).rstrip(b"=").decode()

    for token in (f"{forged}.x", "x", "", "é.x", came.tokens.refresh[:20]):
        assert await access.renew(token) is None

    assert await access.recognise(came.tokens.access) is not None


async def test_a_session_that_is_not_renewed_ends(access: Access, clock: MovableClock) -> None:
    came = await register(access)
    clock.move(days=31)

    assert await access.renew(came.tokens.refresh) is None


async def test_a_forgotten_password_is_reset_once_by_mail_and_logs_out_everywhere(
    access: Access, database: Database, clock: MovableClock
) -> None:
    came = await register(access)
    await access.ask_for_reset("ada@example.com", HERE)
    token = token_in((await collect(database, clock))[0])

    await access.reset_password(token, "another good one")

    assert await access.recognise(came.tokens.access) is None
    await access.log_in("ada@example.com", "another good one", HERE)
    with pytest.raises(NotLoggedIn):
        await access.reset_password(token, "yet another one")


async def test_a_mailed_token_ends_and_only_the_last_one_counts(
    access: Access, database: Database, clock: MovableClock
) -> None:
    await register(access)
    tokens: list[str] = []
    for _ in range(2):
        await access.ask_for_reset("ada@example.com", HERE)
        tokens += [token_in(email) for email in await collect(database, clock)]

    with pytest.raises(NotLoggedIn):
        await access.reset_password(tokens[0], "another good one")
    clock.move(hours=2)
    with pytest.raises(NotLoggedIn):
        await access.reset_password(tokens[1], "another good one")


async def test_one_network_asks_for_a_few_mails_an_hour(access: Access) -> None:
    for _ in range(3):
        await access.ask_for_reset("nobody@example.com", HERE)

    with pytest.raises(TooManyAttempts):
        await access.ask_for_reset("nobody@example.com", HERE)


async def test_many_networks_cannot_flood_a_mailbox_and_the_last_link_in_it_is_good(
    access: Access, database: Database, clock: MovableClock
) -> None:
    await register(access)
    emails: list[AccountEmail] = []
    for number in range(20):
        await access.ask_for_reset("ada@example.com", Visitor(f"203.0.113.{number}", ""))
        emails += await collect(database, clock)
        clock.move(minutes=2)

    assert len(emails) == 10
    await access.reset_password(token_in(emails[-1]), "another good one")
    await access.ask_for_reset("ada@example.com", HERE)
    assert "/auth/reset?token=" in (await collect(database, clock))[-1].text


async def test_an_address_changes_once_it_is_shown_to_be_theirs(
    access: Access, database: Database, clock: MovableClock
) -> None:
    came = await register(access)
    await access.ask_for_email(came.user, "lovelace@example.com", PASSWORD)
    link, notice = await collect(database, clock)
    await access.log_in("ada@example.com", PASSWORD, HERE)

    await access.confirm(token_in(link))

    assert (link.email, notice.email) == ("lovelace@example.com", "ada@example.com")
    assert "to lovelace@example.com" in notice.text

    assert (await log_in(access, "lovelace@example.com")).user.id == came.user.id
    with pytest.raises(WrongPassword):
        await access.log_in("ada@example.com", PASSWORD, HERE)


async def test_an_address_is_confirmed_first_where_that_is_demanded(database: Database, clock: MovableClock) -> None:
    access = Access(database, clock, AccountOptions(confirm_email=True))
    came = await access.register("ada@example.com", PASSWORD, HERE)
    first = token_in((await collect(database, clock))[0])
    again = await access.log_in("ada@example.com", PASSWORD, HERE)
    last = token_in((await collect(database, clock))[0])
    assert came == again == AwaitsConfirmation("ada@example.com")

    await access.confirm(last)

    assert (await log_in(access)).user.confirmed_at == clock()
    with pytest.raises(NotLoggedIn):
        await access.confirm(first)


async def test_a_changed_password_ends_every_other_session(access: Access) -> None:
    came = await register(access)
    elsewhere = await log_in(access)
    here = await access.recognise(came.tokens.access)

    with pytest.raises(WrongPassword):
        await access.change_password(came.user, "wrong", "another good one", keep=here)
    issued = await access.change_password(came.user, PASSWORD, "another good one", keep=here)

    assert await access.recognise(elsewhere.tokens.access) is None
    assert issued is not None
    assert await access.recognise(issued.access) is not None
    assert await access.renew(issued.refresh) is not None


async def test_a_changed_password_ends_copies_of_the_cookies_with_which_it_was_changed(access: Access) -> None:
    came = await register(access)
    here = await access.recognise(came.tokens.access)

    await access.change_password(came.user, PASSWORD, "another good one", keep=here)

    assert await access.recognise(came.tokens.access) is None
    assert await access.renew(came.tokens.refresh) is None


async def test_a_deleted_account_leaves_nothing(access: Access, database: Database, clock: MovableClock) -> None:
    came = await register(access)
    await another_administrator(database)

    await access.delete_account(came.user, PASSWORD)

    assert await access.recognise(came.tokens.access) is None
    async with database.as_system() as conn:
        assert [user.email for user in await users.list_all(conn)] == ["root@example.com"]
    await remove_all(database, clock)
    async with database.as_system() as conn:
        for table in ("sessions", "events", "mailed_tokens", "api_tokens", "outgoing_mail"):
            cur = await conn.execute(f"SELECT count(*) FROM {table}")
            assert await cur.fetchone() == (0,), table


async def test_a_person_sees_and_ends_only_their_own_sessions(access: Access, database: Database) -> None:
    ada, bob = await register(access), await register(access, "bob@example.com")
    theirs = await access.recognise(bob.tokens.access)
    assert theirs is not None

    async with database.as_user(ada.user.id) as conn:
        seen = await sessions.list_of(conn, user_id=bob.user.id)
        ended = await sessions.end(conn, session_id=theirs.id)

    assert seen == []
    assert ended == 0
    assert await access.recognise(bob.tokens.access) is not None


async def test_a_clock_that_jumped_ends_no_session_for_good(
    access: Access, database: Database, clock: MovableClock
) -> None:
    async with database.as_system() as conn:
        await clocks.note(conn, now=clock(), is_trusted=True)
    before = await register(access)
    clock.move(days=200)
    await log_in(access)
    clock.move(days=-200)

    session = await access.recognise(before.tokens.access)

    assert session is not None


async def test_what_was_counted_by_a_clock_that_was_ahead_uses_up_no_limit(
    database: Database, clock: MovableClock
) -> None:
    async def count() -> int:
        async with database.as_system() as conn:
            ends_at = clock() + timedelta(hours=1)
            return (await attempts.count(conn, bucket="retries:x", now=clock(), ends_at=ends_at))[0]

    clock.move(days=200)
    await count()
    await count()
    clock.move(days=-200)

    assert [await count(), await count()] == [1, 2]
    clock.move(hours=2)
    assert await count() == 1


async def test_a_network_is_not_refused_for_failures_counted_by_a_clock_that_was_ahead(
    access: Access, clock: MovableClock
) -> None:
    await register(access)
    clock.move(days=200)
    for number in range(LOGIN_PER_NETWORK.most):
        with pytest.raises(WrongPassword):
            await log_in(access, f"{number}@example.com")
    with pytest.raises(TooManyAttempts):
        await log_in(access)
    clock.move(days=-200)

    await log_in(access)


async def test_mail_that_a_clock_which_was_ahead_scheduled_is_sent(
    access: Access, database: Database, clock: MovableClock
) -> None:
    await register(access)
    clock.move(days=200)
    await access.ask_for_reset("ada@example.com", HERE)
    clock.move(days=-200)

    assert len(await collect(database, clock)) == 1
