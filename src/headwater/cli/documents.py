"""Documents for `parse`, `extract` and `source test`, from files and URLs. A failure is a value."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

import typer

from headwater.errors import HostBusy
from headwater.hosts.robots_cache import Closed, PageRequests
from headwater.hosts.turns import get_in_turn
from headwater.net import FetchError, Response
from headwater.runtime import open_client, open_turns, options_of, utc_now
from headwater.settings import Settings

WEB = re.compile(r"https?:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LoadedDocument:
    """A body, and the URL and Content-Type it was served with."""

    body: bytes
    url: str = ""
    content_type: str | None = None


@dataclass(frozen=True, slots=True)
class ReadFailure:
    """Why a document could not be read: a class of failure, and a sentence."""

    error: str
    reason: str


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Limits of a document; `failure` describes a request without a response, or a response other than 200."""

    within: timedelta
    max_bytes: int
    accept: str
    failure: Callable[[FetchError | Response], ReadFailure]
    base_url: str | None = None  # instead of the document's own
    content_type: str | None = None
    is_page: bool = False  # robots.txt applies to pages, not to feeds


Loader = Callable[[str], Awaitable[LoadedDocument | ReadFailure]]


@asynccontextmanager
async def open_loader(settings: Settings, options: LoadOptions, *, uses_web: bool) -> AsyncIterator[Loader]:
    """A function that loads a file or URL. URLs wait for their turn at the host where a database is in use."""
    one_request = asyncio.Lock()  # a host gets one request at a time
    in_turn = open_turns(settings) if uses_web else nullcontext()
    within, limits = options.within, {"max_bytes": options.max_bytes, "headers": {"Accept": options.accept}}
    async with open_client(settings) as client, in_turn as turns:
        get = partial(get_in_turn, turns, client)
        if options.is_page:
            fetching = options_of(settings).fetching
            get = PageRequests(client, turns, utc_now, fetching.robot, fetching.crawl_delay_max).get

        async def load(name: str) -> LoadedDocument | ReadFailure:
            if not WEB.match(name):
                return _load_file(name, options)
            try:
                async with one_request:
                    response = await get(name, within=within, **limits)
            except FetchError as error:
                return options.failure(error)
            except Closed as error:
                return ReadFailure("robots_unreachable", str(error))
            except HostBusy as error:
                return ReadFailure("host_busy", str(error))
            if response.status != 200:
                return options.failure(response)
            served_as = options.content_type or response.headers.get("Content-Type")
            return LoadedDocument(response.body, options.base_url or response.url, served_as)

        yield load


def _load_file(name: str, options: LoadOptions) -> LoadedDocument | ReadFailure:
    try:
        with typer.get_binary_stream("stdin") if name == "-" else Path(name).open("rb") as file:
            body = file.read(options.max_bytes + 1)
    except (OSError, ValueError) as error:  # ValueError: an invalid file name
        return ReadFailure("unreadable", f"The file cannot be read: {getattr(error, 'strerror', None) or error}.")
    if len(body) > options.max_bytes:
        return ReadFailure("too_large", f"It is larger than {options.max_bytes:,} bytes.")
    return LoadedDocument(body, options.base_url or "", options.content_type)


def unexpected(error: Exception) -> ReadFailure:
    """A bug of Headwater's own: one failure among thousands of documents, not the end of the command."""
    return ReadFailure("unexpected", f"Headwater itself failed: {type(error).__name__}: {error}")


def label(name: str) -> dict[str, object]:
    """The first field of a document's JSON: where it was loaded from."""
    return {"url" if WEB.match(name) else "file": name}
