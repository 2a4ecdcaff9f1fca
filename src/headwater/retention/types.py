"""How long what is kept, and what a run of retention came to."""

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from uuid import UUID

from headwater.timekeeping.types import DEFAULT_CLOCK_OPTIONS, ClockOptions


class Kind(StrEnum):
    """What has a time."""

    ARTICLES = "articles"
    EVENTS = "events"
    POLLS = "polls"
    CLICKS = "clicks"


@dataclass(frozen=True, slots=True)
class RetentionOptions:
    """How long each is kept; zero is for ever."""

    articles: timedelta
    events: timedelta
    polls: timedelta
    clicks: timedelta
    every: timedelta = timedelta(days=1)
    at_once: timedelta = timedelta(minutes=10)  # the time one run may take before it leaves the rest to the next
    pause: timedelta = timedelta(seconds=2)  # before a month is tried again that somebody is reading
    tries: int = 30
    clock: ClockOptions = DEFAULT_CLOCK_OPTIONS
    longest_poll_wait: timedelta = timedelta(days=8)  # no feed waits for longer, save until a person enables it


@dataclass(frozen=True, slots=True)
class Turn:
    """Retention in somebody's hands until the lease ends; it stops by itself before that."""

    lease: UUID
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class State:
    """When retention is due; while somebody is at it, until when."""

    due_at: datetime
    is_running: bool
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class Month:
    """A month of articles, and how many of them are starred."""

    month: date
    articles: int
    starred: int


@dataclass(frozen=True, slots=True)
class GoneText:
    """A text that went with its month. `is_kept`: it is still here, since somebody starred its article."""

    article_id: UUID
    url_key: bytes
    version: int
    is_kept: bool


@dataclass(frozen=True, slots=True)
class Planned:
    """What a run would do now."""

    months: list[Month]
    rows: dict[Kind, int]


@dataclass(slots=True)
class Report:
    """What a run did, and whether it is through."""

    months: list[Month] = field(default_factory=list[Month])
    rows: dict[Kind, int] = field(default_factory=dict[Kind, int])
    handed_on: int = 0
    is_done: bool = True
    left: str = ""  # why it is not
