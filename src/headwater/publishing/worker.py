"""Indexing, step by step: claim what changed, read it, tell the index, hear what it says to each, write that down.

PostgreSQL forgets an entry only after the index has said yes. Killed in between, the entry is sent again, and the index
answers that it has this version already: replays do no harm.
"""

import random
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from headwater.db import Database
from headwater.errors import IndexMismatch, IndexUnavailable
from headwater.ids import new_id
from headwater.observability.log import get_logger
from headwater.outbox import store as outbox
from headwater.outbox.types import Claimed
from headwater.publishing import store
from headwater.publishing.decide import asked_wait, fates, groups, must_split, requests, wait
from headwater.publishing.documents import operation
from headwater.publishing.elasticsearch import SearchIndex
from headwater.publishing.tell import tell
from headwater.publishing.types import Again, BulkOutcome, Bury, Done, Fate, IndexOptions, IndexReport, Operation
from headwater.types import Clock

log = get_logger()

FILLED_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries in our hands until the lease ends."""

    entries: Sequence[Claimed]
    leased_until: datetime


class Indexer:
    """The indexing stage."""

    name = "indexing"

    def __init__(self, database: Database, index: SearchIndex, clock: Clock, options: IndexOptions) -> None:
        self._database = database
        self._index = index
        self._clock = clock
        self._options = options
        self._is_ready = False
        self._failures = 0
        self._rests_until: datetime | None = None
        self.concurrency = options.concurrency

    async def claim(self, limit: int) -> Sequence[Batch]:
        """Up to `limit` batches; none while the index rests, and a single entry to try it with after that.

        Raises DatabaseUnavailable.
        """
        if self._is_resting or not await self._prepare():
            return ()
        if self._failures:
            return await self._claim_batch(1)
        batches: list[Batch] = []
        while len(batches) < limit and (claimed := await self._claim_batch(self._options.batch_documents)):
            batches += claimed
            if len(claimed[0].entries) < self._options.batch_documents:
                break
        return batches

    async def work(self, batch: Batch) -> IndexReport:
        """Tell the index of a batch and write down what it said. Raises DatabaseUnavailable: then the lease ends it."""
        started = time.perf_counter()
        told: list[Fate] = []
        async with self._database.transaction() as conn:
            sizes = await store.measure(conn, article_ids=[entry.article_id for entry in batch.entries])
        waiting = groups(batch.entries, sizes, self._options)
        while waiting and not self._is_resting and self._clock() < batch.leased_until:
            told += await self._tell_group(waiting.pop(0))
        await self._release([entry for group in waiting for entry in group])
        report = _report(told, timedelta(seconds=time.perf_counter() - started))
        tell(report)
        return report

    async def lag(self) -> timedelta:
        """How far the index is behind, its own outages included. Raises DatabaseUnavailable."""
        async with self._database.transaction() as conn:
            oldest = await outbox.oldest_at(conn)
        return max(self._clock() - oldest, timedelta(0)) if oldest else timedelta(0)

    @property
    def _is_resting(self) -> bool:
        return self._rests_until is not None and self._clock() < self._rests_until

    async def _prepare(self) -> bool:
        """Whether the index is there and ours; from the first time on, changes are queued for it."""
        if self._is_ready:
            return True
        try:
            target = await self._index.ensure()
        except (IndexUnavailable, IndexMismatch) as error:
            self._rest(str(error), is_refusal=isinstance(error, IndexMismatch) or error.is_refusal)
            return False
        async with self._database.transaction() as conn:
            if await outbox.listen(conn, target=target):
                log.info("index is told everything", index=self._index.index)
        self._is_ready = True
        return True

    async def _claim_batch(self, limit: int) -> Sequence[Batch]:
        now = self._clock()
        until = now + self._options.lease
        async with self._database.transaction() as conn:
            entries = await outbox.claim(conn, lease=new_id(), now=now, leased_until=until, limit=limit)
            if len(entries) < limit:
                await outbox.fill(conn, now=now, limit=FILLED_AT_ONCE)
        return [Batch(entries, until)] if entries else []

    async def _tell_group(self, entries: Sequence[Claimed]) -> list[Fate]:
        async with self._database.transaction() as conn:
            contents = await store.read(conn, article_ids=[entry.article_id for entry in entries])
        operations = [
            operation(entry, contents.get(entry.article_id), most_bytes=self._options.batch_bytes) for entry in entries
        ]
        told: list[Fate] = []
        for request in requests(operations, self._options):
            told += await self._send(request)
        return told

    async def _send(self, request: Sequence[Operation]) -> list[Fate]:
        outcome = await self._index.bulk(request)
        if must_split(outcome, len(request)):
            half = len(request) // 2
            return [*await self._send(request[:half]), *await self._send(request[half:])]
        told = await self._believed(fates(outcome, len(request)))
        entries = [one.entry for one in request]
        await self._write(entries, told, self._judge(entries, told, outcome))
        return told

    async def _believed(self, told: list[Fate]) -> list[Fate]:
        """No document is given up while the index itself is not as it should be."""
        if not any(isinstance(one, Bury) for one in told):
            return told
        try:
            await self._index.ensure()
        except (IndexUnavailable, IndexMismatch) as error:
            self._is_ready = False
            return [Again(f"{one.reason} ({error})") if isinstance(one, Bury) else one for one in told]
        return told

    def _judge(self, entries: Sequence[Claimed], told: Sequence[Fate], outcome: BulkOutcome) -> datetime:
        """Rest after a failure, go on after a success. Returns when what failed is tried again."""
        again = [(entry, one) for entry, one in zip(entries, told, strict=True) if isinstance(one, Again)]
        if not again:
            self._recover()
            return self._clock()
        # Whether it is missing, closed or blocked: look at it before the next request.
        self._is_ready = False
        rest = self._rest(again[0][1].reason, asked=asked_wait(outcome))
        # One that fails alone and always waits for longer each time, and the others need not wait for it.
        return max(rest, self._clock() + self._wait(1 + min(entry.attempts for entry, _ in again)))

    async def _write(self, entries: Sequence[Claimed], told: Sequence[Fate], until: datetime) -> None:
        pairs = list(zip(entries, told, strict=True))
        buried = [(entry, one.reason) for entry, one in pairs if isinstance(one, Bury)]
        async with self._database.transaction() as conn:
            await outbox.acknowledge(conn, entries=_those(pairs, Done))
            await outbox.postpone(conn, entries=_those(pairs, Again), until=until)
            await outbox.bury(conn, entries=[entry for entry, _ in buried], reasons=[reason for _, reason in buried])
        for entry, reason in buried:
            log.warning("document refused", article=str(entry.article_id), version=entry.version, reason=reason)

    async def _release(self, entries: Sequence[Claimed]) -> None:
        if not entries:
            return
        async with self._database.transaction() as conn:
            await outbox.release(conn, entries=entries, until=self._rests_until or self._clock())

    def _rest(self, reason: str, *, asked: timedelta | None = None, is_refusal: bool = False) -> datetime:
        """Leave the index alone for a while; told once, when it begins."""
        if self._rests_until is not None and self._is_resting:
            return self._rests_until  # another batch has met the same outage
        self._failures += 1
        self._rests_until = self._clock() + self._wait(self._failures, asked)
        if self._failures == 1:
            write = log.error if is_refusal else log.warning
            again = self._rests_until.isoformat()
            write("index waits", address=self._index.address, reason=reason, next_try=again)
        return self._rests_until

    def _wait(self, failures: int, asked: timedelta | None = None) -> timedelta:
        return wait(failures, self._options, chance=random.random(), asked=asked)  # noqa: S311  jitter, no secret

    def _recover(self) -> None:
        if self._failures:
            log.info("index is back", address=self._index.address, failures=self._failures)
        self._failures = 0
        self._rests_until = None


def _those(pairs: Iterable[tuple[Claimed, Fate]], kind: type[Done | Again]) -> list[Claimed]:
    return [entry for entry, one in pairs if isinstance(one, kind)]


def _report(told: Sequence[Fate], took: timedelta) -> IndexReport:
    counts = Counter(type(one) for one in told)
    return IndexReport(counts[Done], counts[Again], counts[Bury], took)
