"""Changing many sources at once: planned and shown first, applied a few at a time, and undone.

Each source is changed in its own transaction, by `sources.operate`, which writes the audit log.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, assert_never
from uuid import UUID

from headwater.audit.types import Actor
from headwater.db import Connection, Database
from headwater.errors import Conflict, Invalid, NotApproved, NotFound, NothingToPoll, SourceIsOff
from headwater.ids import new_id
from headwater.polling.policy import policy_named
from headwater.sources import operate
from headwater.sources.follow import INTERVAL_MAX, INTERVAL_MIN, REASON_MAX
from headwater.sources.store import bulk, details, sources
from headwater.sources.types import CATEGORY_MAX, BulkAction, BulkChange, Changes, PlannedChange, Source, SourceDetails
from headwater.types import Clock, SourceId, SourceState, UserId

STEP = 50  # sources per request: half a second
MOST = 10_000
KEPT = timedelta(days=1)
UNDECIDED = {SourceState.IN_REVIEW, SourceState.REJECTED}


def check_value(action: BulkAction, value: str) -> str:
    """The value of an action, tidied. Raises Invalid."""
    value = " ".join(value.replace("\0", "").split())
    if action is BulkAction.DISABLE and not 0 < len(value) <= REASON_MAX:
        raise Invalid(f"A reason is required, of at most {REASON_MAX} characters.")
    if action is BulkAction.CATEGORY and len(value) > CATEGORY_MAX:
        raise Invalid(f"A category has at most {CATEGORY_MAX} characters.")
    if action is BulkAction.POLICY and value:
        policy_named(value)
    if action is BulkAction.INTERVAL:
        _interval(value)
    return value if action in {*BulkAction} - {BulkAction.ENABLE, BulkAction.REFRESH, BulkAction.DELETE} else ""


def plan(source: SourceDetails, action: BulkAction, value: str, subscribers: int) -> PlannedChange:
    """What the action would do to a source. Pure."""
    before, after = _before_and_after(source, action, value, subscribers)
    is_same = before == after or (action is BulkAction.ENABLE and source.is_active)
    return PlannedChange(source, before, after, _refusal(source, action, is_same=is_same))


def _before_and_after(source: SourceDetails, action: BulkAction, value: str, subscribers: int) -> tuple[str, str]:
    match action:
        case BulkAction.ENABLE:
            return source.state, "enabled"
        case BulkAction.DISABLE:
            return source.state, SourceState.DISABLED
        case BulkAction.REFRESH:
            return "", "Polled now" if source.feed_url else "Fetched now"
        case BulkAction.CATEGORY:
            return source.category or "None", value or "None"
        case BulkAction.POLICY:
            return source.policy or "Default", value or "Default"
        case BulkAction.INTERVAL:
            return _minutes(source.interval_minutes), _minutes(int(value or 0))
        case BulkAction.DELETE:
            readers = f"{subscribers:,} {'reader' if subscribers == 1 else 'readers'}"
            return readers, "Deleted for all users"
        case _:
            assert_never(action)


def _refusal(source: SourceDetails, action: BulkAction, *, is_same: bool) -> str:
    if action in {BulkAction.ENABLE, BulkAction.DISABLE, BulkAction.REFRESH} and source.state in UNDECIDED:
        return "a suggestion that is not approved"
    if action is BulkAction.REFRESH and not source.enabled:
        return "disabled"
    if action in {BulkAction.INTERVAL, BulkAction.POLICY} and not source.feed_url:
        return "has no feed"
    return "no change" if is_same and action is not BulkAction.DELETE else ""


def _minutes(minutes: int | None) -> str:
    return f"{minutes} minutes" if minutes else "Adaptive"


def _interval(value: str) -> timedelta:
    """Minutes; empty or 0: adaptive. Raises Invalid."""
    if value and not (value.isascii() and value.isdigit() and len(value) <= 6):
        raise Invalid("An interval is a whole number of minutes.")
    interval = timedelta(minutes=int(value or 0))
    if interval and not INTERVAL_MIN <= interval <= INTERVAL_MAX:
        raise Invalid("An interval is at least 15 minutes and at most a day; empty: adaptive.")
    return interval


async def prepare(
    conn: Connection, *, user_id: UserId, action: BulkAction, value: str, source_ids: list[SourceId], now: datetime
) -> BulkChange:
    """Store a change as it is previewed. Raises Invalid."""
    if not 0 < len(source_ids) <= MOST:
        raise Invalid("Select sources first." if not source_ids else f"At most {MOST:,} sources at a time.")
    change = BulkChange(new_id(), user_id, action, value, source_ids)
    await bulk.remove_before(conn, before=now - KEPT)
    await bulk.add(conn, change=change, now=now)
    return change


async def prepare_undo(conn: Connection, change: BulkChange, *, now: datetime) -> BulkChange:
    """Store the change that undoes this one. Raises Conflict."""
    if not change.action.can_be_undone or change.is_undo or not change.is_done:
        raise Conflict("This change cannot be undone.")
    ids = [one for one in change.source_ids if str(one) in change.before]
    undo = replace(change, id=new_id(), source_ids=ids, claimed=0, changed=0, is_undo=True)
    await bulk.add(conn, change=undo, undoes=change.id, now=now)
    return undo


async def find(conn: Connection, change_id: UUID, user_id: UserId) -> BulkChange:
    """Raises NotFound."""
    found = await bulk.find(conn, change_id=change_id, user_id=user_id)
    if found is None:
        raise NotFound("This change has expired. Select the sources again.")
    return found


async def step(database: Database, clock: Clock, change: BulkChange, actor: Actor) -> None:
    """Change the next few sources. One that was deleted, or refuses the change, is left out."""
    async with database.as_system() as conn:
        ids = await bulk.claim(conn, change=change, limit=STEP)
    before: dict[str, Mapping[str, object]] = {}
    for source_id in ids:
        try:
            async with database.as_system() as conn:
                was = await details.find_details(conn, source_id=source_id, now=clock())
                source = await sources.find_by_id(conn, source_id=source_id)
                if change.is_undo:
                    await _restore(conn, source, change.action, change.before[str(source_id)], actor, clock())
                else:
                    await _apply(conn, source, change, actor, clock())
            before[str(source_id)] = _state_of(was)
        except (NotFound, NotApproved, NothingToPoll, SourceIsOff):
            continue
    async with database.as_system() as conn:
        await bulk.note(conn, change=change, changed=len(before), before={} if change.is_undo else before)


def _state_of(source: SourceDetails) -> Mapping[str, object]:
    return {
        "enabled": source.enabled, "reason": source.feed_disable_reason, "category": source.category,
        "policy": source.policy, "interval": source.interval_minutes,
    }  # fmt: skip


async def _apply(conn: Connection, source: Source, change: BulkChange, actor: Actor, now: datetime) -> None:
    by: dict[str, Any] = {"actor": actor, "now": now}
    match change.action:
        case BulkAction.ENABLE:
            await operate.enable_whole(conn, source, **by)
        case BulkAction.DISABLE if source.feed_url:
            await operate.disable(conn, source, reason=change.value, **by)
        case BulkAction.DISABLE:
            await operate.change(conn, source, wanted=Changes(enabled=False), **by)
        case BulkAction.REFRESH:
            await operate.refresh(conn, source, **by)
        case BulkAction.CATEGORY:
            await operate.change(conn, source, wanted=Changes(category=change.value), **by)
        case BulkAction.POLICY:
            await operate.change(conn, source, wanted=Changes(policy=change.value), **by)
        case BulkAction.INTERVAL:
            await operate.change(conn, source, wanted=Changes(interval=_interval(change.value)), **by)
        case BulkAction.DELETE:
            await operate.delete(conn, source, **by)
        case _:
            assert_never(change.action)


async def _restore(
    conn: Connection, source: Source, action: BulkAction, before: Mapping[str, Any], actor: Actor, now: datetime
) -> None:
    by: dict[str, Any] = {"actor": actor, "now": now}
    match action:
        case BulkAction.CATEGORY:
            await operate.change(conn, source, wanted=Changes(category=before["category"] or ""), **by)
        case BulkAction.POLICY:
            await operate.change(conn, source, wanted=Changes(policy=before["policy"] or ""), **by)
        case BulkAction.INTERVAL:
            interval = timedelta(minutes=before["interval"] or 0)
            await operate.change(conn, source, wanted=Changes(interval=interval), **by)
        case BulkAction.ENABLE | BulkAction.DISABLE:
            await _restore_state(conn, source, before, by)
        case _:
            raise Conflict("This change cannot be undone.")


async def _restore_state(conn: Connection, source: Source, before: Mapping[str, Any], by: dict[str, Any]) -> None:
    if before["enabled"] and before["reason"] is None:
        await operate.enable_whole(conn, source, **by)
        return
    if before["reason"] is not None and source.feed_url:
        await operate.disable(conn, source, reason=before["reason"], **by)
    if source.enabled and not before["enabled"]:
        await operate.change(conn, source, wanted=Changes(enabled=False), **by)
