"""`headwater parse`: what the parser finds in files and at URLs. Stores nothing."""

import sys
from datetime import timedelta
from typing import Annotated

import typer

from headwater.cli.documents import WEB, LoadedDocument, LoadOptions, ReadFailure, label, open_loader, unexpected
from headwater.cli.options import AsJson, BaseUrl, ContentType
from headwater.cli.output import counted, plain, print_json, print_table, print_text, progress, stamp, without_controls
from headwater.cli.terminal import exit_failed, load_quietly, run
from headwater.feeds import FeedParseError, NotAFeed, ParsedFeed, parse_feed
from headwater.net import FetchError, Response
from headwater.polling.classify import classify_body, classify_fetch_error, classify_status
from headwater.polling.request import ACCEPT
from headwater.runtime import utc_now
from headwater.settings import Settings
from headwater.urls import parse_url

Given = Annotated[list[str], typer.Argument(metavar="FILE|URL…", help="Feeds; - reads one from standard input.")]
MaxEntries = Annotated[int | None, typer.Option(help="Maximum entries of a feed.", min=1, show_default="all")]


def parse(
    given: Given, base_url: BaseUrl = None, content_type: ContentType = None, max_entries: MaxEntries = None,
    as_json: AsJson = False
) -> None:  # fmt: skip
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
        options = LoadOptions(
            settings.poll_timeout, settings.poll_max_bytes, ACCEPT, _failure, base_url=base, content_type=content_type
        )
        async with open_loader(settings, options, uses_web=any(map(WEB.match, given))) as load:
            with bar:
                for name in bar.track(given, description="Parsing"):
                    found = await load(name)
                    if isinstance(found, LoadedDocument):
                        found = _parse(found, max_entries)
                    all_read = all_read and isinstance(found, ParsedFeed)
                    print_json(label(name) | plain(found), _plain) if as_json else _print(name, found)
        return all_read

    exit_failed(not run(parse_all(load_quietly())))


def _parse(document: LoadedDocument, max_entries: int | None) -> ParsedFeed | ReadFailure:
    try:
        return parse_feed(document.body, url=document.url, content_type=document.content_type, max_entries=max_entries)
    except (NotAFeed, FeedParseError) as error:
        failed = classify_body(error, 200)
        return ReadFailure(failed.kind.value, failed.detail)
    except Exception as error:  # noqa: BLE001
        return unexpected(error)


def _failure(found: FetchError | Response) -> ReadFailure:
    if isinstance(found, FetchError):
        failed = classify_fetch_error(found)
    else:
        failed = classify_status(found.status, found.headers, found.body, utc_now())
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
        print_table(["when", "title"], [
            (stamp(one.published_at or one.updated_at), without_controls(one.title or one.url or one.id))
            for one in found.entries
        ])  # fmt: skip
