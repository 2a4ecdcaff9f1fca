"""What the mailing stage would send, without a mail server."""

import re
from datetime import timedelta

from headwater.accounts.mail import store
from headwater.accounts.mail.types import AccountEmail
from headwater.accounts.mail.worker import MailSender
from headwater.db import Database
from headwater.net.mail import Mailer
from tests.clock import MovableClock


def a_sender(database: Database, clock: MovableClock, mailer: Mailer | None = None) -> MailSender:
    mailer = mailer or Mailer(None, "headwater@example.com")
    return MailSender(database, mailer, clock, link_lifetime=timedelta(hours=1))


async def deliver(database: Database, clock: MovableClock, mailer: Mailer) -> None:
    """Send everything that waits."""
    sender = a_sender(database, clock, mailer)
    while waiting := await sender.claim(10):
        for mail in waiting:
            await sender.work(mail)


async def collect(database: Database, clock: MovableClock) -> list[AccountEmail]:
    """Everything that waits, in the order in which it was queued; it counts as sent."""
    sender, found = a_sender(database, clock), list[AccountEmail]()
    for mail in sorted(await sender.claim(100), key=lambda mail: mail.id):
        email = await sender.write(mail)
        found += [email] if email else []
        async with database.as_system() as conn:
            await store.remove(conn, mail_id=mail.id)
    return found


def token_in(email: AccountEmail) -> str:
    """The token of the link in a mail."""
    link = re.search(r"token=([\w-]+)", email.text)
    assert link is not None, email.text
    return link[1]
