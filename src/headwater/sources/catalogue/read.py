"""Reads feeds from TOML, JSON, or one JSON object a line. Invalid lines are reported by number; others are read."""

import json
import tomllib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import cast

from pydantic import TypeAdapter, ValidationError

from headwater.errors import Invalid
from headwater.sources.catalogue.types import CatalogueFeed, CatalogueLine

MOST_BYTES = 10_000_000
TABLE = "feed"  # [[feed]] in TOML, and the list of this name in JSON
_FEED = TypeAdapter(CatalogueFeed)


def read_catalogue() -> Sequence[CatalogueLine]:
    """The feeds that ship with Headwater."""
    return read_feeds((files("headwater.sources.catalogue") / "feeds.toml").read_bytes())


def read_feeds(data: bytes) -> Sequence[CatalogueLine]:
    """The feeds of a file in any of the three formats. Raises Invalid."""
    if len(data) > MOST_BYTES:
        raise Invalid(f"The file has {len(data):,} bytes; at most {MOST_BYTES:,} are read.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Invalid(f"The file is not UTF-8 text: {error.reason} at byte {error.start}.") from error
    if not text.strip():
        raise Invalid("The file is empty.")
    # A TOML table begins like a JSON list, but JSON never begins with a comment or a bare name.
    lines = (line.strip() for line in text.splitlines())
    first = next(line for line in lines if line and not line.startswith("#"))
    if text.lstrip()[0] == "{" or (first.startswith("[") and not first.startswith("[[")):
        return list(_read_json(text))
    try:
        return _table(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Invalid(f"The file is neither TOML nor JSON: {error}") from error


def _read_json(text: str) -> Iterator[CatalogueLine]:
    """One document, or one object a line."""
    try:
        document: object = json.loads(text)
    except (ValueError, RecursionError):
        pass
    else:
        is_one_feed = isinstance(document, dict) and TABLE not in document
        yield from _table([cast("object", document)] if is_one_feed else cast("object", document))
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield _line(number, json.loads(line))
            except (ValueError, RecursionError) as error:
                yield CatalogueLine(number, None, f"Invalid JSON: {error}")


def _table(document: object) -> list[CatalogueLine]:
    found: object = cast("dict[str, object]", document).get(TABLE) if isinstance(document, dict) else document
    if not isinstance(found, list):
        raise Invalid(
            f"There are no feeds in the file: each is a table [[{TABLE}]], or an object with a name and a url."
        )
    return [_line(number, item) for number, item in enumerate(cast("list[object]", found), start=1)]


def _line(number: int, item: object) -> CatalogueLine:
    try:
        return CatalogueLine(number, _FEED.validate_python(item))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        return CatalogueLine(number, None, f"{place}: {first['msg']}" if place else first["msg"])
