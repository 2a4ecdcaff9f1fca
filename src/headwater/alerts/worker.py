"""The alerting stage: read the facts, open and end incidents, send messages. One evaluation at a time on all machines.
Messages are written in the transaction that opens or ends an incident, and sent after it. If the process dies in
between, the message is sent again with the same id when its lease has ended."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from headwater.alerts.decide import changes, due_notices, holding, wait
from headwater.alerts.store import facts as facts_store
from headwater.alerts.store import incidents
from headwater.alerts.store import messages as messages_store
from headwater.alerts.types import MAIL, OF_A_FEED, AlertOptions, Evaluation, Facts, Incident, IncidentChanges, Message
from headwater.alerts.wording import payload_of, subject_of, text_of
from headwater.db import Connection, Database
from headwater.net.mail import Mailer
from headwater.net.webhook import post_json
from headwater.observability import metrics
from headwater.observability.log import get_logger
from headwater.timekeeping import store as clocks
from headwater.timekeeping.decide import clock_problem
from headwater.types import Clock

log = get_logger()

CLAIM_EVERY = timedelta(seconds=5)
LEASE = timedelta(minutes=2)  # of a message
INCIDENTS_KEPT = timedelta(days=365)


class Alerter:
    name = "alerting"
    concurrency = 2

    def __init__(self, database: Database, mailer: Mailer, clock: Clock, options: AlertOptions) -> None:
        self._database, self._mailer, self._clock = database, mailer, clock
        self._options = options
        self._claim_at: datetime | None = None
        self._evaluated_at: datetime | None = None

    async def claim(self, limit: int) -> Sequence[Evaluation | Message]:
        """Messages to be sent, and an evaluation when one is due. Raises DatabaseUnavailable."""
        now = self._clock()
        if self._claim_at is not None and timedelta(0) < self._claim_at - now <= CLAIM_EVERY:
            return ()  # a later time was set by a clock that was ahead
        async with self._database.transaction() as conn:
            self._evaluated_at = await facts_store.evaluated_at(conn)
            due = [Evaluation()] if self._is_due(self._evaluated_at, now) else []
            messages = await messages_store.claim(
                conn, channels=self._options.channels, now=now, leased_until=now + LEASE, limit=limit - len(due)
            )
        self._claim_at = None if messages else now + min(CLAIM_EVERY, self._options.every)
        return [*due, *messages]

    async def work(self, item: Evaluation | Message) -> None:
        """Evaluate, or send a message. Raises DatabaseUnavailable: then it is done again."""
        if isinstance(item, Message):
            await self._send(item)
        else:
            await self.evaluate()

    async def lag(self) -> timedelta:
        due = self._evaluated_at + self._options.every if self._evaluated_at else self._clock()
        return max(self._clock() - due, timedelta(0))

    async def evaluate(self) -> IncidentChanges | None:
        """Evaluate once; None if another process does, or has just done so. Raises DatabaseUnavailable."""
        now = self._clock()
        async with self._database.transaction() as conn:
            if not await facts_store.try_lock(conn) or not self._is_due(await facts_store.evaluated_at(conn), now):
                return None
            problem = clock_problem(now, await clocks.read(conn), self._options.clock)
            facts = await facts_store.read_facts(conn, now=now, limits=self._options.thresholds)
            facts = replace(facts, clock_problem=problem)
            decided, begun = await self._decide(conn, facts)
            await facts_store.save(conn, facts=facts)
            await self._write_messages(conn, now)
            if problem is None:
                before = now - INCIDENTS_KEPT
                await facts_store.remove_old(conn, samples_before=now - self._window, incidents_before=before)
        self._claim_at = None  # new messages are sent at once
        for one in begun:
            write = log.warning if one.severity == "warning" else log.error
            write("incident began", condition=one.condition.value, subject=one.subject, summary=one.summary)
        for one in decided.ended:
            log.info("incident ended", condition=one.condition.value, subject=one.subject)
        return decided

    @property
    def _window(self) -> timedelta:
        limits = self._options.thresholds
        return max(limits.queue_window, limits.stage_stopped)

    def _is_due(self, evaluated_at: datetime | None, now: datetime) -> bool:
        # A process whose clock is far ahead must not keep all others from evaluating.
        return evaluated_at is None or abs(now - evaluated_at) >= self._options.every

    async def _decide(self, conn: Connection, facts: Facts) -> tuple[IncidentChanges, Sequence[Incident]]:
        now = facts.sample.at
        past = await facts_store.list_samples(conn, after=now - self._window)
        holds = holding(facts, past, self._options.thresholds)
        decided = changes(await incidents.list_open(conn), holds, now, self._options.settle)
        begun = await incidents.add(conn, holds=decided.began, now=now)
        await incidents.update(conn, incidents=decided.going_on)
        await incidents.end(conn, incidents=decided.ended, now=now)
        return decided, begun

    async def _write_messages(self, conn: Connection, now: datetime) -> None:
        channels = self._options.channels
        await messages_store.add_pending(conn, channels=channels)
        unsent = await messages_store.list_pending(conn, channels=channels)
        feeds_sent_at = await messages_store.last_feed_messages(conn, channels=channels)
        for channel, notices in due_notices(unsent, feeds_sent_at, now, self._options.digest).items():
            of_feeds = any(notice.incident.condition in OF_A_FEED for notice in notices)
            await messages_store.add(conn, channel=channel, notices=notices, is_of_feeds=of_feeds, now=now)

    async def _send(self, message: Message) -> None:
        error = await send(message, self._mailer, self._options)
        kind = message.channel.partition(":")[0]
        metrics.ALERT_MESSAGES.labels(channel=kind, outcome="failed" if error else "sent").inc()
        now, until = self._clock(), self._clock() + wait(message.attempts)
        async with self._database.transaction() as conn:
            if error is None:
                await messages_store.set_sent(conn, message_id=message.id, now=now)
                return
            await messages_store.set_failed(conn, message_id=message.id, until=until, error=error)
        details = {"attempts": message.attempts, "error": error, "next_try": until.isoformat()}
        log.warning("alert not sent", channel=message.channel, **details)


async def send(message: Message, mailer: Mailer, options: AlertOptions) -> str | None:
    """Send a message to its channel. None if it was accepted, else the error."""
    if not message.channel.startswith(MAIL):
        assert options.webhook_url is not None, "only what is configured is claimed"
        headers = {"Idempotency-Key": str(message.id)}
        return await post_json(options.webhook_url, payload_of(message, site=options.site), headers=headers)
    address, text = message.channel.removeprefix(MAIL), text_of(message, site=options.site)
    sent = await mailer.send(address, subject_of(message), text, message_id=f"<{message.id}@headwater.alerts>")
    return None if sent else "The mail server did not accept it; see the log."
