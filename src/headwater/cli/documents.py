"""What commands that read files and URLs share: a document or why there is none, and one JSON object a line."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import typer

from headwater.cli.terminal import print_json_line

WEB = re.compile(r"https?:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Document:
    """A body, and what is known of where it came from."""

    body: bytes
    url: str = ""
    content_type: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """Why nothing was found: a class of failure, and a sentence."""

    error: str
    reason: str


def load_file(name: str, max_bytes: int) -> Document | Failed:
    """A file, or with `-` what is typed or piped in."""
    try:
        with typer.get_binary_stream("stdin") if name == "-" else Path(name).open("rb") as file:
            body = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        return Failed("unreadable", f"The file cannot be read: {getattr(error, 'strerror', None) or error}.")
    if len(body) > max_bytes:
        return Failed("too_large", f"It is larger than {max_bytes:,} bytes.")
    return Document(body)


def print_record(name: str, record: Mapping[str, object], plain: Callable[[object], object]) -> None:
    """What was found under a name, as one line of JSON; `plain` turns into JSON what JSON does not know."""
    named = {"url" if WEB.match(name) else "file": name} | dict(record)
    print_json_line(named, plain)
