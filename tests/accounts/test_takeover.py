"""A password that is reset or changed ends everything that opened the account before, whatever a thief has prepared."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import pytest

from headwater.accounts.access import Access, LoggedIn
from headwater.accounts.bearers import Bearers, make_token
from headwater.accounts.changes import change_role, give_email, give_password, lock_logged_in, remove_account, sign_out
from headwater.accounts.external import ExternalAccounts
from headwater.accounts.store import sessions, tokens, users
from headwater.accounts.types import AccountOptions, Identity, Role, SessionRow, User, Visitor
from headwater.db import Database
from headwater.errors import EmailTaken, NotLoggedIn, WrongPassword
from tests.accounts.mailbox import a_sender, collect, token_in
from tests.builders import another_administrator
from tests.clock import MovableClock
from tests.owner import until_waiting

pytestmark = pytest.mark.database

HERE, THIEF = Visitor("192.0.2.1", "hers"), Visitor("203.0.113.7", "a thief's")
PASSWORD, NEW = "correct horse battery", "another good sentence"
SITE = "https://reader.example"
THIEFS = Identity("https://issuer.example", "thief", "ada@example.com", True)


@dataclass
class Account:
    """Somebody's account, and who has got into it."""

    access: Access
    database: Database
    clock: MovableClock
    user: User
    own: SessionRow

    async def reset(self) -> None:
        await self.access.ask_for_reset(self.user.email, HERE)
        email = next(one for one in await collect(self.database, self.clock) if "/auth/reset" in one.text)
        await self.access.reset_password(token_in(email), NEW)

    async def change(self) -> None:
        await self.access.change_password(self.user, PASSWORD, NEW, keep=self.own)

    async def set_by_operator(self) -> None:
        await give_password(self.database, self.clock, email=self.user.email, password=NEW, site=SITE)

    async def token(self) -> str:
        async with self.database.as_system() as conn:
            user = await lock_logged_in(conn, self.own)
            return await make_token(conn, user=user, name="x", scopes=["admin"], now=self.clock())


@pytest.fixture
async def account(database: Database, clock: MovableClock) -> Account:
    access = Access(database, clock, AccountOptions(), site=SITE)
    came = await access.register("ada@example.com", PASSWORD, HERE)
    assert isinstance(came, LoggedIn)
    async with database.as_system() as conn:
        await users.confirm(conn, user_id=came.user.id, now=clock())
    own = await access.recognise(came.tokens.access)
    assert own is not None
    return Account(access, database, clock, came.user, own)


WAYS: list[Callable[[Account], Awaitable[None]]] = [Account.reset, Account.change, Account.set_by_operator]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_nothing_that_a_thief_has_prepared_survives_a_new_password(
    account: Account, way: Callable[[Account], Awaitable[None]]
) -> None:
    access, database, clock = account.access, account.database, account.clock
    session = await access.log_in("ada@example.com", PASSWORD, THIEF)
    assert isinstance(session, LoggedIn)
    token = await account.token()
    await access.ask_for_email(account.user, "thief@example.com", PASSWORD)
    change_link = token_in((await collect(database, clock))[0])
    await access.ask_for_reset("ada@example.com", THIEF)
    reset_link = token_in((await collect(database, clock))[0])
    external_accounts = ExternalAccounts(database, clock, AccountOptions())
    assert (await external_accounts.account_of(THIEFS, may_be_first=False)).id == account.user.id
    # Also what is queued but not yet sent.
    await access.ask_for_email(account.user, "thief2@example.com", PASSWORD)

    await way(account)

    assert await access.recognise(session.tokens.access) is None
    assert await access.renew(session.tokens.refresh) is None
    assert await Bearers(database, clock, None).recognise(token) is None
    for link in (change_link, reset_link):
        with pytest.raises(NotLoggedIn):
            await access.confirm(link)
        with pytest.raises(NotLoggedIn):
            await access.reset_password(link, "the thief's own one")
    async with database.as_system() as conn:
        assert await users.find_identity(conn, issuer=THIEFS.issuer, subject=THIEFS.subject) is None
    with pytest.raises(WrongPassword):
        await access.log_in("ada@example.com", PASSWORD, THIEF)
    emails = await collect(database, clock)
    assert [one.email for one in emails if "thief2" in one.email] == []
    notices = [one for one in emails if one.subject == "Your Headwater password was changed"]
    assert [one.email for one in notices] == ["ada@example.com"]
    assert f"{SITE}/auth/forgot" in notices[0].text


async def test_who_changes_their_password_stays_logged_in_where_they_do_it(account: Account) -> None:
    await account.change()

    async with account.database.as_system() as conn:
        assert [one.id for one in await sessions.list_of(conn, user_id=account.user.id)] == [account.own.id]


async def test_a_changed_email_ends_mailed_links_and_tells_the_old_address(account: Account) -> None:
    access = account.access
    await access.ask_for_reset("ada@example.com", HERE)
    reset_link = token_in((await collect(account.database, account.clock))[0])
    await access.ask_for_email(account.user, "lovelace@example.com", PASSWORD)
    link = token_in((await collect(account.database, account.clock))[0])
    await access.ask_for_reset("ada@example.com", HERE)  # waits to be sent

    await access.confirm(link)

    with pytest.raises(NotLoggedIn):
        await access.reset_password(reset_link, NEW)
    (notice,) = await collect(account.database, account.clock)
    assert (notice.email, notice.subject) == ("ada@example.com", "Your Headwater email was changed")
    assert "lovelace@example.com" in notice.text
    assert "headwater user email" in notice.text


@pytest.mark.parametrize("by_operator", [False, True])
async def test_a_thief_who_registers_the_old_email_and_deletes_that_account_stops_no_notice(
    account: Account, *, by_operator: bool
) -> None:
    access, database, clock = account.access, account.database, account.clock
    await access.ask_for_email(account.user, "thief@example.com", PASSWORD)
    await access.confirm(token_in((await collect(database, clock))[0]))
    other = await access.register("ada@example.com", "the thief's own one", THIEF)
    assert isinstance(other, LoggedIn)
    await access.ask_for_reset("ada@example.com", THIEF)

    if by_operator:
        async with database.as_system() as conn:
            await remove_account(conn, email="ada@example.com")
    else:
        await access.delete_account(other.user, "the thief's own one")

    emails = [(one.email, one.subject) for one in await collect(database, clock)]
    assert emails == [("ada@example.com", "Your Headwater email was changed")]


async def test_the_operator_gives_a_stolen_account_its_email_back(account: Account) -> None:
    await account.access.ask_for_email(account.user, "thief@example.com", PASSWORD)
    await account.access.confirm(token_in((await collect(account.database, account.clock))[0]))

    await give_email(account.database, account.clock, email="thief@example.com", new="ada@example.com", site=SITE)

    await account.reset()
    assert isinstance(await account.access.log_in("ada@example.com", NEW, HERE), LoggedIn)


async def test_an_email_that_was_taken_meanwhile_is_refused_and_changes_nothing(account: Account) -> None:
    await account.access.ask_for_email(account.user, "bob@example.com", PASSWORD)
    link = token_in((await collect(account.database, account.clock))[0])
    await account.access.register("BOB@example.com", PASSWORD, THIEF)

    with pytest.raises(EmailTaken):
        await account.access.confirm(link)

    assert isinstance(await account.access.log_in("ada@example.com", PASSWORD, HERE), LoggedIn)


async def test_an_account_that_was_registered_in_wait_is_its_address_owners_after_a_reset(account: Account) -> None:
    """Somebody registers another's address by an outside log-in that verifies nothing, and waits for its owner."""
    external_accounts = ExternalAccounts(account.database, account.clock, AccountOptions())
    laid = Identity("https://issuer.example", "waits", "victim@example.com", is_email_verified=False)
    await external_accounts.account_of(laid, may_be_first=False)

    await account.access.ask_for_reset("victim@example.com", HERE)
    await account.access.reset_password(token_in((await collect(account.database, account.clock))[0]), NEW)

    with pytest.raises(EmailTaken):
        await external_accounts.account_of(laid, may_be_first=False)


async def test_a_lowered_role_takes_its_admin_tokens_along(account: Account) -> None:
    token = await account.token()
    await another_administrator(account.database)
    for role in (Role.READER, Role.SUPER_ADMIN):
        async with account.database.as_system() as conn:
            await change_role(conn, user_id=account.user.id, role=role)

    assert await Bearers(account.database, account.clock, None).recognise(token) is None


# What runs at the same moment.


async def locked_while(account: Account, step: Callable[[], Coroutine[Any, Any, object]]) -> object:
    """A reset that has locked the account but not ended yet; `step` begins meanwhile. Returns what became of it."""
    await account.access.ask_for_reset("ada@example.com", HERE)
    email = next(one for one in await collect(account.database, account.clock) if "/auth/reset" in one.text)
    async with account.database.as_system() as conn:
        await users.lock_credentials(conn, user_id=account.user.id)
        resetting = asyncio.create_task(account.access.reset_password(token_in(email), NEW))
        await until_waiting(account.database, 1)
        going = asyncio.create_task(step())
        await until_waiting(account.database, 2)
    await resetting
    return (await asyncio.gather(going, return_exceptions=True))[0]


async def test_a_log_in_that_was_checked_before_a_reset_opens_nothing_after_it(account: Account) -> None:
    ended = await locked_while(account, lambda: account.access.log_in("ada@example.com", PASSWORD, THIEF))

    assert isinstance(ended, WrongPassword)
    async with account.database.as_system() as conn:
        assert await sessions.list_of(conn, user_id=account.user.id) == []


async def test_an_account_is_not_deleted_by_the_password_that_a_reset_ends(account: Account) -> None:
    await another_administrator(account.database)

    ended = await locked_while(account, lambda: account.access.delete_account(account.user, PASSWORD))

    assert isinstance(ended, WrongPassword)
    assert isinstance(await account.access.log_in("ada@example.com", NEW, HERE), LoggedIn)


async def test_who_took_over_a_session_without_the_password_uses_up_no_change_of_the_email(account: Account) -> None:
    for _ in range(4):
        with pytest.raises(WrongPassword):
            await account.access.ask_for_email(account.user, "thief@example.com", "a guess", session=account.own)

    await account.access.ask_for_email(account.user, "ada@new.example", PASSWORD)

    emails = await collect(account.database, account.clock)
    assert [one.email for one in emails] == ["ada@new.example", "ada@example.com"]


async def test_a_token_that_is_made_during_a_reset_is_not_there_after_it(account: Account) -> None:
    ended = await locked_while(account, account.token)

    assert isinstance(ended, NotLoggedIn)
    async with account.database.as_system() as conn:
        assert await tokens.list_of(conn, user_id=account.user.id) == []


async def test_a_token_that_is_made_while_its_user_is_logged_out_everywhere_is_not_there_after_it(
    account: Account,
) -> None:
    async def log_out() -> None:
        async with account.database.as_system() as conn:
            await sign_out(conn, user_id=account.user.id)

    async with account.database.as_system() as conn:
        user = await lock_logged_in(conn, account.own)
        await make_token(conn, user=user, name="x", scopes=["read"], now=account.clock())
        logging_out = asyncio.create_task(log_out())
        # It waits for the account, or is over: then it has seen no token.
        waiting = asyncio.create_task(until_waiting(account.database, 1))
        await asyncio.wait({logging_out, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
    await logging_out

    async with account.database.as_system() as conn:
        assert await tokens.list_of(conn, user_id=account.user.id) == []


async def test_a_link_that_is_about_to_be_mailed_during_a_reset_is_not_made(account: Account) -> None:
    await account.access.ask_for_email(account.user, "thief@example.com", PASSWORD)
    sender = a_sender(account.database, account.clock)
    (mail,) = [one for one in await sender.claim(10) if one.email == "thief@example.com"]

    assert await locked_while(account, lambda: sender.write(mail)) is None


async def test_an_email_change_and_a_reset_at_once_end_in_one_of_the_two(account: Account) -> None:
    await account.access.ask_for_email(account.user, "thief@example.com", PASSWORD)
    link = token_in((await collect(account.database, account.clock))[0])

    ended = await locked_while(account, lambda: account.access.confirm(link))

    assert isinstance(ended, NotLoggedIn)
    assert isinstance(await account.access.log_in("ada@example.com", NEW, HERE), LoggedIn)
