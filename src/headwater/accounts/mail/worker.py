"""Sending mail about accounts, in the background.

A request only queues, so its answer takes as long for an email without an account as for one with. The token of a link
is made here, at the moment of sending. Whoever dies meanwhile leaves a lease that ends; then the mail is sent again.
"""

from collections.abc import Sequence
from datetime import timedelta

from headwater.accounts.decide import email_key
from headwater.accounts.mail import store
from headwater.accounts.mail.letters import write_letter
from headwater.accounts.mail.types import NOTICES, Letter, MailKind, QueuedMail
from headwater.accounts.secrets import digest, new_token
from headwater.accounts.store import tokens, users
from headwater.accounts.types import Credentials, Purpose
from headwater.db import Connection, Database
from headwater.net.mail import Delivery, Mailer
from headwater.observability.log import get_logger
from headwater.types import Clock

log = get_logger()

LEASE = timedelta(minutes=2)
FIRST_WAIT = timedelta(seconds=30)
LONGEST_WAIT = timedelta(hours=1)
ATTEMPTS_MAX = 10
PURPOSES = {
    MailKind.RESET: Purpose.RESET,
    MailKind.CONFIRM: Purpose.CONFIRM,
    MailKind.NEW_EMAIL: Purpose.EMAIL,
}


class MailSender:
    """The mailing stage."""

    name = "mailing"
    concurrency = 2

    def __init__(self, database: Database, mailer: Mailer, clock: Clock, *, link_lifetime: timedelta) -> None:
        self._database = database
        self._mailer = mailer
        self._clock = clock
        self._link_lifetime = link_lifetime

    async def claim(self, limit: int) -> Sequence[QueuedMail]:
        """Mails that are ready to be sent. Raises DatabaseUnavailable."""
        now = self._clock()
        async with self._database.as_system() as conn:
            return await store.claim(conn, now=now, leased_until=now + LEASE, limit=limit)

    async def work(self, item: QueuedMail) -> None:
        """Write and send one mail. Raises DatabaseUnavailable: then it is sent when its lease has ended."""
        letter = await self.write(item)
        is_done = letter is None or await self._send(item, letter)
        async with self._database.as_system() as conn:
            if is_done:
                await store.done(conn, mail_id=item.id)
            else:
                await store.retry(conn, mail_id=item.id, at=self._clock() + wait(item.attempts))

    async def lag(self) -> timedelta:
        """How long the oldest mail that could be sent has waited."""
        now = self._clock()
        async with self._database.as_system() as conn:
            oldest = await store.oldest_ready(conn, now=now)
        return now - oldest if oldest else timedelta(0)

    async def write(self, mail: QueuedMail) -> Letter | None:
        """The mail with a new token in its link; None when there is nobody to send it to any more.

        What was asked for by email goes to the address of the account, never to the one that was typed: two mailboxes
        can have one `email_key` (`ann@strasse.example`, `ann@straße.example`).
        """
        purpose = PURPOSES.get(mail.kind)
        if mail.kind in NOTICES:
            return write_letter(mail, "", to=mail.email)
        now, token = self._clock(), new_token()
        async with self._database.as_system() as conn:
            found = await _hold_recipient(conn, mail)
            # Asked after the account is locked: who resets the password meanwhile has dropped this mail.
            if found is None or not await store.is_queued(conn, mail_id=mail.id):
                return None
            if mail.kind is MailKind.CONFIRM and found.user.confirmed_at is not None:
                return None
            to = mail.email if purpose is Purpose.EMAIL else found.user.email
            if purpose is None:
                return write_letter(mail, "", to=to)
            await tokens.add_mailed(
                conn,
                token_hash=digest(token),
                user_id=found.user.id,
                purpose=purpose,
                email=to,
                good_until=now + self._link_lifetime,
            )
        return write_letter(mail, token, to=to)

    async def _send(self, mail: QueuedMail, letter: Letter) -> bool:
        """Whether it is sent, or will not be tried again."""
        delivery = await self._mailer.deliver(letter.email, letter.subject, letter.text)
        if delivery is Delivery.SENT or not self._mailer.has_server:
            return True
        is_hopeless = delivery is Delivery.REFUSED and mail.kind not in NOTICES
        if is_hopeless or mail.attempts >= ATTEMPTS_MAX:
            log.error("mail given up", to=letter.email, subject=letter.subject, attempts=mail.attempts)
            return True
        return False


async def _hold_recipient(conn: Connection, mail: QueuedMail) -> Credentials | None:
    if mail.user_id is not None:
        return await users.lock_credentials(conn, user_id=mail.user_id)
    found = await users.find_credentials(conn, email_key=email_key(mail.email))
    return await users.lock_credentials(conn, user_id=found.user.id) if found else None


def wait(attempts: int) -> timedelta:
    """How long until a mail that could not be sent is tried again."""
    return min(FIRST_WAIT * 2 ** min(attempts, 20), LONGEST_WAIT)
