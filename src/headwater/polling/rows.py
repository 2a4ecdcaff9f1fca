"""Between rows and values: what a claim reads becomes a ClaimedFeed, what a poll leaves behind becomes a row."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from headwater.hosts.decide import NO_TIME
from headwater.hosts.keys import host_id_of, shard_of
from headwater.hosts.types import HeldHost, HostState, Pace
from headwater.polling.types import (
    NO_WISHES,
    ClaimedFeed,
    Decision,
    FeedState,
    Freshness,
    Moved,
    Off,
    Validators,
)
from headwater.types import FailureClass, SourceId, UserId, record

_CLASSES = frozenset(FailureClass)


@record
class Answer:
    """All that a poll leaves behind, for one feed."""

    feed: ClaimedFeed
    decision: Decision
    validators: Validators
    outcome: str
    status: int | None
    size: int
    took: timedelta
    item_count: int | None
    new_links: int
    new_articles: int
    adopt_url: str | None
    wants_discovery: bool
    at: datetime


class ClaimRow(msgspec.Struct, frozen=True):
    """A feed, as a claim reads it."""

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
    off_at: datetime | None
    off_reason: str | None
    off_until: datetime | None
    off_times: int
    off_by_operator: bool
    moved_url: str | None
    moved_since: datetime | None
    moved_times: int
    mean_gap: timedelta | None
    last_new_at: datetime | None
    last_full_at: datetime | None
    last_error: str | None
    last_error_type: str | None
    wished_gap: timedelta | None
    skip_hours: list[int] | None
    skip_days: list[int] | None
    edits: int
    submitted_by: UserId | None


def claimed_feed(row: ClaimRow, host: HeldHost, lease: UUID) -> ClaimedFeed:
    """The values of a claim."""
    return ClaimedFeed(
        feed_url=row.feed_url,
        host=row.host,
        lease=lease,
        edits=row.edits,
        policy=row.policy,
        validators=Validators(row.last_etag, row.last_modified),
        state=FeedState(
            source_id=row.source_id,
            own_interval=timedelta(minutes=row.own_minutes) if row.own_minutes else None,
            consecutive_errors=row.consecutive_errors,
            streak=row.streak,
            streak_class=_class(row.streak_class),
            permanent_errors=row.permanent_errors,
            failing_since=row.failing_since,
            off=_off(row),
            moved=Moved(row.moved_url, row.moved_since, row.moved_times) if row.moved_url and row.moved_since else None,
            mean_gap=row.mean_gap,
            last_new_at=row.last_new_at,
            last_full_at=row.last_full_at,
            last_error=row.last_error,
            last_error_type=_class(row.last_error_type),
            wishes=_wishes(row),
        ),
        host_state=HostState(
            row.host, tuple(host.alike_sources or ()), _class(host.alike_class), host.paused_until, host.pauses
        ),
        host_answered_at=host.answered_at,
        pace=Pace(host.slowed, host.successes),
        host_delay=max(host.robots_delay or NO_TIME, timedelta(milliseconds=row.min_delay_ms or 0)),
        submitted_by=row.submitted_by,
    )


def _wishes(row: ClaimRow) -> Freshness:
    if row.wished_gap is None and row.skip_hours is None and row.skip_days is None:
        return NO_WISHES
    return Freshness(row.wished_gap or timedelta(0), frozenset(row.skip_hours or ()), frozenset(row.skip_days or ()))


def _off(row: ClaimRow) -> Off | None:
    if row.off_at is None or row.off_reason is None:
        return None
    reason = FailureClass(row.off_reason) if row.off_reason in _CLASSES else row.off_reason
    return Off(row.off_at, reason, row.off_until, row.off_times, row.off_by_operator)


def _class(name: str | None) -> FailureClass | None:
    if name is None:
        return None
    return FailureClass(name) if name in _CLASSES else FailureClass.UNEXPECTED


class AnswerRow(msgspec.Struct, omit_defaults=True):
    """The row of an answer, as JSON carries it: what is not said is NULL, and a feed that is well has little to say."""

    source_id: UUID
    shard: int
    host_id: int
    lease: UUID
    edits: int
    at: datetime
    next_poll_at: datetime
    outcome: str
    bytes: int
    took_ms: int
    status: int | None
    etag: str | None
    last_modified: str | None
    item_count: int | None
    mean_gap: timedelta | None
    last_new_at: datetime | None
    last_full_at: datetime | None
    new_links: int = 0
    new_articles: int = 0
    consecutive_errors: int = 0
    last_error: str | None = None
    last_error_type: str | None = None
    streak: int = 0
    streak_class: str | None = None
    permanent_errors: int = 0
    failing_since: datetime | None = None
    off_at: datetime | None = None
    off_reason: str | None = None
    off_until: datetime | None = None
    off_times: int = 0
    off_by_operator: bool = False
    asked_until: datetime | None = None
    moved_url: str | None = None
    moved_since: datetime | None = None
    moved_times: int = 0
    adopt_url: str | None = None
    wants_discovery: bool = False
    is_outage: bool = False
    wished_gap: timedelta | None = None
    skip_hours: list[int] | None = None
    skip_days: list[int] | None = None


def json_of(answers: Sequence[Answer]) -> str:
    """The rows of these answers, as PostgreSQL reads them."""
    return msgspec.json.encode([_row_of(answer) for answer in answers]).decode()


def _row_of(answer: Answer) -> AnswerRow:
    host_id = host_id_of(answer.feed.host)
    state, off, moved = answer.decision.state, answer.decision.state.off, answer.decision.state.moved
    row = AnswerRow(
        source_id=state.source_id,
        shard=shard_of(host_id),
        host_id=host_id,
        lease=answer.feed.lease,
        edits=answer.feed.edits,
        at=answer.at,
        next_poll_at=answer.decision.next_poll_at,
        outcome=answer.outcome,
        bytes=answer.size,
        took_ms=round(answer.took / timedelta(milliseconds=1)),
        status=answer.status,
        etag=answer.validators.etag,
        last_modified=answer.validators.last_modified,
        item_count=answer.item_count,
        mean_gap=state.mean_gap,
        last_new_at=state.last_new_at,
        last_full_at=state.last_full_at,
        new_links=answer.new_links,
        new_articles=answer.new_articles,
        consecutive_errors=state.consecutive_errors,
        last_error=state.last_error,
        last_error_type=state.last_error_type,
        streak=state.streak,
        streak_class=state.streak_class,
        permanent_errors=state.permanent_errors,
        failing_since=state.failing_since,
        adopt_url=answer.adopt_url,
        wants_discovery=answer.wants_discovery,
        is_outage=answer.decision.is_outage,
        asked_until=answer.decision.asked_until,
    )
    if off is not None:
        row.off_at, row.off_reason, row.off_until, row.off_times = off.at, off.reason, off.until, off.times
        row.off_by_operator = off.by_operator
    if moved is not None:
        row.moved_url, row.moved_since, row.moved_times = moved.url, moved.since, moved.times
    if (wishes := state.wishes) is not NO_WISHES:
        row.wished_gap = wishes.lasts or None
        row.skip_hours, row.skip_days = sorted(wishes.skip_hours) or None, sorted(wishes.skip_days) or None
    return row
