"""Loading feeds of a file: new ones are added, existing ones get its name, category and interval. Repeatable."""

from collections.abc import Sequence
from datetime import timedelta

from headwater.audit import store as audit
from headwater.audit.types import Actor, Deed
from headwater.db import Connection, Database
from headwater.errors import Invalid, NotApproved, SourceExists, SourceNotFound
from headwater.sources import operate
from headwater.sources.catalogue.types import CatalogueFeed, CatalogueLine, LineFate, Outcome, Report
from headwater.sources.operate import NO_CHANGES
from headwater.sources.store import sources
from headwater.sources.types import Changes, Source
from headwater.types import Clock
from headwater.urls import complete_url


async def load(
    database: Database, clock: Clock, *, lines: Sequence[CatalogueLine], origin: str, actor: Actor
) -> Report:
    """Add or change these feeds, each in its own transaction. After DatabaseUnavailable it can be repeated."""
    outcomes = [await _load(database, clock, line, actor) for line in lines]
    report = Report(outcomes)
    detail = {fate.value: report.count(fate) for fate in LineFate}
    async with database.as_system() as conn:
        await audit.record(
            conn, actor=actor, deed=Deed.SOURCES_IMPORTED, subject_name=origin, now=clock(), detail=detail
        )
    return report


async def _load(database: Database, clock: Clock, line: CatalogueLine, actor: Actor) -> Outcome:
    if line.feed is None:
        return Outcome(line.number, "", "", LineFate.FAILED, reason=line.problem)
    try:
        async with database.as_system() as conn:
            fate, source = await _follow(conn, line.feed, actor, clock)
    except (Invalid, SourceExists, NotApproved) as error:
        return Outcome(line.number, line.feed.name, line.feed.url, LineFate.FAILED, reason=str(error))
    return Outcome(line.number, line.feed.name, line.feed.url, fate, source.id)


async def _follow(conn: Connection, feed: CatalogueFeed, actor: Actor, clock: Clock) -> tuple[LineFate, Source]:
    source = await _find(conn, feed)
    if source is None:
        return LineFate.CREATED, await operate.create(conn, wanted=_wanted(feed), actor=actor, now=clock())
    changes = changes_of(source, feed)
    if changes == NO_CHANGES:
        return LineFate.UNCHANGED, source
    return LineFate.CHANGED, await operate.change(conn, source, wanted=changes, actor=actor, now=clock())


async def _find(conn: Connection, feed: CatalogueFeed) -> Source | None:
    try:
        found = await sources.find_by_url(conn, url=complete_url(feed.url))
    except SourceNotFound:
        return None
    return found if found.feed_url is not None else None  # else it is a site without a feed


def changes_of(source: Source, feed: CatalogueFeed) -> Changes:
    """The values of the file that differ. A file neither enables nor disables a feed."""
    wanted = _wanted(feed)
    return Changes(
        name=wanted.name if wanted.name != source.name else None,
        category=wanted.category if wanted.category != source.category else None,
        interval=wanted.interval if feed.refresh_interval_minutes != source.interval_minutes else None,
        is_system=None if source.is_system else True,
        is_critical=wanted.is_critical if wanted.is_critical != source.is_critical else None,
    )


def _wanted(feed: CatalogueFeed) -> Changes:
    minutes = feed.refresh_interval_minutes
    return Changes(
        name=feed.name.strip(),
        feed_url=feed.url,
        category=feed.category.strip() if feed.category else None,
        interval=timedelta(minutes=minutes) if minutes else None,
        is_system=True,
        is_critical=feed.is_critical,
    )
