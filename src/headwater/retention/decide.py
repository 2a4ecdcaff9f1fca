"""Which months have expired, and which must exist. Pure."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from headwater.ids import first_id_at

FOREVER = timedelta(0)
FUTURE_MOST = timedelta(days=31)


def expired_months(months: Sequence[date], now: datetime, kept: timedelta) -> list[date]:
    """Months whose last article has expired, the oldest first; never the current month."""
    if kept == FOREVER:
        return []
    this = month_of(now)
    return sorted(month for month in months if starts_at(after(month)) <= now - kept and month < this)


def is_published_before(month: date, newest: datetime | None, now: datetime, kept: timedelta) -> bool:
    """Whether the newest publication date has expired too. Later than `FUTURE_MOST` after the month is wrong."""
    last = min(newest or starts_at(month), starts_at(after(month)) + FUTURE_MOST)
    return last <= now - kept


def last_month_needed(now: datetime) -> date:
    """The next month: it is created in advance."""
    return after(month_of(now))


def month_of(at: datetime) -> date:
    return at.astimezone(UTC).date().replace(day=1)


def after(month: date) -> date:
    return (month + timedelta(days=31)).replace(day=1)


def starts_at(month: date) -> datetime:
    return datetime(month.year, month.month, 1, tzinfo=UTC)


def ends_before(month: date) -> UUID:
    """The first id after this month."""
    return first_id_at(starts_at(after(month)))


def next_run_at(now: datetime, every: timedelta, soon: timedelta, *, is_done: bool) -> datetime:
    """In a day; soon, if the run is incomplete."""
    return now + (every if is_done else min(soon, every))
