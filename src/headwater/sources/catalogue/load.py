"""Loading feeds of a file: new ones are added, existing ones get its name, category and interval. Repeatable."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from headwater.audit import store as audit
from headwater.audit.types import Actor, AuditAction
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
    report = Report([await _load(database, clock, line, actor) for line in lines])
    detail = {fate.value: report.counts[fate] for fate in LineFate}
    async with database.as_system() as conn:
        await audit.record(conn, actor, AuditAction.SOURCES_IMPORTED, clock(), subject=origin, detail=detail)
    return report


async def _load(database: Database, clock: Clock, line: CatalogueLine, actor: Actor) -> Outcome:
    feed = line.feed
    if feed is None:
        return Outcome(line.number, "", "", LineFate.FAILED, reason=line.problem)
    try:
        async with database.as_system() as conn:
            fate, source = await _follow(conn, feed, actor, clock())
    except (Invalid, SourceExists, NotApproved) as error:
        return Outcome(line.number, feed.name, feed.url, LineFate.FAILED, reason=str(error))
    return Outcome(line.number, feed.name, feed.url, fate, source.id)


async def _follow(conn: Connection, feed: CatalogueFeed, actor: Actor, now: datetime) -> tuple[LineFate, Source]:
    minutes, category = feed.refresh_interval_minutes, feed.category.strip() if feed.category else None
    interval = timedelta(minutes=minutes) if minutes else None
    wanted = Changes(
        feed.name.strip(), feed.url, category, interval=interval, is_system=True, is_critical=feed.is_critical
    )
    try:
        source = await sources.find_by_url(conn, url=complete_url(feed.url))
    except SourceNotFound:
        source = None
    if source is None or source.feed_url is None:  # None: a site without a feed
        return LineFate.CREATED, await operate.create(conn, wanted=wanted, actor=actor, now=now)
    # The values that differ. A file neither enables nor disables a feed.
    changes = Changes(
        name=wanted.name if wanted.name != source.name else None,
        category=category if category != source.category else None,
        interval=interval if minutes != source.interval_minutes else None,
        is_system=None if source.is_system else True,
        is_critical=feed.is_critical if feed.is_critical != source.is_critical else None,
    )
    if changes == NO_CHANGES:
        return LineFate.UNCHANGED, source
    return LineFate.CHANGED, await operate.change(conn, source, wanted=changes, actor=actor, now=now)
