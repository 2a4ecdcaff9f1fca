"""What is known about clocks."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class ClockOptions:
    """How far clocks may differ: from the last run, and from the database's clock."""

    jump: timedelta = timedelta(days=3)
    apart: timedelta = timedelta(minutes=5)


DEFAULT_CLOCK_OPTIONS = ClockOptions()


@dataclass(frozen=True, slots=True)
class ClockState:
    """The last time that was trusted, the latest time that any process saw, and the database's own time."""

    trusted_at: datetime | None
    latest_at: datetime | None
    database_now: datetime
