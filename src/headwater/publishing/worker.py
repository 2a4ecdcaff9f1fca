"""Indexing, in the stage `delivering`: claim changed articles, read them, send them to the index, write the result of
each. An entry is deleted only after the index confirmed it."""

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from headwater.channels.visible import find_visible
from headwater.db import Connection, Database
from headwater.documents import store as documents
from headwater.documents.types import ClaimedEntry
from headwater.errors import IndexMismatch, IndexUnavailable
from headwater.ids import new_id
from headwater.observability import metrics
from headwater.observability.log import get_logger
from headwater.publishing import store
from headwater.publishing.decide import (
    REASON_MAX,
    asked_wait,
    groups,
    must_split,
    operation,
    outcomes_of,
    requests,
    wait,
)
from headwater.publishing.elasticsearch import SearchIndex
from headwater.publishing.types import (
    BulkOutcome,
    Done,
    IndexOptions,
    IndexReport,
    ItemOutcome,
    Operation,
    Reject,
    Retry,
)
from headwater.reading.text import storable
from headwater.types import Clock

log = get_logger()

FILLED_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class IndexBatch:
    entries: Sequence[ClaimedEntry]
    leased_until: datetime


class Indexer:
    def __init__(self, database: Database, index: SearchIndex, clock: Clock, options: IndexOptions) -> None:
        self._database, self._index, self._clock = database, index, clock
        self._options = options
        self._is_ready = False
        self._failures = 0
        self._waits_until: datetime | None = None
        self.concurrency = options.concurrency

    async def due(self) -> int:
        """How many batches may be claimed at the same time; one while the index is prepared, or tried after a failure.
        Raises DatabaseUnavailable."""
        if self._is_waiting or not self._is_ready:
            return 0 if self._is_waiting else 1
        async with self._database.transaction() as conn:
            is_due = await documents.is_due(conn, now=self._clock())
        return (1 if self._failures else self.concurrency) if is_due else 0

    async def claim(self, limit: int) -> Sequence[IndexBatch]:
        """Up to `limit` batches; none while waiting after a failure, then one entry. Raises DatabaseUnavailable."""
        if self._is_waiting or not await self._prepare():
            return ()
        if self._failures:
            return await self._claim_batch(1)
        batches: list[IndexBatch] = []
        while len(batches) < limit and (claimed := await self._claim_batch(self._options.batch_documents)):
            batches += claimed
            if len(claimed[0].entries) < self._options.batch_documents:
                break
        return batches

    async def work(self, batch: IndexBatch) -> IndexReport:
        """Send a batch and write the results. Raises DatabaseUnavailable: then the lease expires."""
        started = time.perf_counter()
        results: list[ItemOutcome] = []
        async with self._database.transaction() as conn:
            sizes = await store.measure(conn, article_ids=[entry.article_id for entry in batch.entries])
        waiting = groups(batch.entries, sizes, self._options)
        while waiting and not self._is_waiting and self._clock() < batch.leased_until:
            results += await self._send_group(waiting.pop(0))
        if waiting:
            unsent, until = [entry for group in waiting for entry in group], self._waits_until or self._clock()
            async with self._database.transaction() as conn:
                await documents.postpone(conn, entries=unsent, until=until, was_sent=False)
        counts = Counter(type(one) for one in results)
        took = timedelta(seconds=time.perf_counter() - started)
        report = IndexReport(counts[Done], counts[Retry], counts[Reject], took)
        counted = {"done": report.done, "again": report.again, "refused": report.refused}
        for outcome, count in counted.items():
            metrics.INDEXED.labels(outcome=outcome).inc(count)
        log.debug("documents indexed", **counted, took_ms=round(took.total_seconds() * 1000))
        return report

    @property
    def _is_waiting(self) -> bool:
        if self._waits_until is None:
            return False
        # A later time was set by a clock that was ahead.
        return timedelta(0) < self._waits_until - self._clock() <= self._options.wait_max

    async def _prepare(self) -> bool:
        """Whether the index is available and has our mapping; from the first time on, changes are queued for it."""
        if self._is_ready:
            return True
        try:
            target = await self._index.ensure()
        except (IndexUnavailable, IndexMismatch) as error:
            self._pause(str(error), is_refusal=isinstance(error, IndexMismatch) or error.is_refusal)
            async with self._database.transaction() as conn:
                await documents.note_failure(conn, reason=storable(str(error))[:REASON_MAX], now=self._clock())
            return False
        async with self._database.transaction() as conn:
            if await documents.listen(conn, target=target):
                log.info("index is filled", index=self._index.index)
        self._is_ready = True
        return True

    async def _claim_batch(self, limit: int) -> Sequence[IndexBatch]:
        now = self._clock()
        until = now + self._options.lease
        async with self._database.transaction() as conn:
            entries = await documents.claim(conn, lease=new_id(), now=now, leased_until=until, limit=limit)
            if len(entries) < limit and not await documents.fill_source(conn, now=now, limit=FILLED_AT_ONCE):
                await documents.fill(conn, now=now, limit=FILLED_AT_ONCE)
        return [IndexBatch(entries, until)] if entries else []

    async def _send_group(self, entries: Sequence[ClaimedEntry]) -> list[ItemOutcome]:
        async with self._database.transaction() as conn:
            visible = set(await find_visible(conn, [entry.article_id for entry in entries], self._clock()))
            contents = await store.read(conn, article_ids=sorted(visible))
            # Deleted from the index, also if that has a newer version than was queued, from before it was hidden.
            hidden = [entry for entry in entries if entry.article_id not in visible]
            raised = await documents.raise_versions(conn, entries=hidden) if hidden else []
        entries = [*(entry for entry in entries if entry.article_id in visible), *raised]
        operations = [
            operation(entry, contents.get(entry.article_id), most_bytes=self._options.batch_bytes) for entry in entries
        ]
        return [one for request in requests(operations, self._options) for one in await self._send(request)]

    async def _send(self, request: Sequence[Operation]) -> list[ItemOutcome]:
        outcome = await self._index.bulk(request)
        if must_split(outcome, len(request)):
            half = len(request) // 2
            return [*await self._send(request[:half]), *await self._send(request[half:])]
        results = await self._checked(outcomes_of(outcome, len(request)))
        pairs = [(one.entry, result) for one, result in zip(request, results, strict=True)]
        await self._write(pairs, self._next_try_at(pairs, outcome))
        return results

    async def _checked(self, results: list[ItemOutcome]) -> list[ItemOutcome]:
        """The results; no document counts as refused while the index is unavailable or has another mapping."""
        if not any(isinstance(one, Reject) for one in results):
            return results
        try:
            await self._index.ensure()
        except (IndexUnavailable, IndexMismatch) as error:
            self._is_ready = False
            return [Retry(f"{one.reason} ({error})") if isinstance(one, Reject) else one for one in results]
        return results

    def _next_try_at(self, pairs: Sequence[tuple[ClaimedEntry, ItemOutcome]], outcome: BulkOutcome) -> datetime:
        """When failed entries are sent again. Waits after a failure, continues after a success."""
        again = [(entry, one) for entry, one in pairs if isinstance(one, Retry)]
        if not again:
            if self._failures:
                log.info("index is back", address=self._index.address, failures=self._failures)
            self._failures, self._waits_until = 0, None
            return self._clock()
        # It may be missing, closed or blocked: check it before the next request.
        self._is_ready = False
        until = self._pause(again[0][1].reason, asked=asked_wait(outcome))
        # An entry that fails alone waits longer each time; the others do not wait for it.
        return max(until, self._clock() + self._wait(1 + min(entry.attempts for entry, _ in again)))

    async def _write(self, pairs: Sequence[tuple[ClaimedEntry, ItemOutcome]], until: datetime) -> None:
        rejected = [(entry, one.reason) for entry, one in pairs if isinstance(one, Reject)]
        async with self._database.transaction() as conn:
            await documents.acknowledge(conn, entries=[entry for entry, one in pairs if isinstance(one, Done)])
            again = [entry for entry, one in pairs if isinstance(one, Retry)]
            await documents.postpone(conn, entries=again, until=until)
            await documents.reject(conn, rejected=rejected)
            await self._note(conn, [one for _, one in pairs])
        for entry, reason in rejected:
            log.warning("document refused", article=str(entry.article_id), version=entry.version, reason=reason)

    async def _note(self, conn: Connection, results: Sequence[ItemOutcome]) -> None:
        """What operators see of its channel."""
        now = self._clock()
        if failed := next((one for one in results if isinstance(one, Retry)), None):
            await documents.note_failure(conn, reason=failed.reason, now=now)
        else:
            await documents.note_delivered(conn, count=sum(isinstance(one, Done) for one in results), now=now)

    def _pause(self, reason: str, *, asked: timedelta | None = None, is_refusal: bool = False) -> datetime:
        """Send nothing for a while; logged once, at the start."""
        if self._waits_until is not None and self._is_waiting:
            return self._waits_until  # another batch failed in the same outage
        self._failures += 1
        self._waits_until = self._clock() + self._wait(self._failures, asked)
        if self._failures == 1:
            write = log.error if is_refusal else log.warning
            next_try = self._waits_until.isoformat()
            write("index waits", address=self._index.address, reason=reason, next_try=next_try)
        return self._waits_until

    def _wait(self, failures: int, asked: timedelta | None = None) -> timedelta:
        return wait(failures, self._options, chance=random.random(), asked=asked)  # noqa: S311  jitter, no secret
