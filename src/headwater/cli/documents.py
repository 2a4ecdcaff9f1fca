"""What `parse`, `extract` and `source test` share: options, loading of files, and output of failures."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from headwater.cli.terminal import plain, print_json
from headwater.extraction.types import Selectors

WEB = re.compile(r"https?:", re.IGNORECASE)

BaseUrl = Annotated[
    str | None, typer.Option(help="Base URL for its relative links.", show_default="the URL it was fetched from")
]
ContentType = Annotated[str | None, typer.Option(help="Content-Type to assume.", show_default="that of the response")]
_PARTS = {"title": "title", "body": "text", "author": "author", "date": "date", "remove": "elements to remove"}
SELECTORS = {
    part: Annotated[list[str] | None, typer.Option(f"--{part}", help=f"CSS selector of the {what}.")]
    for part, what in _PARTS.items()
}


@dataclass(frozen=True, slots=True)
class LoadedDocument:
    """A body, and the URL and Content-Type it was served with."""

    body: bytes
    url: str = ""
    content_type: str | None = None

    def assuming(self, base_url: str | None, content_type: str | None) -> "LoadedDocument":
        return replace(self, url=base_url or self.url, content_type=content_type or self.content_type)


@dataclass(frozen=True, slots=True)
class ReadFailure:
    """Why a document could not be read: a class of failure, and a sentence."""

    error: str
    reason: str


def unexpected(error: Exception) -> ReadFailure:
    """A bug of Headwater's own: one failure among thousands of documents, not the end of the command."""
    return ReadFailure("unexpected", f"Headwater itself failed: {type(error).__name__}: {error}")


def load_file(name: str, max_bytes: int) -> LoadedDocument | ReadFailure:
    try:
        with typer.get_binary_stream("stdin") if name == "-" else Path(name).open("rb") as file:
            body = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:  # ValueError: an invalid file name
        return ReadFailure("unreadable", f"The file cannot be read: {getattr(error, 'strerror', None) or error}.")
    if len(body) > max_bytes:
        return ReadFailure("too_large", f"It is larger than {max_bytes:,} bytes.")
    return LoadedDocument(body)


def print_record(name: str, record: Mapping[str, object], default: Callable[[object], object] = plain) -> None:
    print_json({"url" if WEB.match(name) else "file": name} | dict(record), default)


def selectors_of(**given: list[str] | None) -> Selectors:
    return Selectors(**{part: tuple(selectors or ()) for part, selectors in given.items()})
