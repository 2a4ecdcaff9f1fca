"""Whether this machine's clock can be trusted. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta

AHEAD = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class ClockOptions:
    """How far clocks may differ: from the last run, and from the database's clock."""

    jump: timedelta = timedelta(days=3)
    apart: timedelta = timedelta(minutes=5)


DEFAULT_CLOCK_OPTIONS = ClockOptions()


@dataclass(frozen=True, slots=True)
class ClockState:
    """The last trusted time, the latest time of any process, and the database's time."""

    trusted_at: datetime | None
    latest_at: datetime | None
    database_now: datetime


def clock_problem(now: datetime, state: ClockState, options: ClockOptions = DEFAULT_CLOCK_OPTIONS) -> str | None:
    """Why this machine's clock cannot be trusted; None if it can. A clock that jumped ahead and back is trusted again:
    only a trusted time is stored in `trusted_at`."""
    if (apart := abs(now - state.database_now)) > options.apart:
        return f"This machine's clock and the database's differ by {_in_words(apart)}."
    return jump_since(now, state.trusted_at, options)


def jump_since(now: datetime, trusted_at: datetime | None, options: ClockOptions = DEFAULT_CLOCK_OPTIONS) -> str | None:
    """The same compared with the last trusted time only."""
    if trusted_at is None or abs(now - trusted_at) <= options.jump:
        return None
    side = "ahead of" if now > trusted_at else "behind"
    span = _in_words(abs(now - trusted_at))
    return f"This machine's clock is {span} {side} the last run ({trusted_at:%Y-%m-%d %H:%M} UTC)."


def was_ahead(now: datetime, state: ClockState) -> bool:
    """Whether a process had a time in the future, and may have written schedules by it."""
    return state.latest_at is not None and state.latest_at > now + AHEAD


def _in_words(span: timedelta) -> str:
    if span.days:
        return f"{span.days} day{'s' if span.days > 1 else ''}"
    return f"{round(span.total_seconds() / 60)} minutes"
