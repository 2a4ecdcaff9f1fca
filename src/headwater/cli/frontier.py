"""`headwater frontier`: the URLs to fetch, and what happened to them."""

import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

from headwater.channels.visible import submit_urls
from headwater.cli import output
from headwater.cli.exit_codes import ExitCode
from headwater.cli.import_urls import ImportCounts, ImportOptions, UrlImporter
from headwater.cli.options import AsJson, OfSource, group
from headwater.cli.output import counted, print_error, print_json, print_result, print_table, print_text
from headwater.cli.running import in_runtime, stop_on_signals, with_runtime
from headwater.cli.terminal import exit_failed, own_command
from headwater.cli.url_lines import STANDARD_INPUT, Format
from headwater.db import Connection
from headwater.errors import HeadwaterError, Invalid
from headwater.frontier.matching import retry_matching
from headwater.frontier.store import changes, listing
from headwater.frontier.types import FrontierUrl, Origin, Status, Submission, SubmitOutcome, UrlFilter
from headwater.runtime import Runtime
from headwater.sources.follow import find
from headwater.sources.store import sources
from headwater.types import PageCursor, SourceId

frontier_app = group("List the URLs to fetch, and add some.", "frontier submit https://example.com/a")

Priority = Annotated[int | None, typer.Option(help="1 to 10, 10 the highest.", min=1, max=10, show_default="5")]
OnHost = Annotated[str | None, typer.Option("--host", help="Only URLs of this host.")]

PAGE = 500
BAR = 30  # characters
SOURCES_SHOWN = 20
SHORT = 100  # characters shown of an invalid line


@frontier_app.command()
@with_runtime
async def submit(
    runtime: Runtime,
    urls: Annotated[list[str], typer.Argument(metavar="URL…", help="Pages to fetch.")],
    source: OfSource = None,
    priority: Priority = None,
    as_json: AsJson = False,
) -> None:
    """Queue URLs to be fetched. Known URLs are not queued twice. Exits with 1 when one is invalid.

    With --json, one object a line.

    Example: headwater frontier submit https://example.com/news/1 --priority 9
    """
    given = [os.fsencode(url).decode(errors="replace") for url in urls]
    async with runtime.database.transaction() as conn:
        source_id = await _source_id(conn, source)
        submissions = [Submission(url, Origin.MANUAL, source_id=source_id, priority=priority) for url in given]
        results = await submit_urls(conn, submissions=submissions, now=runtime.tools.clock())
    for one in results:
        text = f"{one.result:8} {output.without_controls(one.url)}{f': {one.reason}' if one.reason else ''}"
        print_result({"url": one.url, "result": one.result, "id": one.id, "reason": one.reason}, text, as_json=as_json)
    exit_failed(any(one.result is SubmitOutcome.INVALID for one in results))


@frontier_app.command("import")
def import_file(
    file: Annotated[str, typer.Argument(metavar="FILE", help="URLs, one a line; - reads standard input.")],
    source: OfSource = None,
    priority: Priority = None,
    file_format: Annotated[
        Format, typer.Option("--format", help="Format of the file.", show_default="by its name, or its first line")
    ] = Format.AUTO,
    from_line: Annotated[int, typer.Option(help="The first line to import.", min=1)] = 1,
    lenient: Annotated[bool, typer.Option("--lenient", help="Exit with 0 even when lines are invalid.")] = False,
    as_json: AsJson = False,
) -> None:
    """Queue all URLs of a file, of any length. Exits with 1 when lines are invalid.

    A line is a URL; or the file is CSV or JSON lines with url, source (or source_id) and priority. It may be
    compressed by gzip.
    Importing the same file again is harmless: known URLs are not queued twice.

    Example: headwater frontier import urls.csv --priority 3
    """
    if file == STANDARD_INPUT and sys.stdin.isatty():
        print_text("Type URLs, one a line; Ctrl-D ends.")
    started = time.perf_counter()
    options = ImportOptions(file, file_format, from_line, priority=priority)
    counts, error = in_runtime(lambda runtime: _import(runtime, options, source))
    if error is None or counts.total:
        _print_import(counts, time.perf_counter() - started, as_json=as_json)
    if error is not None:
        if counts.total:
            print_error(_resume(file, counts))
        raise error
    if not counts.is_complete:
        print_error(f"Stopped. {_resume(file, counts)}")
        raise typer.Exit(ExitCode.INTERRUPTED)
    exit_failed(counts.results[SubmitOutcome.INVALID] and not lenient)


@frontier_app.command("list")
@with_runtime
async def list_urls(
    runtime: Runtime,
    status: Annotated[Status | None, typer.Option(help="Only URLs of this status.")] = None,
    source: OfSource = None,
    host: OnHost = None,
    origin: Annotated[Origin | None, typer.Option(help="Only URLs of this origin.")] = None,
    text: Annotated[str | None, typer.Option("--text", "-q", help="Only URLs that contain this.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number of rows.", min=1)] = 20,
    as_json: AsJson = False,
) -> None:
    """List URLs, the newest first. With --json, one object a line.

    Example: headwater frontier list --status dead --host example.com -n 100
    """
    rows: list[tuple[str, ...]] = []
    async with runtime.database.transaction() as conn:
        wanted = UrlFilter(status, await _source_id(conn, source), host, origin, text)
    async for url in _urls(runtime, wanted, limit):
        if as_json:
            print_json(url)
        else:
            rows.append(_row(url))
    if rows:
        print_table(["status", "priority", "found", "by", "next", "url", "reason"], rows)
    elif not as_json:
        print_text("No URLs match. `headwater frontier stats` counts all URLs.")


@frontier_app.command()
@with_runtime
async def stats(runtime: Runtime, as_json: AsJson = False) -> None:
    """Count the URLs by status and by source.

    Example: headwater frontier stats
    """
    async with runtime.database.transaction() as conn:
        found = await listing.stats(conn, now=runtime.tools.clock())
        names: dict[SourceId | None, str] = {source.id: source.name for source in await sources.list_all(conn)}
    if as_json:
        by_source = [asdict(tally) | {"source": names.get(tally.source_id)} for tally in found.by_source]
        print_json({"by_status": found.by_status, "by_source": by_source})
        return
    most = max(1, *found.by_status.values())
    rows = [(each, f"{count:,}", _bar(count, most)) for each, count in found.by_status.items()]
    print_table(["status", "URLs", ""], rows)
    if not found.by_source:
        return
    largest = sorted(found.by_source, key=lambda tally: tally.total, reverse=True)
    columns = ["pending", "fetching", "fetched", "failed", "dead"]
    print_text("")
    print_table(["source", *columns, ""], [
        (
            names.get(tally.source_id, str(tally.source_id or "none")),
            *(f"{getattr(tally, column):,}" for column in columns), _bar(tally.total, max(1, largest[0].total)),
        )
        for tally in largest[:SOURCES_SHOWN]
    ])  # fmt: skip
    if len(largest) > SOURCES_SHOWN:
        print_text(f"and {len(largest) - SOURCES_SHOWN:,} more: headwater frontier stats --json")


@frontier_app.command()
@with_runtime
async def retry(
    runtime: Runtime,
    ids: Annotated[list[UUID] | None, typer.Argument(metavar="[ID]…", help="URLs, by their ids.")] = None,
    status: Annotated[Status | None, typer.Option(help="All URLs with this status: failed or dead.")] = None,
    host: OnHost = None,
    source: OfSource = None,
    as_json: AsJson = False,
) -> None:
    """Retry failed or dead URLs, by their ids or by status, host and source.

    Example: headwater frontier retry --status dead --host example.com
    """
    if status not in {None, Status.FAILED, Status.DEAD}:
        raise Invalid("Only failed or dead URLs can be retried.")
    if bool(ids) == any(value is not None for value in (status, host, source)):
        raise Invalid("Give the ids of URLs, or select them by --status, --host, --source.")
    async with runtime.database.transaction() as conn:
        wanted = UrlFilter(status, await _source_id(conn, source), host)
        count = len(await changes.retry(conn, ids=ids, now=runtime.tools.clock())) if ids else 0
    if not ids:
        count = (await retry_matching(runtime.database, runtime.tools.clock, wanted=wanted)).changed
    print_result({"retried": count}, f"{counted(count, 'URL is', 'URLs are')} queued again.", as_json=as_json)


async def _urls(runtime: Runtime, wanted: UrlFilter, limit: int) -> AsyncIterator[FrontierUrl]:
    after: PageCursor | None = None
    while limit:
        async with runtime.database.transaction() as conn:
            most, now = min(PAGE, limit), runtime.tools.clock()
            page = await listing.list_urls(conn, wanted=wanted, now=now, after=after, limit=most)
        for url in page.urls:
            yield url
        limit, after = limit - len(page.urls), page.next
        if after is None:
            return


async def _import(
    runtime: Runtime, options: ImportOptions, source: str | None
) -> tuple[ImportCounts, HeadwaterError | None]:
    """What was imported, and the error that ended it early."""
    with stop_on_signals() as stop, _import_progress(options.name) as show:
        async with runtime.database.transaction() as conn:
            options = replace(options, source_id=await _source_id(conn, source))
        importer = UrlImporter(runtime.database, runtime.tools.clock, options, show)
        try:
            await importer.run(stop)
        except HeadwaterError as error:
            return importer.counts, error
        return importer.counts, None


async def _source_id(conn: Connection, wanted: str | None) -> SourceId | None:
    return (await find(conn, wanted)).id if wanted is not None else None


@contextmanager
def _import_progress(name: str) -> Iterator[Callable[[ImportCounts], None]]:
    """A progress bar by bytes where the size is known; counts in any case."""
    size = None
    if name != STANDARD_INPUT:
        with suppress(OSError, ValueError):  # an invalid name is reported when the file is read
            size = Path(name).stat().st_size if Path(name).is_file() else None
    started = time.perf_counter()
    columns = TextColumn("Importing"), BarColumn(), TextColumn("{task.fields[counts]}"), TimeRemainingColumn()
    with output.progress(*columns) as bar:
        task = bar.add_task("", total=size, counts="")

        def show(counts: ImportCounts) -> None:
            rate = counts.total / max(0.001, time.perf_counter() - started)
            bar.update(task, completed=counts.position, counts=f"{counts.text(zeros=False)}, {rate:,.0f}/s")

        yield show


def _print_import(counts: ImportCounts, seconds: float, *, as_json: bool) -> None:
    def shortened(text: str) -> str:
        return repr(text if len(text) <= SHORT else f"{text[:SHORT]}…")

    problems = [replace(problem, text=shortened(problem.text)) for problem in counts.problems]
    for problem in problems:
        print_error(f"line {problem.line}: {problem.text}: {problem.reason}")
    more = counts.results[SubmitOutcome.INVALID] - len(problems)
    if more:
        print_error(f"and {counted(more, 'more invalid line', 'more invalid lines')}")
    record = {"last_line": counts.last_line, "complete": counts.is_complete, **counts.results, "problems": problems}
    text = f"{counts.text()}; {counts.total / max(0.001, seconds):,.0f} URLs/s."
    print_result(record, text, as_json=as_json)


def _resume(name: str, counts: ImportCounts) -> str:
    command = "" if name == STANDARD_INPUT else f"{own_command()} frontier import {name} "
    return (
        f"URLs up to line {counts.last_line} are queued. Importing the file again is harmless; "
        f"to continue: {command}--from-line {counts.last_line + 1}"
    )


def _bar(count: int, most: int) -> str:
    """At least one character for every count above 0."""
    return "█" * max(min(1, count), round(count / most * BAR))


def _row(url: FrontierUrl) -> tuple[str, ...]:
    found = f"{url.discovered_at:%m-%d %H:%M}"
    due = f"{url.next_fetch_at:%m-%d %H:%M}" if url.next_fetch_at else "never"
    return url.status, str(url.priority), found, url.origin, due, url.url, url.last_error or ""
