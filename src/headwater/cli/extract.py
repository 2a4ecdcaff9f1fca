"""`headwater extract`: what extraction finds in files and at URLs. Needs no database, and keeps nothing."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from headwater.articles.types import Extracted
from headwater.cli.documents import WEB, Document, Failed, load_file, print_record
from headwater.cli.exit_codes import ExitCode
from headwater.cli.terminal import AsJson, err, load_quietly, print_table, run, say
from headwater.extraction.compare import field_rows
from headwater.extraction.extract import extract as extract_page
from headwater.extraction.types import NO_SELECTORS, Selectors, UnreadablePage
from headwater.net import Client, FetchError
from headwater.runtime import open_client, open_page_sandbox
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
BaseUrl = Annotated[
    str | None, typer.Option(help="Where the page is taken to stand, for its relative links.", show_default="its URL")
]
ContentType = Annotated[
    str | None, typer.Option(help="The Content-Type it is taken to have come with.", show_default="that of the answer")
]
FromList = Annotated[bool, typer.Option("--from-stdin", help="Read further names from standard input, one a line.")]
WithoutHtml = Annotated[bool, typer.Option("--no-html", help="Leave out the cleaned HTML and JSON-LD.")]
TitleSelector = Annotated[list[str] | None, typer.Option("--title", help="CSS selector of the title.")]
BodySelector = Annotated[list[str] | None, typer.Option("--body", help="CSS selector of the text.")]
AuthorSelector = Annotated[list[str] | None, typer.Option("--author", help="CSS selector of the author.")]
DateSelector = Annotated[list[str] | None, typer.Option("--date", help="CSS selector of the date.")]
RemoveSelector = Annotated[list[str] | None, typer.Option("--remove", help="CSS selector of what is to be taken out.")]


@dataclass(frozen=True, slots=True)
class Reading:
    """How pages are read; None leaves it to the page."""

    base_url: str | None = None
    content_type: str | None = None
    selectors: Selectors = NO_SELECTORS


def extract(
    given: Given = [],  # noqa: B006  typer's way to say that none need be given
    base_url: BaseUrl = None,
    content_type: ContentType = None,
    title: TitleSelector = None,
    body: BodySelector = None,
    author: AuthorSelector = None,
    date: DateSelector = None,
    remove: RemoveSelector = None,
    from_stdin: FromList = False,
    no_html: WithoutHtml = False,
    as_json: AsJson = False,
) -> None:
    """Extract articles from pages and show what is found. Exits with 1 when a page cannot be read.

    With --json, one object a line, in the order given: the article's fields and `origins`, which says where each came
    from, or `error` and `reason`.

    Example: headwater extract page.html https://example.com/story --json
    """
    selectors = selectors_of(title, body, author, date, remove)
    reading = Reading(parse_url(base_url) if base_url else None, content_type, selectors)
    names = _names(given, from_stdin=from_stdin)
    tell = _Lines(without_html=no_html) if as_json else _Views()
    if not run(_extract_all(names, load_quietly(), reading, tell)):
        raise typer.Exit(ExitCode.FAILED)


def selectors_of(
    title: list[str] | None,
    body: list[str] | None,
    author: list[str] | None,
    date: list[str] | None,
    remove: list[str] | None,
) -> Selectors:
    """Selectors as options give them."""
    return Selectors(*(tuple(given or ()) for given in (title, body, author, date, remove)))


def _names(given: Iterable[str], *, from_stdin: bool) -> Iterator[str]:
    """What to read, one after the other; a folder stands for all its pages, in order."""
    for name in given:
        yield from _pages_in(name)
    if from_stdin:
        # Names as files have them: UTF-8, and bytes that are no text, whatever the terminal's encoding is.
        for line in typer.get_text_stream("stdin", encoding="utf-8", errors="surrogateescape"):
            if name := line.strip():
                yield from _pages_in(name)


def _pages_in(name: str) -> Iterator[str]:
    if WEB.match(name):
        yield name
        return
    with suppress(OSError, ValueError):  # ValueError: a name that no file can have; it is told when it is read
        if name and Path(name).is_dir():
            yield from (str(path) for path in sorted(Path(name).rglob("*")) if path.suffix.lower() in PAGES)
            return
    yield name


class _Lines:
    """One JSON object a line."""

    def __init__(self, *, without_html: bool) -> None:
        self._left_out = {"problems"} | ({"html", "linked_data"} if without_html else set[str]())

    def __call__(self, name: str, found: Extracted | Failed) -> None:
        plain = {field.name: getattr(found, field.name) for field in fields(found) if field.name not in self._left_out}
        print_record(name, plain, _plain)


class _Views:
    """Something for a person to read."""

    def __call__(self, name: str, found: Extracted | Failed) -> None:
        if isinstance(found, Failed):
            say(f"{name}: {found.reason} [{found.error}]")
            return
        say(f"{found.title or 'Without a title'}: {name}")
        print_table(["field", "from", "value"], field_rows(found))
        say(f"\n{shortened(found.text) or 'No text was found.'}\n")


def shortened(text: str) -> str:
    """The beginning of a text."""
    return text if len(text) <= SHOWN_TEXT else f"{text[:SHOWN_TEXT].rstrip()} …"


async def _extract_all(names: Iterator[str], settings: Settings, reading: Reading, tell: _Lines | _Views) -> bool:
    """As many at a time as there are processes; told in the order given. Memory holds only these."""
    all_read = True
    count = 0
    async with open_client(settings) as client, open_page_sandbox(settings) as sandbox:
        with err.status("Extracting…") as status:
            async for name, found in _found(
                names, Reader(client, sandbox, settings, reading), settings.extract_processes
            ):
                count += 1
                all_read = all_read and isinstance(found, Extracted)
                tell(name, found)
                status.update(f"Extracting… {count:,}")
    if count == 0:
        raise typer.BadParameter("No page was given.")
    return all_read


async def _found(
    names: Iterator[str], reader: "Reader", at_a_time: int
) -> AsyncIterator[tuple[str, Extracted | Failed]]:
    waiting: list[tuple[str, asyncio.Task[Extracted | Failed]]] = []
    try:
        for name in names:
            waiting.append((name, asyncio.create_task(reader.read(name))))
            if len(waiting) > 2 * at_a_time:
                first, task = waiting.pop(0)
                yield first, await task
        while waiting:
            first, task = waiting.pop(0)
            yield first, await task
    finally:
        for _, task in waiting:
            task.cancel()


class Reader:
    """Brings pages and reads them in the sandbox. What goes wrong is a value."""

    def __init__(self, client: Client, sandbox: Sandbox, settings: Settings, reading: Reading) -> None:
        self._client = client
        self._sandbox = sandbox
        self._settings = settings
        self._reading = reading
        self._one_by_one = asyncio.Lock()  # a host gets one request at a time

    async def read(self, name: str) -> Extracted | Failed:
        """What is found in a file or at a URL."""
        document = await self.document(name)
        return document if isinstance(document, Failed) else await self.found(document, self._reading.selectors)

    async def document(self, name: str) -> Document | Failed:
        """The page itself."""
        if not WEB.match(name):
            return load_file(name, self._settings.fetch_max_bytes)
        async with self._one_by_one:
            return await self._fetched(name)

    async def found(self, document: Document, selectors: Selectors) -> Extracted | Failed:
        """What these selectors, and then extraction, find in it."""
        try:
            return await self._sandbox.run(
                extract_page,
                document.body,
                url=self._reading.base_url or document.url,
                content_type=self._reading.content_type or document.content_type,
                selectors=selectors,
            )
        except UnreadablePage as error:
            return Failed("unreadable", error.reason)
        except Overrun as error:
            return Failed("extraction_overrun", error.reason)
        except Exception as error:  # noqa: BLE001  a bug of ours is one finding among thousands, not their end
            return Failed("unexpected", f"Headwater itself failed: {type(error).__name__}: {error}")

    async def _fetched(self, url: str) -> Document | Failed:
        try:
            response = await self._client.get(
                url,
                within=self._settings.request_timeout,
                max_bytes=self._settings.fetch_max_bytes,
                headers={"Accept": ACCEPT},
            )
        except FetchError as error:
            return Failed(error.kind.value, error.detail)
        if response.status != 200:
            return Failed(f"http_{response.status}", f"The server answered {response.status}.")
        return Document(response.body, response.url, response.headers.get("Content-Type"))


def _plain(value: object) -> object:
    match value:
        case datetime():
            return value.isoformat()
        case bytes():
            return value.hex()
        case _:
            return str(value)
