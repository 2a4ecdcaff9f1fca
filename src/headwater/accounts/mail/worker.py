"""The mailing stage: sends emails about accounts in the background.

Requests only queue them, so that the response time does not reveal whether there is an account. The token of a link is
created when the email is sent.
"""

from collections.abc import Sequence
from datetime import timedelta
from secrets import token_bytes

from headwater.accounts.decide import email_key
from headwater.accounts.mail import store
from headwater.accounts.mail.decide import UNSUBSCRIBE, unsubscribe_code
from headwater.accounts.mail.texts import write_email
from headwater.accounts.mail.types import DIGESTS, NOTICES, WITH_LINK, AccountEmail, MailKind, QueuedMail
from headwater.accounts.secrets import digest, new_token
from headwater.accounts.store import tokens, users
from headwater.db import Database
from headwater.net.mail import Delivery, Mailer
from headwater.observability.log import get_logger
from headwater.types import Clock

log = get_logger()

LEASE = timedelta(minutes=2)
FIRST_WAIT = timedelta(seconds=30)
LONGEST_WAIT = timedelta(hours=1)
ATTEMPTS_MAX = 10


class MailSender:
    name = "mailing"
    concurrency = 2

    def __init__(self, database: Database, mailer: Mailer, clock: Clock, *, link_lifetime: timedelta) -> None:
        self._database, self._mailer, self._clock = database, mailer, clock
        self._link_lifetime = link_lifetime

    async def claim(self, limit: int) -> Sequence[QueuedMail]:
        now = self._clock()
        async with self._database.as_system() as conn:
            return await store.claim(conn, now=now, leased_until=now + LEASE, limit=limit)

    async def work(self, item: QueuedMail) -> None:
        """Write and send one email. Raises DatabaseUnavailable: then it is sent after its lease."""
        email = await self.write(item)
        is_done = email is None or await self._send(item, email)
        async with self._database.as_system() as conn:
            if is_done:
                await store.remove(conn, mail_id=item.id)
            else:
                await store.retry(conn, mail_id=item.id, at=self._clock() + wait(item.attempts))

    async def lag(self) -> timedelta:
        now = self._clock()
        async with self._database.as_system() as conn:
            oldest = await store.oldest_ready(conn, now=now)
        return now - oldest if oldest else timedelta(0)

    async def write(self, mail: QueuedMail) -> AccountEmail | None:
        """The email, with a new token in its link; None if its account or request no longer exists, or its user has
        unsubscribed.

        It is sent to the address of the account, not to the one that was entered: two mailboxes can have one
        `email_key` (`ann@strasse.example`, `ann@straße.example`).
        """
        if mail.kind in NOTICES:
            return write_email(mail, "", to=mail.email)
        now, token = self._clock(), new_token()
        async with self._database.as_system() as conn:
            key = email_key(mail.email)
            found = None if mail.user_id else await users.find_credentials(conn, email_key=key)
            user_id = mail.user_id or (found.user.id if found else None)
            found = await users.lock_credentials(conn, user_id=user_id) if user_id else None
            # Checked after the account is locked: a password reset may have removed this email.
            if found is None or not await store.is_queued(conn, mail_id=mail.id):
                return None
            if mail.kind is MailKind.CONFIRM and found.user.confirmed_at is not None:
                return None
            to = mail.email if mail.kind is MailKind.NEW_EMAIL else found.user.email
            if mail.kind in WITH_LINK:
                until = now + self._link_lifetime
                await tokens.add_mailed(
                    conn, token_hash=digest(token), user_id=found.user.id, purpose=mail.kind, email=to, good_until=until
                )
            elif mail.kind in DIGESTS:
                if not await store.is_digest_wanted(conn, user_id=found.user.id, kind=mail.kind):
                    return None
                key = await tokens.shared_secret(conn, name=UNSUBSCRIBE, value=token_bytes(32))
                token = unsubscribe_code(key, found.user.id)
        return write_email(mail, token, to=to)

    async def _send(self, mail: QueuedMail, email: AccountEmail) -> bool:
        """Whether it is done: sent, or not retried."""
        delivery = await self._mailer.deliver(email.email, email.subject, email.text, unsubscribe=email.unsubscribe)
        if delivery is Delivery.SENT or not self._mailer.has_server:
            return True
        is_hopeless = delivery is Delivery.REFUSED and mail.kind not in NOTICES
        if is_hopeless or mail.attempts >= ATTEMPTS_MAX:
            log.error("email not sent", to=email.email, subject=email.subject, attempts=mail.attempts)
            return True
        return False


def wait(attempts: int) -> timedelta:
    return min(FIRST_WAIT * 2 ** min(attempts, 20), LONGEST_WAIT)
