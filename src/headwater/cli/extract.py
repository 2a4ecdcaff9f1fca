"""`headwater extract`: what extraction finds in files and at URLs. Stores nothing."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Annotated

import typer

from headwater.articles.types import Extracted
from headwater.cli.documents import WEB, LoadedDocument, LoadOptions, ReadFailure, label, open_loader, unexpected
from headwater.cli.options import AsJson, BaseUrl, ContentType, with_selectors
from headwater.cli.output import err, plain, print_json, print_table, print_text
from headwater.cli.terminal import exit_failed, load_quietly, run
from headwater.extraction.extract import extract as extract_page
from headwater.extraction.selector_trial import field_rows
from headwater.extraction.types import Selectors, UnreadablePage
from headwater.net import FetchError, Response
from headwater.runtime import open_page_sandbox
from headwater.sandbox import Overrun, Sandbox
from headwater.settings import Settings
from headwater.urls import parse_url

ACCEPT = "text/html, application/xhtml+xml;q=0.9, */*;q=0.5"
PAGES = (".html", ".htm", ".xhtml")
SHOWN_TEXT = 2_000

Given = Annotated[
    list[str],
    typer.Argument(metavar="FILE|FOLDER|URL…", help="Pages; a folder stands for its pages, - for standard input."),
]
FromList = Annotated[bool, typer.Option("--from-stdin", help="Read further names from standard input, one a line.")]
WithoutHtml = Annotated[bool, typer.Option("--no-html", help="Omit the sanitised HTML and JSON-LD.")]


@with_selectors
def extract(
    selectors: Selectors,
    given: Given = [],  # noqa: B006  none need be given
    base_url: BaseUrl = None,
    content_type: ContentType = None,
    from_stdin: FromList = False,
    no_html: WithoutHtml = False,
    as_json: AsJson = False,
) -> None:
    """Extract articles from pages and show what is found. Exits with 1 when a page cannot be read.

    With --json, one object a line, in the order given: the article's fields and `origins`, which says where each came
    from, or `error` and `reason`.

    Example: headwater extract page.html https://example.com/story --json
    """
    base = parse_url(base_url) if base_url else None
    omitted = {"problems"} | ({"html", "linked_data"} if no_html else set[str]())

    def print_found(name: str, found: Extracted | ReadFailure) -> None:
        if as_json:
            print_json(label(name) | {key: value for key, value in plain(found).items() if key not in omitted})
        elif isinstance(found, ReadFailure):
            print_text(f"{name}: {found.reason} [{found.error}]")
        else:
            print_text(f"{found.title or 'Without a title'}: {name}")
            print_table(["field", "from", "value"], field_rows(found))
            print_text(f"\n{shortened(found.text) or 'No text was found.'}\n")

    async def extract_all(settings: Settings) -> bool:
        all_read, count = True, 0
        uses_web = from_stdin or any(map(WEB.match, given))
        options = load_options(settings, base, content_type)
        async with open_page_sandbox(settings) as sandbox, open_loader(settings, options, uses_web=uses_web) as load:

            async def read(name: str) -> Extracted | ReadFailure:
                page = await load(name)
                return page if isinstance(page, ReadFailure) else await extract_document(sandbox, page, selectors)

            with err.status("Extracting…") as status:
                names = _names(given, from_stdin=from_stdin)
                async for name, found in _in_order(names, read, 2 * settings.extract_processes):
                    count += 1
                    all_read = all_read and isinstance(found, Extracted)
                    print_found(name, found)
                    status.update(f"Extracting… {count:,}")
        if count == 0:
            raise typer.BadParameter("No page was given.")
        return all_read

    exit_failed(not run(extract_all(load_quietly())))


def shortened(text: str) -> str:
    return text if len(text) <= SHOWN_TEXT else f"{text[:SHOWN_TEXT].rstrip()} …"


def _names(given: Iterable[str], *, from_stdin: bool) -> Iterator[str]:
    # File names are UTF-8 or arbitrary bytes, whatever the terminal's encoding is.
    lines = typer.get_text_stream("stdin", encoding="utf-8", errors="surrogateescape") if from_stdin else ()
    for name in chain(given, filter(None, map(str.strip, lines))):
        yield from _pages_in(name)


def _pages_in(name: str) -> Iterator[str]:
    """The pages of a folder, in order; anything else as it is."""
    with suppress(OSError, ValueError):  # ValueError: an invalid file name, reported when it is read
        if name and not WEB.match(name) and Path(name).is_dir():
            yield from (str(path) for path in sorted(Path(name).rglob("*")) if path.suffix.lower() in PAGES)
            return
    yield name


async def _in_order(
    names: Iterator[str], read: Callable[[str], Awaitable[Extracted | ReadFailure]], at_a_time: int
) -> AsyncIterator[tuple[str, Extracted | ReadFailure]]:
    """What is found in each page, in the order given; a few pages are read at a time and held in memory."""
    waiting: list[tuple[str, asyncio.Future[Extracted | ReadFailure]]] = []
    try:
        while True:
            more = islice(names, at_a_time - len(waiting))
            waiting += [(name, asyncio.ensure_future(read(name))) for name in more]
            if not waiting:
                return
            first, task = waiting.pop(0)
            yield first, await task
    finally:
        for _, task in waiting:
            task.cancel()


def load_options(settings: Settings, base_url: str | None = None, content_type: str | None = None) -> LoadOptions:
    return LoadOptions(
        settings.request_timeout, settings.fetch_max_bytes, ACCEPT, _failure,
        base_url=base_url, content_type=content_type, is_page=True,
    )  # fmt: skip


def _failure(found: FetchError | Response) -> ReadFailure:
    if isinstance(found, FetchError):
        return ReadFailure(found.kind.value, found.detail)
    return ReadFailure(f"http_{found.status}", f"The server answered {found.status}.")


async def extract_document(sandbox: Sandbox, page: LoadedDocument, selectors: Selectors) -> Extracted | ReadFailure:
    try:
        return await sandbox.run(
            extract_page, page.body, url=page.url, content_type=page.content_type, selectors=selectors
        )
    except UnreadablePage as error:
        return ReadFailure("unreadable", str(error))
    except Overrun as error:
        return ReadFailure("extraction_overrun", error.reason)
    except Exception as error:  # noqa: BLE001
        return unexpected(error)
