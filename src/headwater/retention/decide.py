"""Which months may go, and which must be there. Pure."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from headwater.ids import first_id_at

FOR_EVER = timedelta(0)
FUTURE_MOST = timedelta(days=31)


def months_to_go(months: Sequence[date], now: datetime, kept: timedelta) -> list[date]:
    """Those of which the last article is past its time, the oldest first. The one that is being filled never goes."""
    if kept == FOR_EVER:
        return []
    this = month_of(now)
    return sorted(month for month in months if starts_at(after(month)) <= now - kept and month < this)


def is_published_long_ago(month: date, newest: datetime | None, now: datetime, kept: timedelta) -> bool:
    """Whether the newest date in a month is past its time too. One more than `FUTURE_MOST` after the month is wrong."""
    last = min(newest or starts_at(month), starts_at(after(month)) + FUTURE_MOST)
    return last <= now - kept


def last_month_needed(now: datetime) -> date:
    """The next one: made before anything comes for it."""
    return after(month_of(now))


def month_of(at: datetime) -> date:
    """The month in which something is seen."""
    return at.astimezone(UTC).date().replace(day=1)


def after(month: date) -> date:
    """The month that follows."""
    return (month + timedelta(days=31)).replace(day=1)


def starts_at(month: date) -> datetime:
    """Its first moment."""
    return datetime(month.year, month.month, 1, tzinfo=UTC)


def ends_before(month: date) -> UUID:
    """The first id that is not of this month, nor of any before it."""
    return first_id_at(starts_at(after(month)))


def next_run_at(now: datetime, every: timedelta, soon: timedelta, *, is_done: bool) -> datetime:
    """Tomorrow; what was left over is gone on with soon."""
    return now + (every if is_done else min(soon, every))
