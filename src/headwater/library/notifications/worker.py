"""The stage `notifying`: tells readers of articles that match their rules, at each of their targets.

A digest is queued as an email, at most once a day. Webhooks and push services are untrusted: the guarded client sends
to public addresses only. What fails is retried a few times; then the target is disabled, and its page says why.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import assert_never
from uuid import uuid5

from headwater.accounts.decide import email_key
from headwater.accounts.mail import store as mails
from headwater.accounts.mail.types import MailKind, QueuedMail
from headwater.accounts.store import tokens, users
from headwater.db import Database
from headwater.errors import Invalid
from headwater.ids import new_id
from headwater.library.notifications import store
from headwater.library.notifications.decide import (
    DIGEST_ARTICLES,
    digest_text,
    next_digest_at,
    push_message,
    retry_wait,
    sign_webhook,
    webhook_message,
)
from headwater.library.notifications.operate import TARGETS_MOST
from headwater.library.notifications.push import ServerKey, encrypt, new_server_key, read_push_keys
from headwater.library.notifications.types import DueTarget, WaitingNotifications
from headwater.library.rules.types import NotificationKind
from headwater.net import Client
from headwater.net.types import FetchError
from headwater.observability.log import get_logger
from headwater.text import printable
from headwater.types import Clock, UserId

log = get_logger()

LEASE = timedelta(minutes=2)
SCHEDULED_MAX = timedelta(days=2)  # a digest waits for at most a day
WITHIN = timedelta(seconds=15)
DIGEST_MOST = 1_000  # counted in one email
SENT_AT_ONCE = 20
MOST_OF_USER = 2  # targets at a time: each of a reader's may take WITHIN to answer, and others would wait
SLOW = timedelta(seconds=3)  # an answer that takes longer: see SlowReaders
MAIL_BUSY = timedelta(hours=1)  # the last digest is still waiting for the mail server
REASON_MAX = 300
GONE = frozenset({404, 410})
PUSH = "web push"  # the name of a shared secret


class Notifier:
    name = "notifying"
    concurrency = 60  # most of them wait for servers of readers

    def __init__(self, database: Database, client: Client, clock: Clock, *, site: str) -> None:
        self._database, self._client, self._clock, self._site = database, client, clock, site
        self._server_key: ServerKey | None = None
        self.slow = SlowReaders(self.concurrency // 2)

    async def claim(self, limit: int) -> Sequence[DueTarget]:
        """Targets at which notifications wait. Raises Unavailable."""
        now = self._clock()
        async with self._database.as_system() as conn:
            return await store.claim(
                conn, lease=new_id(), now=now, leased_until=now + LEASE, implausible=now + SCHEDULED_MAX, limit=limit,
                most_of_user=MOST_OF_USER, examined=limit * TARGETS_MOST, slow=self.slow.known,
                most_slow=self.slow.left,
            )  # fmt: skip

    async def work(self, target: DueTarget) -> None:
        """Send what waits at one target. Raises Unavailable."""
        is_digest = target.kind is NotificationKind.EMAIL
        most, shown = (DIGEST_MOST, DIGEST_ARTICLES) if is_digest else (SENT_AT_ONCE, SENT_AT_ONCE)
        async with self._database.as_user(target.user_id) as conn:
            waiting = await store.read_waiting(conn, target_id=target.id, most=most, shown=shown)
        if not waiting.articles:
            await self._settle(target, waiting)
        elif is_digest:
            await self._queue_digest(target, waiting)
        else:
            await self._send(target, waiting)

    async def lag(self) -> timedelta:
        """How long the oldest notification has been due. Raises Unavailable."""
        now = self._clock()
        async with self._database.as_system() as conn:
            oldest = await store.oldest_ready(conn, now=now)
        return max(now - oldest, timedelta(0)) if oldest else timedelta(0)

    async def _settle(self, target: DueTarget, waiting: WaitingNotifications) -> None:
        now = self._clock()
        async with self._database.as_system() as conn:
            await store.settle(conn, target=target, article_ids=waiting.ids, now=now, next_at=self._next(target, now))

    def _next(self, target: DueTarget, now: datetime) -> datetime:
        return next_digest_at(now) if target.kind is NotificationKind.EMAIL else now

    async def _queue_digest(self, target: DueTarget, waiting: WaitingNotifications) -> None:
        """Queue the email and mark its articles as sent, together. Only a confirmed address gets it: another one may be
        a stranger's."""
        now = self._clock()
        async with self._database.as_system() as conn:
            found = await users.find_credentials_by_id(conn, user_id=target.user_id)
            if found is None or found.user.confirmed_at is None:
                await store.give_up(conn, target=target, reason="Your email is not confirmed.")
                return
            if await mails.is_kind_queued(conn, user_id=target.user_id, kind=MailKind.DIGEST):
                await store.postpone(conn, target=target, at=now + MAIL_BUSY)
                return
            if not await store.settle(
                conn, target=target, article_ids=waiting.ids, now=now, next_at=self._next(target, now)
            ):
                return
            text = digest_text(waiting, site=self._site)
            user = found.user
            mail = QueuedMail(new_id(), MailKind.DIGEST, user.email, user.id, self._site, text, now)
            await mails.queue(conn, mail, email_key=email_key(user.email), most=None)

    async def _send(self, target: DueTarget, waiting: WaitingNotifications) -> None:
        try:
            with self.slow.timed(target.user_id):
                status = await self._post(target, waiting)
            reason = f"It answered with {status}."
        except (FetchError, Invalid) as error:
            said = error.detail if isinstance(error, FetchError) else str(error)
            status, reason = None, printable(said)[:REASON_MAX]
        now = self._clock()
        wait = retry_wait(target.failures + 1)
        async with self._database.as_system() as conn:
            if status is not None and 200 <= status < 300:
                await store.settle(conn, target=target, article_ids=waiting.ids, now=now, next_at=now)
            elif target.kind is NotificationKind.PUSH and status in GONE:
                await store.remove_target(conn, target_id=target.id)  # the browser unsubscribed
            elif wait is None or status in GONE:
                await store.give_up(conn, target=target, reason=reason)
            else:
                await store.retry(conn, target=target, at=now + wait, reason=reason)
        log.info("notification sent", kind=target.kind.value, articles=len(waiting.articles), status=status)

    async def _post(self, target: DueTarget, waiting: WaitingNotifications) -> int:
        """The status of the answer. Raises FetchError, Invalid."""
        match target.kind:
            case NotificationKind.WEBHOOK:
                body = json.dumps(webhook_message(waiting.articles, site=self._site)).encode()
                message_id = uuid5(target.id, " ".join(map(str, waiting.ids)))  # the same when it is sent again
                headers = sign_webhook(target.secret or "", str(message_id), self._clock(), body)
            case NotificationKind.PUSH:
                keys = read_push_keys(target.push_key or "", target.push_auth or "")
                body = encrypt(push_message(waiting.articles, waiting.total), keys)
                headers = (await self._key()).headers(target.url, site=self._site, now=self._clock())
            case NotificationKind.EMAIL:
                raise AssertionError("an email is queued")
            case _:
                assert_never(target.kind)
        return (await self._client.send(target.url, body=body, within=WITHIN, headers=headers)).status

    async def _key(self) -> ServerKey:
        if self._server_key is None:
            self._server_key = await find_server_key(self._database)
        return self._server_key


class SlowReaders:
    """Readers whose servers answered slowly the last time. Together they have some of the slots, however many they are:
    the others would wait for all of them."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._sending: Counter[UserId] = Counter()
        self.known: set[UserId] = set()

    @property
    def left(self) -> int:
        return max(0, self._slots - sum(self._sending[one] for one in self.known))

    @contextmanager
    def timed(self, user_id: UserId) -> Iterator[None]:
        """A request to a server of this reader."""
        self._sending[user_id] += 1
        started = time.monotonic()
        try:
            yield
        finally:
            self._sending[user_id] -= 1
            if not self._sending[user_id]:
                del self._sending[user_id]
            if time.monotonic() - started > SLOW.total_seconds():
                self.known.add(user_id)
            else:
                self.known.discard(user_id)


async def find_server_key(database: Database) -> ServerKey:
    """This server's key for push services; made and stored at first use. Raises Unavailable."""
    async with database.transaction() as conn:
        return ServerKey(await tokens.shared_secret(conn, name=PUSH, value=new_server_key()))
