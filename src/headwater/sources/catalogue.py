"""Many system feeds at once: the catalogue that ships with Headwater, or a file (TOML, JSON, JSON lines). Loading can
be repeated: existing feeds get the file's name, category and interval. Invalid lines are reported by number."""

import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from importlib.resources import files
from typing import Annotated, cast

from pydantic import ConfigDict, Field, Strict, TypeAdapter, ValidationError

from headwater.audit import store as audit
from headwater.audit.types import Actor, AuditAction
from headwater.db import Connection, Database
from headwater.errors import Invalid, NotApproved, SourceExists, SourceNotFound
from headwater.sources import operate
from headwater.sources.operate import NO_CHANGES
from headwater.sources.store import sources
from headwater.sources.types import Changes, Source
from headwater.types import Clock, SourceId
from headwater.urls import complete_url

Text = Annotated[str, Field(min_length=1, pattern=r"^[^\x00-\x1f\x7f]*$")]


class LineResult(StrEnum):
    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CatalogueFeed:
    """A system feed of a file, which is checked by these types when it is read. None: not given."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    name: Annotated[Text, Field(max_length=255)]
    url: Text
    category: Annotated[Text, Field(max_length=100)] | None = None
    refresh_interval_minutes: Annotated[int, Strict(), Field(ge=15, le=1440)] | None = None
    is_critical: Annotated[bool, Strict()] | None = None


@dataclass(frozen=True, slots=True)
class CatalogueLine:
    number: int
    feed: CatalogueFeed | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    line: int
    name: str
    url: str
    result: LineResult
    id: SourceId | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    lines: Sequence[Outcome]

    @property
    def counts(self) -> Counter[LineResult]:
        return Counter(one.result for one in self.lines)


MOST_BYTES = 10_000_000
TABLE = "feed"  # [[feed]] in TOML, and the list of this name in JSON
_FEED = TypeAdapter(CatalogueFeed)


def read_catalogue() -> Sequence[CatalogueLine]:
    return read_feeds((files("headwater.sources") / "feeds.toml").read_bytes())


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


async def load(
    database: Database, clock: Clock, *, lines: Sequence[CatalogueLine], origin: str, actor: Actor
) -> Report:
    """Add or change these feeds, each in its own transaction. After DatabaseUnavailable it can be repeated."""
    report = Report([await _load(database, clock, line, actor) for line in lines])
    detail = {result.value: report.counts[result] for result in LineResult}
    async with database.as_system() as conn:
        await audit.record(conn, actor, AuditAction.SOURCES_IMPORTED, clock(), subject=origin, detail=detail)
    return report


async def _load(database: Database, clock: Clock, line: CatalogueLine, actor: Actor) -> Outcome:
    feed = line.feed
    if feed is None:
        return Outcome(line.number, "", "", LineResult.FAILED, reason=line.problem)
    try:
        async with database.as_system() as conn:
            result, source = await _follow(conn, feed, actor, clock())
    except (Invalid, SourceExists, NotApproved) as error:
        return Outcome(line.number, feed.name, feed.url, LineResult.FAILED, reason=str(error))
    return Outcome(line.number, feed.name, feed.url, result, source.id)


async def _follow(conn: Connection, feed: CatalogueFeed, actor: Actor, now: datetime) -> tuple[LineResult, Source]:
    minutes, category = feed.refresh_interval_minutes, feed.category.strip() if feed.category else None
    interval, critical = timedelta(minutes=minutes) if minutes else None, feed.is_critical
    wanted = Changes(feed.name.strip(), feed.url, category, interval=interval, is_system=True, is_critical=critical)
    try:
        source = await sources.find_by_url(conn, url=complete_url(feed.url))
    except SourceNotFound:
        source = None
    if source is None or source.feed_url is None:  # None: a site without a feed
        return LineResult.CREATED, await operate.create(conn, wanted=wanted, actor=actor, now=now)
    # The values that differ. A file neither enables nor disables a feed.
    changes = Changes(
        name=wanted.name if wanted.name != source.name else None,
        category=category if category != source.category else None,
        interval=interval if minutes != source.interval_minutes else None,
        is_system=None if source.is_system else True,
        is_critical=critical if critical != source.is_critical else None,
    )
    if changes == NO_CHANGES:
        return LineResult.UNCHANGED, source
    return LineResult.CHANGED, await operate.change(conn, source, wanted=changes, actor=actor, now=now)
