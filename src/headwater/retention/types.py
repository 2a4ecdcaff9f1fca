"""How long rows are kept, and the result of a run."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from uuid import UUID

from headwater.timekeeping.decide import DEFAULT_CLOCK_OPTIONS, ClockOptions
from headwater.types import ArticleId


class RetainedKind(StrEnum):
    ARTICLES = "articles"
    EVENTS = "events"
    POLLS = "polls"
    CLICKS = "clicks"


@dataclass(frozen=True, slots=True)
class RetentionOptions:
    """How long each kind is kept; zero means forever."""

    articles: timedelta
    events: timedelta
    polls: timedelta
    clicks: timedelta
    every: timedelta = timedelta(days=1)
    at_once: timedelta = timedelta(minutes=10)  # the longest time of one run
    pause: timedelta = timedelta(seconds=2)  # before a month that is being read is retried
    tries: int = 30
    clock: ClockOptions = DEFAULT_CLOCK_OPTIONS
    longest_poll_wait: timedelta = timedelta(days=8)  # no enabled feed waits longer


@dataclass(frozen=True, slots=True)
class RetentionTurn:
    """A claimed run of retention, which stops by itself before its lease ends."""

    lease: UUID
    ends_at: datetime
    progress: Callable[[str], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class RetentionState:
    due_at: datetime
    is_running: bool
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class Month:
    month: date
    articles: int
    starred: int


@dataclass(frozen=True, slots=True)
class DetachedText:
    """A text of a detached month. `is_kept`: a copy is kept, because its article is starred."""

    article_id: ArticleId
    url_key: bytes
    version: int
    is_kept: bool


@dataclass(slots=True)
class Planned:
    months: list[Month] = field(default_factory=list[Month])
    rows: dict[RetainedKind, int] = field(default_factory=dict[RetainedKind, int])


@dataclass(slots=True)
class RetentionReport(Planned):
    reassigned: int = 0
    is_done: bool = True
    left: str = ""  # why it is incomplete
