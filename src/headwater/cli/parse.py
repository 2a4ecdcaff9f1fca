"""`headwater parse`: what the parser finds in files and at URLs. Stores nothing."""

import sys
from contextlib import nullcontext
from datetime import timedelta
from typing import Annotated

import typer

from headwater.cli.documents import (
    WEB,
    BaseUrl,
    ContentType,
    LoadedDocument,
    ReadFailure,
    load_file,
    print_record,
    unexpected,
)
from headwater.cli.terminal import (
    AsJson,
    counted,
    exit_failed,
    load_quietly,
    plain,
    print_table,
    print_text,
    progress,
    run,
    without_controls,
)
from headwater.errors import HostBusy
from headwater.feeds import FeedParseError, NotAFeed, ParsedFeed, parse_feed
from headwater.hosts.turns import Turns, get_in_turn
from headwater.net import Client, FetchError
from headwater.polling.ask import ACCEPT
from headwater.polling.classify import classify_body, classify_fetch_error, classify_status
from headwater.polling.types import PollFailed
from headwater.runtime import open_client, open_turns, utc_now
from headwater.settings import Settings
from headwater.urls import parse_url

Given = Annotated[list[str], typer.Argument(metavar="FILE|URL…", help="Feeds; - reads one from standard input.")]
MaxEntries = Annotated[int | None, typer.Option(help="Maximum entries of a feed.", min=1, show_default="all")]


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
    base = parse_url(base_url) if base_url else None

    async def parse_all(settings: Settings) -> bool:
        """One after the other, so that memory holds one feed and a host gets one request at a time."""
        all_read = True
        bar = progress()
        bar.disable = bar.disable or sys.stdout.isatty()  # the output itself shows the progress
        in_turn = open_turns(settings) if any(map(WEB.match, given)) else nullcontext()
        async with open_client(settings) as client, in_turn as turns:
            with bar:
                for name in bar.track(given, description="Parsing"):
                    found = await _load(name, client, turns, settings)
                    if isinstance(found, LoadedDocument):
                        found = _parse(found.assuming(base, content_type), max_entries)
                    all_read = all_read and isinstance(found, ParsedFeed)
                    print_record(name, plain(found), _plain) if as_json else _print(name, found)
        return all_read

    exit_failed(not run(parse_all(load_quietly())))


async def _load(name: str, client: Client, turns: Turns | None, settings: Settings) -> LoadedDocument | ReadFailure:
    if not WEB.match(name):
        return load_file(name, settings.poll_max_bytes)
    try:
        response = await get_in_turn(
            turns, client, name,
            within=settings.poll_timeout, max_bytes=settings.poll_max_bytes, headers={"Accept": ACCEPT},
        )  # fmt: skip
    except FetchError as error:
        return _failure(classify_fetch_error(error))
    except HostBusy as error:
        return ReadFailure("host_busy", str(error))
    if response.status != 200:
        return _failure(classify_status(response.status, response.headers, response.body, utc_now()))
    return LoadedDocument(response.body, response.url, response.headers.get("Content-Type"))


def _parse(document: LoadedDocument, max_entries: int | None) -> ParsedFeed | ReadFailure:
    try:
        return parse_feed(document.body, url=document.url, content_type=document.content_type, max_entries=max_entries)
    except (NotAFeed, FeedParseError) as error:
        return _failure(classify_body(error, 200))
    except Exception as error:  # noqa: BLE001
        return unexpected(error)


def _failure(failed: PollFailed) -> ReadFailure:
    return ReadFailure(failed.kind.value, failed.detail)


def _plain(value: object) -> object:
    return value.total_seconds() if isinstance(value, timedelta) else plain(value)


def _print(name: str, found: ParsedFeed | ReadFailure) -> None:
    if isinstance(found, ReadFailure):
        print_text(without_controls(f"{name}: {found.reason} [{found.error}]"))
        return
    count = counted(len(found.entries), "entry", "entries")
    print_text(without_controls(f"{found.title or 'Without a title'} ({found.format}, {count}): {name}"))
    if found.entries:
        dated = ((entry, entry.published_at or entry.updated_at) for entry in found.entries)
        titled = ((f"{when:%Y-%m-%d %H:%M}" if when else "", one.title or one.url or one.id) for one, when in dated)
        print_table(["when", "title"], [(when, without_controls(title)) for when, title in titled])
