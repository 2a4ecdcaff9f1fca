"""A file of URLs into the frontier: read ahead in a thread, submitted in batches, each in a transaction of its own."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from headwater.cli.url_lines import BadLine, Batch, Format, GivenUrl, batches
from headwater.db import Connection, Database
from headwater.errors import SourceNotFound
from headwater.frontier import store
from headwater.frontier.types import Fate, Origin, Submission
from headwater.sources.follow import find
from headwater.types import Clock, SourceId

BATCH = 5_000
READ_AHEAD = 2  # batches
SOURCES_REMEMBERED = 10_000
PROBLEMS_KEPT = 20


@dataclass(frozen=True, slots=True)
class Order:
    """What to import, and what holds for all lines that do not say otherwise."""

    name: str
    format: Format = Format.AUTO
    first_line: int = 1
    source_id: SourceId | None = None
    priority: int | None = None


@dataclass(slots=True)
class Tally:
    """How far it has come."""

    last_line: int = 0
    position: int = 0
    fates: dict[Fate, int] = field(default_factory=lambda: dict.fromkeys(Fate, 0))
    problems: list[BadLine] = field(default_factory=list[BadLine])
    is_complete: bool = False

    @property
    def total(self) -> int:
        """URLs and bad lines seen."""
        return sum(self.fates.values())

    def note(self, problem: BadLine) -> None:
        """Count a line that cannot be used; the first few are kept to be shown."""
        self.fates[Fate.INVALID] += 1
        if len(self.problems) < PROBLEMS_KEPT:
            self.problems.append(problem)


class Importer:
    """Submits what a file names. What came of it so far is in `tally`, however it ends."""

    def __init__(self, database: Database, clock: Clock, order: Order, show: Callable[[Tally], None]) -> None:
        self.tally = Tally()
        self._database = database
        self._clock = clock
        self._order = order
        self._show = show
        self._sources: dict[str, SourceId | None] = {}

    async def run(self, stop: asyncio.Event) -> None:
        """To the file's end, or to that of a batch once `stop` is set. Raises DatabaseUnavailable, Invalid."""
        async for batch in _until(stop, read_ahead(self._order)):
            await self._submit(batch.lines)
            self.tally.position = batch.position
            self.tally.last_line = batch.lines[-1].line
            self._show(self.tally)
        self.tally.is_complete = not stop.is_set()

    async def _submit(self, lines: Sequence[GivenUrl | BadLine]) -> None:
        problems = [line for line in lines if isinstance(line, BadLine)]
        async with self._database.transaction() as conn:
            asked = [await self._submission(conn, line) for line in lines if isinstance(line, GivenUrl)]
            good = [(line, made) for line, made in asked if isinstance(made, Submission)]
            results = await store.submit(conn, submissions=[made for _, made in good], now=self._clock())
        problems += [made for _, made in asked if isinstance(made, BadLine)]
        for (line, _), result in zip(good, results, strict=True):
            if result.fate is Fate.INVALID:
                problems.append(BadLine(line.line, line.url, result.reason or "it cannot be used"))
            else:
                self.tally.fates[result.fate] += 1
        for problem in sorted(problems, key=lambda problem: problem.line):
            self.tally.note(problem)

    async def _submission(self, conn: Connection, line: GivenUrl) -> tuple[GivenUrl, Submission | BadLine]:
        source_id = self._order.source_id
        if line.source is not None:
            source_id = await self._source(conn, line.source)
            if source_id is None:
                return line, BadLine(line.line, line.source, "there is no such source")
        priority = self._order.priority if line.priority is None else line.priority
        return line, Submission(line.url, Origin.MANUAL, source_id=source_id, priority=priority)

    async def _source(self, conn: Connection, wanted: str) -> SourceId | None:
        if wanted not in self._sources:
            if len(self._sources) >= SOURCES_REMEMBERED:
                self._sources.clear()
            try:
                self._sources[wanted] = (await find(conn, wanted)).id
            except SourceNotFound:
                self._sources[wanted] = None
        return self._sources[wanted]


async def read_ahead(order: Order) -> AsyncIterator[Batch]:
    """The same, read in a thread: a pipe that stays silent must keep neither the loop nor Ctrl-C waiting."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[Batch | Exception | None] = asyncio.Queue(READ_AHEAD)

    def put(item: Batch | Exception | None) -> None:
        asyncio.run_coroutine_threadsafe(queue.put(item), loop).result()

    def read() -> None:
        with suppress(RuntimeError, asyncio.CancelledError):  # nobody listens any more: the loop is closed
            try:
                for batch in batches(order.name, order.format, first_line=order.first_line, size=BATCH):
                    put(batch)
            except Exception as error:  # noqa: BLE001  raised again by whoever waits for the batch
                put(error)
            else:
                put(None)

    # A daemon, since nothing can wake it from a read; it holds nothing that would have to be put in order.
    threading.Thread(target=read, name="read urls", daemon=True).start()
    while (item := await queue.get()) is not None:
        if isinstance(item, Exception):
            raise item
        yield item


async def _until(stop: asyncio.Event, items: AsyncIterator[Batch]) -> AsyncIterator[Batch]:
    """What comes before `stop` is set."""
    stopped = asyncio.ensure_future(stop.wait())
    try:
        while not stop.is_set():
            coming = asyncio.ensure_future(anext(items, None))
            await asyncio.wait({coming, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                coming.cancel()
                return
            batch = coming.result()
            if batch is None:
                return
            yield batch
    finally:
        stopped.cancel()
