"""The stage `digests`: writes the emails with unread articles that readers asked for, and queues them.

The email and the time of the next one are written together: a reader gets each digest once, also when a process is
killed in between.
"""

from collections.abc import Sequence
from datetime import timedelta

from headwater.accounts.decide import email_key
from headwater.accounts.mail import store as mails
from headwater.accounts.mail.types import MailKind, QueuedMail
from headwater.accounts.preferences import store
from headwater.accounts.preferences.decide import next_digest_at
from headwater.accounts.preferences.types import DueDigest
from headwater.accounts.store import users
from headwater.db import Database
from headwater.ids import new_id
from headwater.library.browse import browse
from headwater.library.digests.decide import ARTICLES_MOST, digest_text, found_since, last_digest_at
from headwater.library.types import ArticlesQuery, Shelf
from headwater.types import Clock

LEASE = timedelta(minutes=2)


class DigestWriter:
    name = "digests"
    concurrency = 2
    check_interval = timedelta(seconds=30)

    def __init__(self, database: Database, clock: Clock, *, site: str, has_mail_server: bool) -> None:
        self._database, self._clock, self._site = database, clock, site
        self._has_mail_server = has_mail_server

    async def claim(self, limit: int) -> Sequence[DueDigest]:
        """Readers whose digest is due; none without a mail server: then they wait. Raises Unavailable."""
        if not self._has_mail_server:
            return ()
        now = self._clock()
        async with self._database.as_system() as conn:
            return await store.claim_digests(conn, now=now, leased_until=now + LEASE, limit=limit)

    async def work(self, due: DueDigest) -> None:
        """Write and queue one email; none if there is nothing to read. Raises Unavailable."""
        text = await self._write(due)
        now = self._clock()
        async with self._database.as_system() as conn:
            found = await users.find_credentials_by_id(conn, user_id=due.user_id)
            user = found.user if found else None
            is_held = await store.schedule_digest(conn, due=due, at=next_digest_at(due.preferences, now))
            if is_held and text and user is not None and user.confirmed_at is not None:
                mail = QueuedMail(new_id(), MailKind.UNREAD, user.email, user.id, self._site, text, now)
                await mails.queue(conn, mail, email_key=email_key(user.email), most=None)

    async def lag(self) -> timedelta:
        """How long the oldest digest has been due. Raises Unavailable."""
        now = self._clock()
        async with self._database.as_system() as conn:
            oldest = await store.oldest_due_digest(conn, now=now) if self._has_mail_server else None
        return now - oldest if oldest else timedelta(0)

    async def _write(self, due: DueDigest) -> str:
        """Empty if nothing is unread."""
        now, often = self._clock(), due.preferences.email_digest
        query = ArticlesQuery(shelf=Shelf.UNREAD, limit=ARTICLES_MOST)
        async with self._database.as_user(due.user_id) as conn:
            page = await browse(conn, query=query, now=now, groups_stories=due.preferences.groups_stories)
        lines = found_since(page.lines, last_digest_at(due.preferences, now))
        has_more = page.then is not None and lines[-1:] == page.lines[-1:]
        return digest_text(lines, often, has_more=has_more, site=self._site) if lines else ""
