"""Clocks of this machine and of the database."""

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
    """The last trusted time, the latest time of any process, and the database's time."""

    trusted_at: datetime | None
    latest_at: datetime | None
    database_now: datetime
