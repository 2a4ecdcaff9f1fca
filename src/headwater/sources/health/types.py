"""Health of sources, for the operators' pages. Pure data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from headwater.polling.policy import Policy
from headwater.polling.types import FailureClass, FeedState, HostState
from headwater.sources.types import IngestionMode, badge_of
from headwater.types import SourceId, SourceState

SUCCESSES = frozenset({"polled", "not_modified"})


class Period(StrEnum):
    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"

    @property
    def length(self) -> timedelta:
        return {"24h": timedelta(days=1), "7d": timedelta(days=7), "30d": timedelta(days=30)}[self.value]

    @property
    def step(self) -> timedelta:
        """The width of one bar of its chart."""
        return {"24h": timedelta(hours=1), "7d": timedelta(hours=6), "30d": timedelta(days=1)}[self.value]

    @property
    def words(self) -> str:
        return {"24h": "24 hours", "7d": "7 days", "30d": "30 days"}[self.value]


class Trouble(StrEnum):
    """Groups of failure classes, by who can fix them."""

    LOST = "gone or moved"
    REFUSED = "refused"
    BROKEN = "the site's own fault"
    UNREACHED = "no answer"
    UNREADABLE = "not a readable feed"
    OTHER = "other"


TROUBLES: Mapping[FailureClass, Trouble] = {
    FailureClass.NOT_FOUND: Trouble.LOST,
    FailureClass.GONE: Trouble.LOST,
    FailureClass.RATE_LIMITED: Trouble.REFUSED,
    FailureClass.UNAUTHORIZED: Trouble.REFUSED,
    FailureClass.FORBIDDEN: Trouble.REFUSED,
    FailureClass.BAD_REQUEST: Trouble.REFUSED,
    FailureClass.BOT_CHALLENGE: Trouble.REFUSED,
    FailureClass.UPSTREAM_FAILURE: Trouble.BROKEN,
    FailureClass.NETWORK: Trouble.UNREACHED,
    FailureClass.DNS: Trouble.UNREACHED,
    FailureClass.PARSE_ERROR: Trouble.UNREADABLE,
    FailureClass.NOT_A_FEED: Trouble.UNREADABLE,
    FailureClass.TOO_LARGE: Trouble.UNREADABLE,
    FailureClass.REDIRECT_LOOP: Trouble.UNREADABLE,
    FailureClass.SSRF_BLOCKED: Trouble.OTHER,
    FailureClass.UNEXPECTED: Trouble.OTHER,
}


@dataclass(frozen=True, slots=True)
class FeedHealth:
    """The state of a feed. `is_enabled` is that of the whole source."""

    state: FeedState
    policy: Policy
    host: HostState
    next_poll_at: datetime
    last_polled_at: datetime | None = None
    last_succeeded_at: datetime | None = None
    last_status: int | None = None
    is_enabled: bool = True


@dataclass(frozen=True, slots=True)
class Story:
    """The state of a feed, its next try, and what follows, as sentences; some may be empty."""

    standing: str
    next_try: str
    what_then: str


@dataclass(frozen=True, slots=True)
class Prospect:
    """When a feed will be disabled if it keeps failing: after how many failures, at which time, until when."""

    failures: int
    at: datetime
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Counting:
    """How far polls are counted, and when sources were last ranked."""

    counted_until: datetime | None
    ranked_at: datetime | None


@dataclass(frozen=True, slots=True)
class Tally:
    """Number of sources with the same state, reason and category."""

    state: SourceState
    reason: str | None
    category: str | None
    sources: int


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a chart: polls by outcome."""

    at: datetime
    outcomes: Mapping[str, int]

    @property
    def polls(self) -> int:
        return sum(self.outcomes.values())

    @property
    def failures(self) -> int:
        return sum(count for outcome, count in self.outcomes.items() if outcome not in SUCCESSES)

    @property
    def uptime(self) -> float | None:
        """The share of successful polls; None without polls."""
        return 1 - self.failures / self.polls if self.polls else None

    def of(self, trouble: Trouble) -> int:
        return sum(count for outcome, count in self.outcomes.items() if trouble_of(outcome) is trouble)


def trouble_of(outcome: str) -> Trouble | None:
    """The group of a failed poll; None for a success."""
    if outcome in SUCCESSES:
        return None
    return TROUBLES.get(FailureClass(outcome), Trouble.OTHER) if outcome in set(FailureClass) else Trouble.OTHER


@dataclass(frozen=True, slots=True)
class Leader:
    """A source of a ranking, with its counts."""

    source_id: SourceId
    name: str
    polls: int
    failures: int
    new_articles: int
    median_ms: int | None
    p95_ms: int | None


@dataclass(frozen=True, slots=True)
class Leaders:
    """The rankings of a period."""

    slowest: Sequence[Leader] = ()
    failing: Sequence[Leader] = ()
    busiest: Sequence[Leader] = ()


@dataclass(frozen=True, slots=True)
class PausedHost:
    host: str
    paused_until: datetime
    reason: str | None
    pauses: int
    sources: int


@dataclass(frozen=True, slots=True)
class ComingBack:
    """A source in its cooldown, and when it is probed."""

    source_id: SourceId
    name: str
    reason: str | None
    probe_at: datetime


@dataclass(frozen=True, slots=True)
class Queues:
    """Sizes of the queues."""

    hosts_ready: int
    pages_waiting: int
    outbox_waiting: int
    outbox_dead: int
    urls_pending: int
    urls_failed: int
    urls_dead: int


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A source in the operators' list."""

    id: SourceId
    name: str
    sort_name: str
    address: str
    feed_url: str | None
    sitemap_url: str | None
    ingestion_mode: IngestionMode
    category: str | None
    state: SourceState
    reason: str | None
    last_error: str | None
    next_try_at: datetime | None
    last_polled_at: datetime | None
    last_succeeded_at: datetime | None
    consecutive_errors: int
    is_system: bool

    @property
    def badge(self) -> str:
        return badge_of(self.feed_url, self.sitemap_url, self.ingestion_mode)


@dataclass(frozen=True, slots=True)
class SourceCursor:
    """The end of a page of the list. Sorted by last success, `sort_name` is that time, or empty."""

    sort_name: str
    id: UUID


@dataclass(frozen=True, slots=True)
class SourcePage:
    sources: Sequence[SourceLine]
    next: SourceCursor | None


@dataclass(frozen=True, slots=True)
class PollEvent:
    at: datetime
    outcome: str
    status: int | None
    bytes: int
    took_ms: int
    new_articles: int

    @property
    def is_success(self) -> bool:
        return self.outcome in SUCCESSES


@dataclass(frozen=True, slots=True)
class Uptime:
    """Polls of one source in a period."""

    period: Period
    polls: int
    failures: int
    new_articles: int
    median_ms: int | None

    @property
    def share(self) -> float | None:
        """The share of successful polls; None without polls."""
        return 1 - self.failures / self.polls if self.polls else None
