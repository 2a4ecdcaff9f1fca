"""`headwater frontier`: which URLs wait to be fetched, and what came of those that were."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from headwater.cli.exit_codes import ExitCode
from headwater.cli.import_urls import Importer, Order, Tally
from headwater.cli.stopping import stop_on_signals
from headwater.cli.terminal import (
    AsJson,
    complain,
    counted,
    err,
    load_quietly,
    own_command,
    print_json,
    print_table,
    run,
    say,
)
from headwater.cli.url_lines import STANDARD_INPUT, Format, is_a_terminal
from headwater.db import Connection
from headwater.errors import HeadwaterError, Invalid
from headwater.frontier import store
from headwater.frontier.listing import store as listing
from headwater.frontier.retrying import retry_matching
from headwater.frontier.types import (
    Fate,
    FrontierStats,
    FrontierUrl,
    Origin,
    Status,
    Submission,
    Submitted,
    UrlCursor,
    UrlFilter,
)
from headwater.runtime import open_runtime
from headwater.settings import Settings
from headwater.sources.follow import find
from headwater.sources.store import sources
from headwater.types import SourceId

frontier_app = typer.Typer(
    help="See which URLs wait to be fetched, and add some.\n\nExample: headwater frontier submit https://example.com/a",
    no_args_is_help=True,
)

OfSource = Annotated[str | None, typer.Option("--source", help="A source, by its id or feed URL.")]
Priority = Annotated[int | None, typer.Option(help="1 to 10, 10 the most urgent.", min=1, max=10, show_default="5")]
OnHost = Annotated[str | None, typer.Option("--host", help="Only those on this host.")]
Lenient = Annotated[bool, typer.Option("--lenient", help="Exit with 0 even when lines cannot be used.")]

PAGE = 500
BAR = 30  # characters
SOURCES_SHOWN = 20
SHORT = 100  # characters of a line that cannot be used


@frontier_app.command()
def submit(
    urls: Annotated[list[str], typer.Argument(metavar="URL…", help="Pages to fetch.")],
    source: OfSource = None,
    priority: Priority = None,
    as_json: AsJson = False,
) -> None:
    """Queue URLs to be fetched. Those that are known are not queued twice. Exits with 1 when one cannot be used.

    With --json, one object a line.

    Example: headwater frontier submit https://example.com/news/1 --priority 9
    """
    given = [os.fsencode(url).decode(errors="replace") for url in urls]
    results = run(_submit(load_quietly(), given, source, priority))
    for result in results:
        if as_json:
            print_json({"url": result.url, "fate": result.fate, "id": result.id, "reason": result.reason})
        else:
            say(f"{result.fate:8} {_printable(result.url)}{f': {result.reason}' if result.reason else ''}")
    if any(result.fate is Fate.INVALID for result in results):
        raise typer.Exit(ExitCode.FAILED)


@frontier_app.command("import")
def import_file(
    file: Annotated[str, typer.Argument(metavar="FILE", help="URLs, one a line; - reads standard input.")],
    source: OfSource = None,
    priority: Priority = None,
    file_format: Annotated[
        Format, typer.Option("--format", help="How it is written.", show_default="by its name, or its first line")
    ] = Format.AUTO,
    from_line: Annotated[int, typer.Option(help="Begin here.", min=1)] = 1,
    lenient: Lenient = False,
    as_json: AsJson = False,
) -> None:
    """Queue all URLs of a file, of any length. Exits with 1 when lines cannot be used.

    A line is a URL; or the file is CSV or JSON lines with url, source and priority. It may be packed by gzip.
    Importing the same file again is harmless: what is known is not queued twice.

    Example: headwater frontier import urls.csv --priority 3
    """
    if is_a_terminal(file):
        say("Type URLs, one a line; Ctrl-D ends.")
    started = time.perf_counter()
    settings = load_quietly()
    order = Order(file, file_format, from_line, priority=priority)
    tally, failure = run(_import(settings, order, source))
    if failure is None or tally.total:
        _tell_import(tally, time.perf_counter() - started, as_json=as_json)
    if failure is not None:
        if tally.total:
            complain(_resume(order, tally))
        raise failure
    if not tally.is_complete:
        complain(f"Stopped. {_resume(order, tally)}")
        raise typer.Exit(ExitCode.INTERRUPTED)
    if tally.fates[Fate.INVALID] and not lenient:
        raise typer.Exit(ExitCode.FAILED)


@frontier_app.command("list")
def list_urls(
    status: Annotated[Status | None, typer.Option(help="Only those that stand here.")] = None,
    source: OfSource = None,
    host: OnHost = None,
    origin: Annotated[Origin | None, typer.Option(help="Only those found by this.")] = None,
    text: Annotated[str | None, typer.Option("--text", "-q", help="Only those whose URL holds this.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many.", min=1)] = 20,
    as_json: AsJson = False,
) -> None:
    """List URLs, the newest first. With --json, one object a line.

    Example: headwater frontier list --status dead --host example.com -n 100
    """
    found: list[FrontierUrl] = []
    show = _print_line if as_json else found.append
    count = run(_list(load_quietly(), source, UrlFilter(status, None, host, origin, text), limit, show))
    if found:
        print_table(["status", "priority", "found", "by", "next", "url", "why"], [_row(url) for url in found])
    elif not count and not as_json:
        say("No such URLs. `headwater frontier stats` counts those that there are.")


@frontier_app.command()
def stats(as_json: AsJson = False) -> None:
    """Count the URLs by status and by source.

    Example: headwater frontier stats
    """
    counted, names = run(_stats(load_quietly()))
    if as_json:
        by_source = [asdict(tally) | {"source": names.get(tally.source_id)} for tally in counted.by_source]
        print_json({"by_status": counted.by_status, "by_source": by_source})
    else:
        _show_stats(counted, names)


@frontier_app.command()
def retry(
    ids: Annotated[list[UUID] | None, typer.Argument(metavar="[ID]…", help="URLs, by their ids.")] = None,
    status: Annotated[Status | None, typer.Option(help="All that are failed, or dead.")] = None,
    host: OnHost = None,
    source: OfSource = None,
    as_json: AsJson = False,
) -> None:
    """Try URLs again that failed or are dead: by their ids, or all that fit.

    Example: headwater frontier retry --status dead --host example.com
    """
    if status not in {None, Status.FAILED, Status.DEAD}:
        raise Invalid("Only what is failed or dead can be tried again.")
    if bool(ids) == any(value is not None for value in (status, host, source)):
        raise Invalid("Name the URLs by their ids, or say which: --status, --host, --source.")
    count = run(_retry(load_quietly(), ids, source, UrlFilter(status, None, host)))
    if as_json:
        print_json({"retried": count})
    else:
        say(f"{counted(count, 'URL waits', 'URLs wait')} again.")


async def _submit(
    settings: Settings, urls: Sequence[str], source: str | None, priority: int | None
) -> Sequence[Submitted]:
    async with open_runtime(settings) as runtime, runtime.database.transaction() as conn:
        source_id = await _source_id(conn, source)
        submissions = [Submission(url, Origin.MANUAL, source_id=source_id, priority=priority) for url in urls]
        return await store.submit(conn, submissions=submissions, now=runtime.tools.clock())


async def _import(settings: Settings, order: Order, source: str | None) -> tuple[Tally, HeadwaterError | None]:
    """How far it came, and what ended it before its time."""
    with stop_on_signals() as stop:
        async with open_runtime(settings) as runtime:
            async with runtime.database.transaction() as conn:
                order = replace(order, source_id=await _source_id(conn, source))
            with _progress(order.name) as show:
                importer = Importer(runtime.database, runtime.tools.clock, order, show)
                try:
                    await importer.run(stop)
                except HeadwaterError as error:
                    return importer.tally, error
            return importer.tally, None


async def _list(
    settings: Settings, source: str | None, wanted: UrlFilter, limit: int, show: Callable[[FrontierUrl], None]
) -> int:
    """Shows each as it comes; returns how many there were."""
    count = 0
    async with open_runtime(settings) as runtime:
        async with runtime.database.transaction() as conn:
            wanted = replace(wanted, source_id=await _source_id(conn, source))
        after: UrlCursor | None = None
        while True:
            async with runtime.database.transaction() as conn:
                page = await listing.list_urls(
                    conn, wanted=wanted, now=runtime.tools.clock(), after=after, limit=min(PAGE, limit - count)
                )
            for url in page.urls:
                show(url)
            count, after = count + len(page.urls), page.next
            if after is None or count >= limit:
                return count


async def _stats(settings: Settings) -> tuple[FrontierStats, dict[SourceId | None, str]]:
    async with open_runtime(settings) as runtime, runtime.database.transaction() as conn:
        return await listing.stats(conn, now=runtime.tools.clock()), {
            source.id: source.name for source in await sources.list_all(conn)
        }


async def _retry(settings: Settings, ids: Sequence[UUID] | None, source: str | None, wanted: UrlFilter) -> int:
    async with open_runtime(settings) as runtime:
        async with runtime.database.transaction() as conn:
            wanted = replace(wanted, source_id=await _source_id(conn, source))
            if ids:
                return len(await store.retry(conn, ids=ids, now=runtime.tools.clock()))
        return (await retry_matching(runtime.database, runtime.tools.clock, wanted=wanted)).retried


async def _source_id(conn: Connection, wanted: str | None) -> SourceId | None:
    return (await find(conn, wanted)).id if wanted is not None else None


@contextmanager
def _progress(name: str) -> Iterator[Callable[[Tally], None]]:
    """A bar by bytes where the file has an end, counts in any case; nothing where nobody watches."""
    size = Path(name).stat().st_size if name != STANDARD_INPUT and Path(name).is_file() else None
    bar = Progress(
        TextColumn("Importing"),
        BarColumn(),
        TextColumn("{task.fields[told]}"),
        TimeRemainingColumn(),
        console=err,
        disable=not sys.stderr.isatty(),
        transient=True,
    )
    started = time.perf_counter()
    with bar:
        task = bar.add_task("", total=size, told="")

        def show(tally: Tally) -> None:
            rate = tally.total / max(0.001, time.perf_counter() - started)
            counts = ", ".join(f"{count:,} {fate}" for fate, count in tally.fates.items() if count)
            bar.update(task, completed=tally.position, told=f"{counts}, {rate:,.0f}/s")

        yield show


def _counts(tally: Tally) -> str:
    return ", ".join(f"{count:,} {fate}" for fate, count in tally.fates.items())


def _tell_import(tally: Tally, seconds: float, *, as_json: bool) -> None:
    for problem in tally.problems:
        complain(f"line {problem.line}: {_short(problem.text)}: {problem.reason}")
    more = tally.fates[Fate.INVALID] - len(tally.problems)
    if more:
        complain(f"and {counted(more, 'more line', 'more lines')} that cannot be used")
    if as_json:
        problems = [asdict(problem) | {"text": _short(problem.text)} for problem in tally.problems]
        print_json({"last_line": tally.last_line, "complete": tally.is_complete, **tally.fates, "problems": problems})
    else:
        say(f"{_counts(tally)}; {tally.total / max(0.001, seconds):,.0f} URLs/s.")


def _resume(order: Order, tally: Tally) -> str:
    again = f"{own_command()} frontier import {order.name} --from-line {tally.last_line + 1}"
    if order.name == STANDARD_INPUT:
        again = f"--from-line {tally.last_line + 1}"
    return (
        f"What was queued stays queued, up to line {tally.last_line}. Importing the file again is harmless; "
        f"to begin where it ended: {again}"
    )


def _show_stats(counted: FrontierStats, names: Mapping[SourceId | None, str]) -> None:
    most = max(1, *counted.by_status.values())
    rows = [(status, f"{count:,}", _bar(count, most)) for status, count in counted.by_status.items()]
    print_table(["status", "URLs", ""], rows)
    if not counted.by_source:
        return
    say("")
    largest = sorted(counted.by_source, key=lambda tally: tally.total, reverse=True)
    print_table(
        ["source", "pending", "fetching", "fetched", "failed", "dead", ""],
        [
            (
                names.get(tally.source_id, "none" if tally.source_id is None else str(tally.source_id)),
                *(f"{count:,}" for count in (tally.pending, tally.fetching, tally.fetched, tally.failed, tally.dead)),
                _bar(tally.total, max(1, largest[0].total)),
            )
            for tally in largest[:SOURCES_SHOWN]
        ],
    )
    if len(largest) > SOURCES_SHOWN:
        say(f"and {len(largest) - SOURCES_SHOWN:,} more: headwater frontier stats --json")


def _bar(count: int, most: int) -> str:
    """Every count above none shows."""
    return "█" * max(min(1, count), round(count / most * BAR))


def _print_line(url: FrontierUrl) -> None:
    print_json(asdict(url) | {"content_hash": url.content_hash.hex() if url.content_hash else None})


def _row(url: FrontierUrl) -> tuple[str, ...]:
    found = f"{url.discovered_at:%m-%d %H:%M}"
    due = f"{url.next_fetch_at:%m-%d %H:%M}" if url.next_fetch_at else "never"
    return url.status, str(url.priority), found, url.origin, due, url.url, url.last_error or ""


def _short(text: str) -> str:
    return repr(text if len(text) <= SHORT else f"{text[:SHORT]}…")


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "�" for letter in text)
