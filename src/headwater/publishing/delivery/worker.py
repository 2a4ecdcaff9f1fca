"""Delivering: leases a channel, sends its deliveries in the order of revisions, and writes what became of each.

A destination that fails makes its whole channel wait, so that the order is kept. A single message that it refuses is
set aside with the reason, and the others go on.
"""

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from headwater.channels.decide import BATCH_DEFAULT
from headwater.channels.store import deliveries
from headwater.channels.store.deliveries import DueDeliveries, LeasedChannel
from headwater.channels.types import DeliveryRow, DestinationKind, delivery_id
from headwater.channels.visible import find_visible
from headwater.db import Connection, Database
from headwater.documents import store as documents
from headwater.errors import Invalid
from headwater.ids import new_id
from headwater.net import Client
from headwater.observability import metrics
from headwater.observability.log import get_logger
from headwater.publishing import store
from headwater.publishing.delivery import decide
from headwater.publishing.delivery.types import (
    Accepted,
    BatchResult,
    ContentRefused,
    DeliveringOptions,
    DeliveryReport,
    Destination,
    DestinationFailed,
    OutgoingMessage,
    SendOutcome,
)
from headwater.publishing.destinations.opened import OpenDestinations
from headwater.publishing.message import ArticleRecord, message_of
from headwater.publishing.worker import Indexer
from headwater.timekeeping import store as clocks
from headwater.types import ArticleId, Clock

log = get_logger()

SWEPT_EVERY: Final = timedelta(minutes=1)
SWEPT_AT_ONCE: Final = 5_000
GONE: Final = "The article was deleted before it was sent, or is no longer public."
READ_AT_ONCE: Final = 1_000  # deliveries of a channel without a destination


@dataclass(frozen=True, slots=True)
class DueSweep:
    """Old deliveries are to be deleted."""


@dataclass(frozen=True, slots=True)
class DueDocuments:
    """Something waits for the search index, or it is to be prepared."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """The first of what is due, and the records of their articles, without those that no longer exist or are hidden."""

    due: DueDeliveries
    rows: Sequence[DeliveryRow]  # as many as fit into one request
    records: Mapping[ArticleId, ArticleRecord]

    @property
    def last(self) -> int:
        return self.rows[-1].revision

    @property
    def is_whole(self) -> bool:
        return len(self.rows) == len(self.due.rows)

    @property
    def has_next(self) -> bool:
        """Whether the next can be read before this one is settled."""
        return self.is_whole and bool(self.rows) and not self.due.is_replay and not self.due.is_last


@dataclass(slots=True)
class _Turn:
    """How far a channel is in its turn."""

    leased_until: datetime
    ends_at: float  # of the monotonic clock
    delivered: int = 0
    refused: int = 0


class Deliverer:
    name = "delivering"

    def __init__(
        self, database: Database, client: Client, clock: Clock, options: DeliveringOptions,
        indexer: Indexer | None = None,
    ) -> None:  # fmt: skip
        self._database, self._clock, self._options, self._indexer = database, clock, options, indexer
        self._destinations = OpenDestinations(client, clock, options)
        self._in_use: set[UUID] = set()
        self._indexing = 0  # batches in progress
        self._swept_at: datetime | None = None
        self._is_stopping = False
        self._request_time = min(2 * options.timeout, options.lease / 2)  # of a batch, with its connection
        self.concurrency = options.concurrency + (indexer.concurrency if indexer else 0)

    async def claim(self, limit: int) -> Sequence[LeasedChannel | DueDocuments | DueSweep]:
        """Up to `limit` channels with something to send. Raises DatabaseUnavailable."""
        due = await self._due_documents(limit)
        claimed = [*due, *await self._lease(min(limit - len(due), self._options.concurrency - len(self._in_use)))]
        now = self._clock()
        if len(claimed) < limit and self._is_sweep_due(now):
            self._swept_at = now
            return [*claimed, DueSweep()]
        return claimed

    async def _lease(self, limit: int) -> Sequence[LeasedChannel]:
        if limit <= 0:
            return ()
        now = self._clock()
        async with self._database.transaction() as conn:
            return await deliveries.lease_channels(
                conn, lease=new_id(), now=now, leased_until=now + self._options.lease, limit=limit
            )

    async def _due_documents(self, limit: int) -> Sequence[DueDocuments]:
        """Batches for the index, in slots of its own. They are claimed there: no other channel waits for the index."""
        due = await self._indexer.due() - self._indexing if self._indexer else 0
        return [DueDocuments() for _ in range(min(limit, due))]

    async def lag(self) -> timedelta:
        """How long the oldest delivery has been waiting, outages of destinations included. Raises DatabaseUnavailable.

        Channels that are paused do not count.
        """
        async with self._database.transaction() as conn:
            found = [await deliveries.oldest_waiting_at(conn), await documents.oldest_at(conn)]
        oldest = min([at for at in found if at is not None], default=None)
        return max(self._clock() - oldest, timedelta(0)) if oldest else timedelta(0)

    async def work(self, item: LeasedChannel | DueDocuments | DueSweep) -> DeliveryReport:
        """Send what is due, for some time at most. Raises DatabaseUnavailable: then the lease expires."""
        if isinstance(item, DueSweep):
            await self._sweep()
            return DeliveryReport(0, 0, None)
        if isinstance(item, DueDocuments):
            return await self._index()
        self._in_use.add(item.id)
        try:
            return await self._deliver(item)
        finally:
            self._in_use.discard(item.id)
            await self._destinations.trim(self._in_use)

    async def _index(self) -> DeliveryReport:
        assert self._indexer is not None, "it says what is due"
        self._indexing += 1
        try:
            reports = [await self._indexer.work(batch) for batch in await self._indexer.claim(1)]
        finally:
            self._indexing -= 1
        return DeliveryReport(sum(one.done for one in reports), sum(one.refused for one in reports), None)

    def drain(self) -> None:
        """The batches in progress are the last."""
        self._is_stopping = True

    async def close(self) -> None:
        await self._destinations.close()

    async def _deliver(self, channel: LeasedChannel) -> DeliveryReport:
        turn = _Turn(self._clock() + self._options.lease, time.monotonic() + self._options.turn.total_seconds())
        failure = await self._run(channel, turn)
        if failure is not None:
            await self._destinations.forget(channel.id)
        now = self._clock()
        async with self._database.transaction() as conn:
            if failure is None:
                await deliveries.release(conn, channel_id=channel.id, lease=channel.lease, now=now)
            else:
                wait = decide.wait(
                    channel.failures + 1 if not turn.delivered else 1, self._options, asked=failure.retry_after,
                    chance=random.random(),  # noqa: S311  jitter, no secret
                )  # fmt: skip
                await deliveries.fail(
                    conn, channel_id=channel.id, lease=channel.lease, reason=failure.reason, until=now + wait, now=now
                )
        self._report(channel, turn, failure)
        return DeliveryReport(turn.delivered, turn.refused, failure.reason if failure else None)

    def _report(self, channel: LeasedChannel, turn: _Turn, failure: DestinationFailed | None) -> None:
        kind = channel.destination.value
        metrics.DELIVERED.labels(destination=kind, outcome="delivered").inc(turn.delivered)
        metrics.DELIVERED.labels(destination=kind, outcome="refused").inc(turn.refused)
        if failure is not None:
            metrics.DELIVERED.labels(destination=kind, outcome="failed").inc()
            if not channel.failures or turn.delivered:
                log.warning("channel waits", channel=channel.name, destination=kind, reason=failure.reason)
        elif channel.failures and turn.delivered:
            log.info("channel continues", channel=channel.name, failures=channel.failures)

    async def _run(self, channel: LeasedChannel, turn: _Turn) -> DestinationFailed | None:
        """Send batch after batch. Returns why the destination failed; None: nothing is due, or its turn is over."""
        try:
            destination = await self._destinations.get(channel)
        except Invalid as error:  # the settings have changed
            return DestinationFailed(decide.shortened(str(error)))
        batch = await self._next(channel)
        while batch is not None and not self._is_stopping:
            # The next batch is read while this one is sent.
            ahead = asyncio.create_task(self._next(channel, batch.last)) if batch.has_next else None
            try:
                failure, goes_on = await self._send_batch(channel, destination, batch, turn)
            finally:
                if ahead is not None:
                    await asyncio.gather(ahead, return_exceptions=True)
            if failure is not None or not goes_on or (batch.is_whole and batch.due.is_last):
                return failure
            if time.monotonic() >= turn.ends_at or self._clock() >= turn.leased_until:
                return None
            batch = ahead.result() if ahead is not None else await self._next(channel)
        return None

    async def _next(self, channel: LeasedChannel, after: int | None = None) -> _Batch | None:
        """What is due after a revision, by default after what is settled. None: paused, lost, or done."""
        async with self._database.transaction() as conn:
            due = await deliveries.read_due(
                conn, channel_id=channel.id, lease=channel.lease, version=channel.version, limit=_limit(channel),
                after=after,
            )  # fmt: skip
            if due is None or not (due.rows or due.is_replay):
                return None
            return await self._read(conn, channel, due)

    async def _send_batch(
        self, channel: LeasedChannel, destination: Destination, batch: _Batch, turn: _Turn
    ) -> tuple[DestinationFailed | None, bool]:
        """Send a batch. Returns a failure, and whether the channel goes on: it is neither paused nor changed."""
        revisions = [row.revision for row in batch.rows]
        if channel.destination is DestinationKind.NONE:
            found = BatchResult(revisions)
        else:
            messages = self._messages(channel, batch)
            sent = await self._send(destination, messages, [], turn.leased_until) if messages else BatchResult()
            attempts = {row.revision: row.attempts for row in batch.rows}
            found = decide.decided(sent, attempts, has_accepted=turn.delivered > 0)
            gone = [(row.revision, GONE) for row in batch.rows if row.article_id not in batch.records]
            found = decide.with_gone(found, gone, revisions)
        state = await self._write(channel, batch.due, found, turn)
        lost = DestinationFailed("The lease was lost.") if state is None else None
        return found.failure or lost, bool(state)

    async def _read(self, conn: Connection, channel: LeasedChannel, due: DueDeliveries) -> _Batch:
        """The first of what is due, as many as fit into one request, with their articles."""
        if channel.destination is DestinationKind.NONE or not due.rows:
            return _Batch(due, due.rows, {})
        ids = [row.article_id for row in due.rows]
        sizes = await store.measure(conn, article_ids=ids)
        count = decide.first_pack([sizes.get(one, 2_000) for one in ids], self._options.batch_bytes)
        with_html = bool(channel.options.get("html"))
        visible = await find_visible(conn, ids[:count], self._clock())  # it may not be since it was queued
        records = await store.read_records(conn, article_ids=visible, with_html=with_html)
        return _Batch(due, due.rows[:count], records)

    def _messages(self, channel: LeasedChannel, batch: _Batch) -> list[OutgoingMessage]:
        now, with_html = self._clock(), bool(channel.options.get("html"))
        return [
            message_of(
                batch.records[row.article_id], channel_id=channel.id, channel=channel.name, revision=row.revision,
                now=now, with_html=with_html,
            )
            for row in batch.rows
            if row.article_id in batch.records
        ]  # fmt: skip

    async def _send(
        self, destination: Destination, messages: Sequence[OutgoingMessage], suspects: list[int], until: datetime
    ) -> BatchResult:
        """Send messages; if something in them is refused, send them in halves, in order, until it is found.

        Nothing is sent that may end after the lease: another worker sends then.
        """
        if self._clock() + self._request_time > until:
            return BatchResult(failure=DestinationFailed("It answers too slowly."))
        match await self._request(destination, messages):
            case Accepted() as accepted:
                suspects.clear()
                return decide.joined(messages, accepted)
            case DestinationFailed() as failed:
                return replace(decide.joined(messages[: failed.accepted], failed), failure=failed)
            case ContentRefused(reason):
                if len(messages) == 1:
                    suspects.append(messages[0].revision)
                    failure = DestinationFailed(reason) if len(suspects) >= decide.SUSPECTS_MOST else None
                    return BatchResult(suspects=[(messages[0].revision, reason)], failure=failure)
                half = len(messages) // 2
                first = await self._send(destination, messages[:half], suspects, until)
                if first.failure is not None:
                    return first
                return decide.both(first, await self._send(destination, messages[half:], suspects, until))

    async def _request(self, destination: Destination, messages: Sequence[OutgoingMessage]) -> SendOutcome:
        try:
            async with asyncio.timeout(self._request_time.total_seconds()):
                return await destination.send(messages)
        except TimeoutError:
            return DestinationFailed(f"It did not answer within {self._request_time.total_seconds():g} s.")

    async def _write(self, channel: LeasedChannel, due: DueDeliveries, found: BatchResult, turn: _Turn) -> bool | None:
        """Whether the channel goes on: it is neither paused nor changed. None: it is no longer leased to us."""
        now = self._clock()
        leased_until = now + self._options.lease
        async with self._database.transaction() as conn:
            state = await deliveries.settle(
                conn, channel_id=channel.id, lease=channel.lease, version=channel.version, due=due,
                delivered=found.delivered, refused=found.refused, leased_until=leased_until, now=now,
            )  # fmt: skip
            for revision, _ in found.suspects:
                await deliveries.count_attempt(conn, channel_id=channel.id, revision=revision)
        for revision, reason in found.refused:
            log.warning("message refused", channel=channel.name, id=delivery_id(channel.id, revision), reason=reason)
        turn.leased_until = leased_until
        turn.delivered += len(found.delivered)
        turn.refused += len(found.refused)
        return state

    def _is_sweep_due(self, now: datetime) -> bool:
        return self._swept_at is None or abs(now - self._swept_at) >= SWEPT_EVERY

    async def _sweep(self) -> None:
        """Delete what was delivered long ago, and what deleted channels left; little while the clock is ahead."""
        while not self._is_stopping:
            async with self._database.transaction() as conn:
                before = await clocks.deletes_until(conn, now=self._clock()) - self._options.kept
                deleted = await deliveries.sweep(conn, before=before, limit=SWEPT_AT_ONCE)
            if deleted < SWEPT_AT_ONCE:
                return


def _limit(channel: LeasedChannel) -> int:
    if channel.destination is DestinationKind.NONE:
        return READ_AT_ONCE
    return int(channel.options.get("batch", BATCH_DEFAULT))
