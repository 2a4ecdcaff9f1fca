"""Import a file of URLs into the frontier: read ahead in a thread, submitted in batches of one transaction each."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from headwater.channels.visible import submit_urls
from headwater.cli.url_lines import BadLine, Format, GivenUrl, LineBatch, batches
from headwater.db import Connection, Database
from headwater.errors import SourceNotFound
from headwater.frontier.types import Origin, Submission, SubmitOutcome
from headwater.sources.follow import find
from headwater.types import Clock, SourceId

BATCH = 5_000
READ_AHEAD = 2  # batches
SOURCES_REMEMBERED = 10_000
PROBLEMS_KEPT = 20


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What to import, and the source and priority of lines that name none."""

    name: str
    format: Format = Format.AUTO
    first_line: int = 1
    source_id: SourceId | None = None
    priority: int | None = None


@dataclass(slots=True)
class ImportCounts:
    last_line: int = 0
    position: int = 0
    results: dict[SubmitOutcome, int] = field(default_factory=lambda: dict.fromkeys(SubmitOutcome, 0))
    problems: list[BadLine] = field(default_factory=list[BadLine])
    is_complete: bool = False

    @property
    def total(self) -> int:
        return sum(self.results.values())

    def text(self, *, zeros: bool = True) -> str:
        """The counts as text: 3 queued, 0 known."""
        return ", ".join(f"{count:,} {result}" for result, count in self.results.items() if count or zeros)

    def note(self, problem: BadLine) -> None:
        """Count an invalid line; the first few are kept to be shown."""
        self.results[SubmitOutcome.INVALID] += 1
        if len(self.problems) < PROBLEMS_KEPT:
            self.problems.append(problem)


@dataclass(slots=True)
class UrlImporter:
    """Submits the URLs of a file. Its progress is in `counts`, however it ends."""

    database: Database
    clock: Clock
    options: ImportOptions
    show: Callable[[ImportCounts], None]
    counts: ImportCounts = field(default_factory=ImportCounts)
    _sources: dict[str, SourceId | None] = field(default_factory=dict[str, SourceId | None])

    async def run(self, stop: asyncio.Event) -> None:
        """Import to the end of the file, or of the batch once `stop` is set. Raises DatabaseUnavailable, Invalid."""
        async for batch in _read_ahead(self.options, stop):
            await self._submit(batch.lines)
            self.counts.position = batch.position
            self.counts.last_line = batch.lines[-1].line
            self.show(self.counts)
        self.counts.is_complete = not stop.is_set()

    async def _submit(self, lines: Sequence[GivenUrl | BadLine]) -> None:
        problems = [line for line in lines if isinstance(line, BadLine)]
        async with self.database.transaction() as conn:
            asked = [await self._submission(conn, line) for line in lines if isinstance(line, GivenUrl)]
            good = [(line, made) for line, made in asked if isinstance(made, Submission)]
            results = await submit_urls(conn, submissions=[made for _, made in good], now=self.clock())
        problems += [made for _, made in asked if isinstance(made, BadLine)]
        for (line, _), one in zip(good, results, strict=True):
            if one.result is SubmitOutcome.INVALID:
                problems.append(BadLine(line.line, line.url, one.reason or "invalid"))
            else:
                self.counts.results[one.result] += 1
        for problem in sorted(problems, key=lambda problem: problem.line):
            self.counts.note(problem)

    async def _submission(self, conn: Connection, line: GivenUrl) -> tuple[GivenUrl, Submission | BadLine]:
        source_id = self.options.source_id
        if line.source is not None:
            source_id = await self._source(conn, line.source)
            if source_id is None:
                return line, BadLine(line.line, line.source, "there is no such source")
        priority = self.options.priority if line.priority is None else line.priority
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


async def _read_ahead(options: ImportOptions, stop: asyncio.Event) -> AsyncIterator[LineBatch]:
    """The batches of a file until `stop`, read in a thread: a pipe without data must not block Ctrl-C."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[LineBatch | Exception | None] = asyncio.Queue(READ_AHEAD)

    def put(item: LineBatch | Exception | None) -> None:
        asyncio.run_coroutine_threadsafe(queue.put(item), loop).result()

    def read() -> None:
        with suppress(RuntimeError, asyncio.CancelledError):  # the loop is closed
            try:
                for batch in batches(options.name, options.format, first_line=options.first_line, size=BATCH):
                    put(batch)
                put(None)
            except Exception as error:  # noqa: BLE001  raised again where the batch is awaited
                put(error)

    # A daemon, since nothing can wake it from a read; it holds nothing that must be closed.
    threading.Thread(target=read, name="read urls", daemon=True).start()
    stopped = asyncio.ensure_future(stop.wait())
    try:
        while not stop.is_set():
            coming = asyncio.ensure_future(queue.get())
            await asyncio.wait({coming, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                coming.cancel()
                return
            item = coming.result()
            if item is None:
                return
            if isinstance(item, Exception):
                raise item
            yield item
    finally:
        stopped.cancel()
