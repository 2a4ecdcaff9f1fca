"""What operators do to sources, each with its entry in the audit log, in one transaction."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import cast

from headwater.audit import store as audit
from headwater.audit.types import Actor, AuditAction
from headwater.db import Connection
from headwater.errors import NoSubscribers, NotApproved, NothingToPoll, RetryRefused
from headwater.polling.store import holds as feed_holds
from headwater.polling.store import schedule as feed_schedule
from headwater.sources import follow
from headwater.sources.decide import retry_refusal
from headwater.sources.store import custom, sources
from headwater.sources.types import NO_OVERRIDES, Changes, Source
from headwater.urls import url_key

NO_CHANGES = Changes()


async def create(conn: Connection, *, wanted: Changes, actor: Actor, now: datetime) -> Source:
    """Add a source; it is due at once unless it is disabled. Raises Invalid, InvalidUrl, SourceExists,
    NoSubscribers."""
    source = await follow.follow(conn, url=wanted.feed_url, name=wanted.name, now=now, overrides=wanted.overrides)
    if source.feed_url is not None:  # earlier decisions about this feed are deleted: an operator has added it
        await feed_holds.take_hold(conn, feed_url_key=url_key(source.feed_url))
    await follow.change(conn, source, replace(wanted, name=None), now=now)
    await _check_subscribed(conn, source, wanted)
    if wanted.enabled is False:
        await follow.disable_source(conn, source, now, by_operator=True)
    await _record(conn, actor, AuditAction.SOURCE_CREATED, source, now, **_detail(wanted))
    return await sources.find_by_id(conn, source_id=source.id)


async def change(conn: Connection, source: Source, *, wanted: Changes, actor: Actor, now: datetime) -> Source:
    """Change a source; a new URL is polled at once. Raises Invalid, InvalidUrl, SourceExists, NotApproved,
    NoSubscribers."""
    if wanted.enabled:
        await _check_approved(conn, source)
    was_disabled = not source.enabled
    if wanted.is_system and not source.is_system and await custom.is_unapproved(conn, source_id=source.id):
        raise NotApproved(source.name)  # a system source is public
    await follow.change(conn, source, wanted, now=now)
    await _check_subscribed(conn, source, wanted)
    if wanted.feed_url is not None and wanted.feed_url != source.feed_url:
        source = await follow.move(conn, source, url=wanted.feed_url, now=now)
    if wanted.overrides != NO_OVERRIDES:
        source = await follow.change_ingestion(conn, source, overrides=wanted.overrides, now=now)
    if wanted.enabled is False:
        source = await follow.disable_source(conn, source, now, by_operator=True)
    elif wanted.enabled and not source.enabled:
        source = await follow.enable_source(conn, source, now)
    if wanted.enabled and (was_disabled or (await feed_schedule.disabled_until(conn, source_id=source.id))[0]):
        await follow.enable(conn, source, now)  # seed 001: its errors are reset
    await _record(conn, actor, AuditAction.SOURCE_CHANGED, source, now, **_detail(wanted))
    return await sources.find_by_id(conn, source_id=source.id)


async def delete(conn: Connection, source: Source, *, actor: Actor, now: datetime) -> None:
    """Delete a source; the articles that only it lists are removed in the background. Raises SourceNotFound."""
    await sources.remove(conn, source_id=source.id)
    await _record(conn, actor, AuditAction.SOURCE_DELETED, source, now, address=source.address)


async def disable(conn: Connection, source: Source, *, reason: str, actor: Actor, now: datetime) -> datetime | None:
    """Disable the source's feed; returns until when. Raises Invalid, NothingToPoll."""
    until = await follow.disable(conn, source, reason, now)
    await _record(conn, actor, AuditAction.SOURCE_DISABLED, source, now, reason=reason, until=_plain(until))
    return until


async def enable(conn: Connection, source: Source, *, actor: Actor, now: datetime) -> None:
    """Enable the source's feed: its errors are reset, and it is due at once. Raises NotApproved."""
    await _check_approved(conn, source)
    await follow.enable(conn, source, now)
    await _record(conn, actor, AuditAction.SOURCE_ENABLED, source, now)


async def enable_whole(conn: Connection, source: Source, *, actor: Actor, now: datetime) -> None:
    """Enable the source and its feed, whatever disabled them. Raises NotApproved."""
    if not source.enabled:
        source = await change(conn, source, wanted=Changes(enabled=True), actor=actor, now=now)
    await enable(conn, source, actor=actor, now=now)


async def retry(conn: Connection, source: Source, *, actor: Actor, now: datetime) -> None:
    """Poll a feed at once for a user, unless an operator or the site forbids it. Raises NothingToPoll, RetryRefused."""
    standing = await feed_schedule.find_standing(conn, source_id=source.id)
    if standing is None:
        raise NothingToPoll(source.name)
    if refusal := retry_refusal(standing, now, is_enabled=source.enabled):
        raise RetryRefused(refusal)
    if standing.disabled_at is None:
        await feed_schedule.reschedule(conn, source_id=source.id, next_poll_at=now, now=now)
        return
    await follow.enable(conn, source, now)
    detail = {"was_disabled_for": standing.disable_reason, "by": "a reader's retry"}
    await _record(conn, actor, AuditAction.SOURCE_ENABLED, source, now, **detail)


async def refresh(conn: Connection, source: Source, *, actor: Actor, now: datetime) -> None:
    """Make the source due now. Raises SourceIsOff, NotApproved."""
    await _check_approved(conn, source)
    await follow.refresh(conn, source, now)
    await _record(conn, actor, AuditAction.SOURCE_REFRESHED, source, now)


async def reset_errors(conn: Connection, source: Source, *, actor: Actor, now: datetime) -> None:
    """Reset the error count of the source's feed. It stays enabled or disabled, with the same next poll."""
    await feed_schedule.clear_errors(conn, source_id=source.id)
    await _record(conn, actor, AuditAction.SOURCE_RESET, source, now)


async def _check_approved(conn: Connection, source: Source) -> None:
    if not source.enabled and await custom.needs_approval(conn, source_id=source.id):
        raise NotApproved(source.name)


async def _check_subscribed(conn: Connection, source: Source, wanted: Changes) -> None:
    """Refuse to make a custom source of one that the stage `removing` would then delete with its articles."""
    if wanted.is_system is False and await custom.list_unwanted(conn, source_ids=[source.id]):
        raise NoSubscribers(source.name)


async def _record(
    conn: Connection, actor: Actor, action: AuditAction, source: Source, now: datetime, **detail: object
) -> None:
    await audit.record(conn, actor, action, now, subject=source.name, subject_id=source.id, detail=detail)


def _detail(changes: Changes) -> dict[str, object]:
    given = {name: getattr(changes, name) for name in changes.__slots__ if name != "overrides"}
    given |= {name: getattr(changes.overrides, name) for name in changes.overrides.__slots__}
    return {name: _plain(value) for name, value in given.items() if value is not None}


def _plain(value: object) -> object:
    match value:
        case timedelta():
            return f"{value / timedelta(minutes=1):g} minutes"
        case datetime():
            return value.isoformat()
        case str():
            return value.replace("\0", "")
        case tuple() | list():
            return [_plain(one) for one in cast("Sequence[object]", value)]
        case _:
            return value
