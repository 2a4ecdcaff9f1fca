"""Reads feeds from TOML, JSON, or one JSON object a line. Invalid lines are reported by number; others are read."""

import json
import tomllib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError

from headwater.errors import Invalid
from headwater.sources.catalogue.types import CatalogueFeed, CatalogueLine

MOST_BYTES = 10_000_000
TABLE = "feed"  # [[feed]] in TOML, and the list of this name in JSON

Text = Annotated[str, Field(min_length=1, pattern=r"^[^\x00-\x1f\x7f]*$")]


class GivenFeed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[Text, Field(max_length=255)]
    url: Text
    category: Annotated[Text, Field(max_length=100)] | None = None
    refresh_interval_minutes: Annotated[int, Strict(), Field(ge=15, le=1440)] | None = None
    is_critical: Annotated[bool, Strict()] | None = None


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
        raise Invalid(f"The file is no text in UTF-8: {error.reason} at byte {error.start}.") from error
    if not text.strip():
        raise Invalid("The file is empty.")
    # A TOML table begins like a JSON list, but JSON never begins with a comment or a bare name.
    if text.lstrip()[0] == "{" or not _looks_like_toml(text):
        return list(_read_json(text))
    return list(_numbered(_table(_toml(text))))


def _looks_like_toml(text: str) -> bool:
    lines = (line.strip() for line in text.splitlines())
    first = next(line for line in lines if line and not line.startswith("#"))
    return first.startswith("[[") or not first.startswith("[")


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Invalid(f"The file is neither TOML nor JSON: {error}") from error


def _read_json(text: str) -> Iterator[CatalogueLine]:
    """One document, or one object a line."""
    try:
        document: object = json.loads(text)
    except (ValueError, RecursionError):
        return _read_lines(text)
    is_one_feed = isinstance(document, dict) and TABLE not in document
    return _numbered([cast("object", document)] if is_one_feed else _table(cast("object", document)))


def _read_lines(text: str) -> Iterator[CatalogueLine]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield _line(number, json.loads(line))
        except (ValueError, RecursionError) as error:
            yield CatalogueLine(number, None, f"This is no JSON: {error}")


def _table(document: object) -> Sequence[object]:
    found: object = cast("dict[str, object]", document).get(TABLE) if isinstance(document, dict) else document
    if not isinstance(found, list):
        raise Invalid(
            f"There are no feeds in the file: each is a table [[{TABLE}]], or an object with a name and a url."
        )
    return cast("list[object]", found)


def _numbered(found: Sequence[object]) -> Iterator[CatalogueLine]:
    return (_line(number, item) for number, item in enumerate(found, start=1))


def _line(number: int, item: object) -> CatalogueLine:
    try:
        given = GivenFeed.model_validate(item)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        return CatalogueLine(number, None, f"{place}: {first['msg']}" if place else first["msg"])
    return CatalogueLine(number, CatalogueFeed(**given.model_dump()))
