"""`headwater parse`: what the parser finds in files and at URLs. Needs no database, and keeps nothing."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from headwater.cli.documents import WEB, Document, Failed, load_file, print_record
from headwater.cli.exit_codes import ExitCode
from headwater.cli.terminal import AsJson, counted, load_quietly, print_table, progress, run, say
from headwater.feeds import Entry, FeedParseError, NotAFeed, ParsedFeed, parse_feed
from headwater.net import Client, FetchError
from headwater.polling.ask import ACCEPT
from headwater.polling.classify import classify_body, classify_fetch_error, classify_status
from headwater.runtime import open_client, utc_now
from headwater.settings import Settings
from headwater.urls import parse_url

Given = Annotated[list[str], typer.Argument(metavar="FILE|URL…", help="Feeds; - reads one from standard input.")]
BaseUrl = Annotated[
    str | None, typer.Option(help="Where the feed is taken to stand, for its relative links.", show_default="its URL")
]
ContentType = Annotated[
    str | None, typer.Option(help="The Content-Type it is taken to have come with.", show_default="that of the answer")
]
MaxEntries = Annotated[int | None, typer.Option(help="Most entries to take of a feed.", min=1, show_default="all")]


@dataclass(frozen=True, slots=True)
class Reading:
    """How documents are read; None leaves it to the document."""

    base_url: str | None
    content_type: str | None
    max_entries: int | None


def parse(
    given: Given,
    base_url: BaseUrl = None,
    content_type: ContentType = None,
    max_entries: MaxEntries = None,
    as_json: AsJson = False,
) -> None:
    """Parse feeds and show what is found in them. Exits with 1 when one cannot be read.

    With --json, one object a line: the feed and its entries, or `error` and `reason`. Durations are in seconds.

    Example: headwater parse feed.xml https://example.com/feed.xml --json
    """
    reading = Reading(parse_url(base_url) if base_url else None, content_type, max_entries)
    if not run(_parse_all(given, load_quietly(), reading, as_json=as_json)):
        raise typer.Exit(ExitCode.FAILED)


async def _parse_all(names: Sequence[str], settings: Settings, reading: Reading, *, as_json: bool) -> bool:
    """One after the other, so that memory holds one feed and a host gets one request at a time."""
    all_read = True
    bar = progress()
    bar.disable = bar.disable or sys.stdout.isatty()  # a person who sees the output itself needs no bar
    async with open_client(settings) as client:
        with bar:
            for name in bar.track(names, description="Parsing"):
                document = await _document(name, client, settings)
                found = document if isinstance(document, Failed) else _read(document, reading)
                all_read = all_read and isinstance(found, ParsedFeed)
                tell = _print_line if as_json else _show
                tell(name, found)
    return all_read


async def _document(name: str, client: Client, settings: Settings) -> Document | Failed:
    if WEB.match(name):
        return await _fetched(name, client, settings)
    return load_file(name, settings.poll_max_bytes)


async def _fetched(url: str, client: Client, settings: Settings) -> Document | Failed:
    try:
        response = await client.get(
            url, within=settings.poll_timeout, max_bytes=settings.poll_max_bytes, headers={"Accept": ACCEPT}
        )
    except FetchError as error:
        failed = classify_fetch_error(error)
        return Failed(failed.kind.value, failed.detail)
    if response.status != 200:
        failed = classify_status(response.status, response.headers, response.body, utc_now())
        return Failed(failed.kind.value, failed.detail)
    return Document(response.body, response.url, response.headers.get("Content-Type"))


def _read(document: Document, reading: Reading) -> ParsedFeed | Failed:
    try:
        return parse_feed(
            document.body,
            url=reading.base_url or document.url,
            content_type=reading.content_type or document.content_type,
            max_entries=reading.max_entries,
        )
    except (NotAFeed, FeedParseError) as error:
        failed = classify_body(error, 200)
        return Failed(failed.kind.value, failed.detail)
    except Exception as error:  # noqa: BLE001  a bug of the parser's is one finding among thousands, not their end
        return Failed("unexpected", f"Headwater itself failed: {type(error).__name__}: {error}")


def _print_line(name: str, found: ParsedFeed | Failed) -> None:
    print_record(name, _plain(found), _plain)


def _plain(value: Any) -> Any:  # noqa: ANN401  whatever a feed holds
    match value:
        case datetime():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case frozenset():
            return sorted(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]  hours, days
        case _:
            return {field.name: getattr(value, field.name) for field in fields(value)}


def _show(name: str, found: ParsedFeed | Failed) -> None:
    if isinstance(found, Failed):
        say(_printable(f"{name}: {found.reason} [{found.error}]"))
        return
    count = counted(len(found.entries), "entry", "entries")
    say(_printable(f"{found.title or 'Without a title'} ({found.format}, {count}): {name}"))
    if found.entries:
        print_table(["when", "title"], [_row(entry) for entry in found.entries])


def _row(entry: Entry) -> tuple[str, str]:
    when = entry.published_at or entry.updated_at
    return f"{when:%Y-%m-%d %H:%M}" if when else "", _printable(entry.title or entry.url or entry.id)


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "�" for letter in text)
