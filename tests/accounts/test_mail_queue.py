"""Queued mail: requests of others never keep a user from resetting or changing their password."""

from collections.abc import AsyncIterator

import pytest

from headwater.accounts import changes as module
from headwater.accounts.access import Access, LoggedIn
from headwater.accounts.mail import store
from headwater.accounts.types import AccountOptions, Visitor
from headwater.db import Database
from headwater.errors import Unavailable
from headwater.net.mail import Mailer, SmtpServer
from tests.accounts.mailbox import a_sender, collect, token_in
from tests.clock import MovableClock
from tests.net.post_box import PostBox, open_post_box

pytestmark = pytest.mark.database

HERE = Visitor("192.0.2.1", "hers")
PASSWORD, NEW, NEWER = "correct horse battery", "another good sentence", "yet another good one"


@pytest.fixture
async def box() -> AsyncIterator[PostBox]:
    async with open_post_box() as box:
        yield box


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(module, "MAIL_WAITING_MAX", 5)
    return 5


def another_visitor(number: int) -> Visitor:
    return Visitor(f"198.51.100.{number}", "another browser")


async def fill_with_resets(access: Access, count: int) -> None:
    for number in range(count):
        await access.ask_for_reset(f"{number}@evil.example", another_visitor(number))
    with pytest.raises(Unavailable):
        await access.ask_for_reset("one-more@evil.example", another_visitor(count))


async def test_a_queue_full_of_strangers_mail_stops_no_reset_and_no_change_of_a_password(
    database: Database, clock: MovableClock, few: int
) -> None:
    access = Access(database, clock, AccountOptions())
    came = await access.register("ada@example.com", PASSWORD, HERE)
    assert isinstance(came, LoggedIn)
    await access.ask_for_reset("ada@example.com", HERE)
    link = token_in((await collect(database, clock))[0])
    await fill_with_resets(access, few)

    await access.reset_password(link, NEW)
    await access.change_password(came.user, NEW, NEWER, keep=None)

    notices = [one for one in await collect(database, clock) if one.subject == "Your Headwater password was changed"]
    assert [one.email for one in notices] == ["ada@example.com"]


async def test_mail_to_new_accounts_does_not_hold_up_links_to_reset_a_password(
    database: Database, clock: MovableClock, few: int
) -> None:
    access = Access(database, clock, AccountOptions(confirm_email=True))
    for number in range(few):
        await access.register(f"{number}@evil.example", PASSWORD, another_visitor(number))
    with pytest.raises(Unavailable):
        await access.register("one-more@evil.example", PASSWORD, another_visitor(few))

    await access.ask_for_reset("0@evil.example", HERE)

    assert any("/auth/reset" in email.text for email in await collect(database, clock))


async def test_a_mail_that_waits_already_is_renewed_when_the_queue_is_full(
    database: Database, clock: MovableClock, few: int
) -> None:
    access = Access(database, clock, AccountOptions())
    await fill_with_resets(access, few)

    await access.ask_for_reset("0@evil.example", HERE)


async def test_a_recipient_whom_the_mail_server_refuses_for_good_leaves_the_queue_at_once(
    database: Database, clock: MovableClock, box: PostBox
) -> None:
    box.refuses = "RCPT"
    access = Access(database, clock, AccountOptions(confirm_email=True))
    await access.register("nobody@evil.example", PASSWORD, HERE)
    sender = a_sender(
        database, clock, Mailer(SmtpServer.parse(f"smtp://127.0.0.1:{box.port}"), "headwater@example.com")
    )

    (mail,) = await sender.claim(10)
    await sender.work(mail)

    async with database.as_system() as conn:
        assert not await store.is_queued(conn, mail_id=mail.id)
