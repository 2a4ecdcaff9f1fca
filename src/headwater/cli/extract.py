"""`headwater extract`: what extraction finds in files and at URLs. Stores nothing."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Annotated

import typer

from headwater.articles.types import Extracted
from headwater.cli.documents import (
    SELECTORS,
    WEB,
    BaseUrl,
    ContentType,
    LoadedDocument,
    ReadFailure,
    load_file,
    print_record,
    selectors_of,
    unexpected,
)
from headwater.cli.running import with_options
from headwater.cli.terminal import AsJson, err, exit_failed, load_quietly, plain, print_table, print_text, run
from headwater.errors import HostBusy
from headwater.extraction.compare import field_rows
from headwater.extraction.extract import extract as extract_page
from headwater.extraction.types import Selectors, UnreadablePage
from headwater.hosts.turns import Turns, get_in_turn
from headwater.net import Client, FetchError
from headwater.runtime import open_client, open_page_sandbox, open_turns
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


@with_options("selectors", SELECTORS, selectors_of)
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
            print_record(name, {key: value for key, value in plain(found).items() if key not in omitted})
        elif isinstance(found, ReadFailure):
            print_text(f"{name}: {found.reason} [{found.error}]")
        else:
            print_text(f"{found.title or 'Without a title'}: {name}")
            print_table(["field", "from", "value"], field_rows(found))
            print_text(f"\n{shortened(found.text) or 'No text was found.'}\n")

    async def extract_all(settings: Settings) -> bool:
        all_read, count = True, 0
        in_turn = open_turns(settings) if from_stdin or any(map(WEB.match, given)) else nullcontext()
        async with open_client(settings) as client, open_page_sandbox(settings) as sandbox, in_turn as turns:
            reader = PageReader(client, sandbox, settings, base, content_type, turns)
            with err.status("Extracting…") as status:
                names = _names(given, from_stdin=from_stdin)
                async for name, found in _in_order(names, reader, selectors, settings.extract_processes):
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
    names: Iterator[str], reader: "PageReader", selectors: Selectors, at_a_time: int
) -> AsyncIterator[tuple[str, Extracted | ReadFailure]]:
    """What is found in each page, in the order given; a few pages are read at a time and held in memory."""
    waiting: list[tuple[str, asyncio.Task[Extracted | ReadFailure]]] = []
    try:
        while True:
            more = islice(names, 2 * at_a_time - len(waiting))
            waiting += [(name, asyncio.create_task(reader.read(name, selectors))) for name in more]
            if not waiting:
                return
            first, task = waiting.pop(0)
            yield first, await task
    finally:
        for _, task in waiting:
            task.cancel()


@dataclass(frozen=True, slots=True)
class PageReader:
    """Loads pages and extracts from them in the sandbox. Failures are values."""

    client: Client
    sandbox: Sandbox
    settings: Settings
    base_url: str | None = None
    content_type: str | None = None
    turns: Turns | None = None
    one_request: asyncio.Lock = field(default_factory=asyncio.Lock)  # a host gets one request at a time

    async def read(self, name: str, selectors: Selectors) -> Extracted | ReadFailure:
        document = await self.load(name)
        return document if isinstance(document, ReadFailure) else await self.extract(document, selectors)

    async def extract(self, document: LoadedDocument, selectors: Selectors) -> Extracted | ReadFailure:
        page = document.assuming(self.base_url, self.content_type)
        try:
            return await self.sandbox.run(
                extract_page, page.body, url=page.url, content_type=page.content_type, selectors=selectors
            )
        except UnreadablePage as error:
            return ReadFailure("unreadable", error.reason)
        except Overrun as error:
            return ReadFailure("extraction_overrun", error.reason)
        except Exception as error:  # noqa: BLE001
            return unexpected(error)

    async def load(self, name: str) -> LoadedDocument | ReadFailure:
        most, within = self.settings.fetch_max_bytes, self.settings.request_timeout
        if not WEB.match(name):
            return load_file(name, most)
        try:
            async with self.one_request:
                response = await get_in_turn(
                    self.turns, self.client, name, within=within, max_bytes=most, headers={"Accept": ACCEPT}
                )
        except FetchError as error:
            return ReadFailure(error.kind.value, error.detail)
        except HostBusy as error:
            return ReadFailure("host_busy", str(error))
        if response.status != 200:
            return ReadFailure(f"http_{response.status}", f"The server answered {response.status}.")
        return LoadedDocument(response.body, response.url, response.headers.get("Content-Type"))
