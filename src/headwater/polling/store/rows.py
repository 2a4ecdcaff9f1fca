"""Rows and values: a row of a claim becomes a ClaimedFeed, the result of a poll becomes a row."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import assert_never
from uuid import UUID

import msgspec

from headwater.hosts.decide import NO_TIME
from headwater.hosts.keys import host_id_of, shard_of
from headwater.hosts.types import HeldHost, HostState
from headwater.polling.decide import source_name
from headwater.polling.types import (
    ClaimedFeed,
    Disabled,
    FeedState,
    Happening,
    Moved,
    NotModified,
    Polled,
    PollFailed,
    PollHints,
    PollOutcome,
    PollReport,
    Validators,
)
from headwater.types import FailureClass, SourceId, UserId

_CLASSES = frozenset(FailureClass)


class ClaimRow(msgspec.Struct, frozen=True):
    source_id: SourceId
    feed_url: str
    host: str
    policy: str | None
    own_minutes: int | None
    min_delay_ms: int | None
    last_etag: str | None
    last_modified: str | None
    consecutive_errors: int
    streak: int
    streak_class: str | None
    permanent_errors: int
    failing_since: datetime | None
    disabled_at: datetime | None
    disable_reason: str | None
    disabled_until: datetime | None
    times_disabled: int
    disabled_by_operator: bool
    moved_url: str | None
    moved_since: datetime | None
    moved_times: int
    mean_gap: timedelta | None
    last_new_at: datetime | None
    last_full_at: datetime | None
    last_error: str | None
    last_error_type: str | None
    hinted_gap: timedelta | None
    skip_hours: list[int] | None
    skip_days: list[int] | None
    edits: int
    submitted_by: UserId | None
    is_system: bool


def claimed_feed(row: ClaimRow, host: HeldHost, lease: UUID) -> ClaimedFeed:
    moved = Moved(row.moved_url, row.moved_since, row.moved_times) if row.moved_url and row.moved_since else None
    failing = tuple(host.failing_sources or ())
    state = FeedState(
        source_id=row.source_id, own_interval=timedelta(minutes=row.own_minutes) if row.own_minutes else None,
        consecutive_errors=row.consecutive_errors, streak=row.streak, streak_class=_class(row.streak_class),
        permanent_errors=row.permanent_errors, failing_since=row.failing_since, disabled=_disabled(row), moved=moved,
        mean_gap=row.mean_gap, last_new_at=row.last_new_at, last_full_at=row.last_full_at,
        last_error=row.last_error, last_error_type=_class(row.last_error_type), hints=_hints(row),
    )  # fmt: skip
    return ClaimedFeed(
        feed_url=row.feed_url, host=row.host, lease=lease, edits=row.edits, policy=row.policy,
        validators=Validators(row.last_etag, row.last_modified), state=state,
        host_state=HostState(row.host, failing, _class(host.failure_class), host.paused_until, host.pauses),
        host_answered_at=host.answered_at, submitted_by=row.submitted_by, is_system=row.is_system, pace=host.pace,
        host_delay=max(host.robots_delay or NO_TIME, timedelta(milliseconds=row.min_delay_ms or 0)),
    )  # fmt: skip


def _hints(row: ClaimRow) -> PollHints | None:
    if row.hinted_gap is None and row.skip_hours is None and row.skip_days is None:
        return None
    return PollHints(row.hinted_gap or timedelta(0), frozenset(row.skip_hours or ()), frozenset(row.skip_days or ()))


def _disabled(row: ClaimRow) -> Disabled | None:
    if row.disabled_at is None or row.disable_reason is None:
        return None
    reason = FailureClass(row.disable_reason) if row.disable_reason in _CLASSES else row.disable_reason
    return Disabled(row.disabled_at, reason, row.disabled_until, row.times_disabled, row.disabled_by_operator)


def _class(name: str | None) -> FailureClass | None:
    if name is None:
        return None
    return FailureClass(name) if name in _CLASSES else FailureClass.UNEXPECTED


def json_of(reports: Sequence[PollReport]) -> str:
    """Rows as PostgreSQL reads them: what is left out is NULL, and a working feed has little to write."""
    return msgspec.json.encode([_row_of(report) for report in reports]).decode()


def _row_of(report: PollReport) -> dict[str, object]:
    feed, outcome, decision, state = report.feed, report.outcome, report.decision, report.decision.state
    host_id, validators = host_id_of(feed.host), _validators(feed, outcome)
    row: dict[str, object] = {
        "shard": shard_of(host_id), "host_id": host_id, "source_id": feed.source_id, "lease": feed.lease,
        "edits": feed.edits, "at": report.at, "next_poll_at": decision.next_poll_at, "outcome": report.outcome_name,
        "bytes": report.size, "took_ms": round(report.took / timedelta(milliseconds=1)), "status": outcome.status,
        "etag": validators.etag, "last_modified": validators.last_modified,
        "item_count": outcome.item_count if isinstance(outcome, Polled) else None,
        "mean_gap": state.mean_gap, "last_new_at": state.last_new_at, "last_full_at": state.last_full_at,
    }  # fmt: skip
    if isinstance(outcome, Polled) and (title := source_name(feed, outcome.feed.title)):
        row["title"] = title
    if report.new_links or report.new_articles:
        row |= {"new_links": report.new_links, "new_articles": report.new_articles}
    if decision.is_outage:
        row["is_outage"] = True
    if state.failing_since is not None or state.consecutive_errors:
        row |= {
            "consecutive_errors": state.consecutive_errors, "last_error": state.last_error,
            "last_error_type": state.last_error_type, "streak": state.streak, "streak_class": state.streak_class,
            "permanent_errors": state.permanent_errors, "failing_since": state.failing_since,
            "asked_until": decision.asked_until, "needs_rediscovery": Happening.LOST in decision.happenings,
        }  # fmt: skip
    if (disabled := state.disabled) is not None:
        row |= {
            "disabled_at": disabled.at, "disable_reason": disabled.reason, "disabled_until": disabled.until,
            "times_disabled": disabled.times, "disabled_by_operator": disabled.by_operator,
        }  # fmt: skip
    if (moved := state.moved) is not None:
        row |= {"moved_url": moved.url, "moved_since": moved.since, "moved_times": moved.times}
        row["adopt_url"] = moved.url if Happening.MOVED in decision.happenings else None
    if (hints := state.hints) is not None:
        row |= {"hinted_gap": hints.gap or None, "skip_hours": sorted(hints.skip_hours) or None}
        row["skip_days"] = sorted(hints.skip_days) or None
    return row


def _validators(feed: ClaimedFeed, outcome: PollOutcome) -> Validators:
    """Validators for the next request: those of the response, or else the old ones."""
    match outcome:
        case Polled():
            return outcome.validators
        case NotModified(validators=given):
            return Validators(given.etag or feed.validators.etag, given.last_modified or feed.validators.last_modified)
        case PollFailed():
            return feed.validators
        case _:
            assert_never(outcome)
