"""Health of sources, for the operators' pages. Pure data."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from headwater.polling.policy import Policy
from headwater.polling.types import FeedState, HostState
from headwater.types import SourceId, SourceState

SUCCESSES = frozenset({"polled", "not_modified"})


class Period(StrEnum):
    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"

    @property
    def length(self) -> timedelta:
        return timedelta(days={"24h": 1, "7d": 7, "30d": 30}[self.value])

    @property
    def step(self) -> timedelta:
        """The width of one bar of its chart."""
        return timedelta(hours={"24h": 1, "7d": 6, "30d": 24}[self.value])

    @property
    def words(self) -> str:
        return {"24h": "24 hours", "7d": "7 days", "30d": "30 days"}[self.value]


class FailureGroup(StrEnum):
    """Groups of failure classes, by who can fix them, with their labels."""

    LOST = "Not found or gone"
    REFUSED = "Refused"
    BROKEN = "Server error"
    UNREACHED = "Network error"
    UNREADABLE = "Parse error"
    OTHER = "Other"


_GROUPS: Mapping[FailureGroup, Collection[str]] = {
    FailureGroup.LOST: ("not_found", "gone"),
    FailureGroup.REFUSED: ("rate_limited", "unauthorized", "forbidden", "bad_request", "bot_challenge"),
    FailureGroup.BROKEN: ("upstream_failure",),
    FailureGroup.UNREACHED: ("network", "dns"),
    FailureGroup.UNREADABLE: ("parse_error", "not_a_feed", "too_large", "redirect_loop"),
}


def failure_group(outcome: str) -> FailureGroup | None:
    """The group of a failed poll; None for a success."""
    if outcome in SUCCESSES:
        return None
    return next((group for group, classes in _GROUPS.items() if outcome in classes), FailureGroup.OTHER)


@dataclass(frozen=True, slots=True)
class FeedHealth:
    """The state of a feed. `is_enabled` is that of the whole source."""

    state: FeedState
    policy: Policy
    host: HostState
    next_poll_at: datetime
    last_polled_at: datetime | None = None
    last_status: int | None = None
    is_enabled: bool = True


@dataclass(frozen=True, slots=True)
class FeedDescription:
    """Sentences; the outlook may be empty."""

    state: str
    next_poll: str
    outlook: str


@dataclass(frozen=True, slots=True)
class Forecast:
    """When a feed will be disabled if it keeps failing: after how many failures, at which time, until when."""

    failures: int
    at: datetime
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Counting:
    counted_until: datetime | None
    ranked_at: datetime | None


@dataclass(frozen=True, slots=True)
class Tally:
    state: SourceState
    reason: str | None
    category: str | None
    sources: int


@dataclass(frozen=True, slots=True)
class Bar:
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

    def of(self, group: FailureGroup) -> int:
        return sum(count for outcome, count in self.outcomes.items() if failure_group(outcome) is group)


@dataclass(frozen=True, slots=True)
class Leader:
    source_id: SourceId
    name: str
    polls: int
    failures: int
    new_articles: int
    median_ms: int | None
    p95_ms: int | None


@dataclass(frozen=True, slots=True)
class PausedHost:
    host: str
    paused_until: datetime
    reason: str | None
    pauses: int
    sources: int


@dataclass(frozen=True, slots=True)
class ComingBack:
    source_id: SourceId
    name: str
    reason: str | None
    probe_at: datetime


@dataclass(frozen=True, slots=True)
class Queues:
    hosts_ready: int
    pages_waiting: int
    documents_waiting: int
    urls_pending: int
    urls_failed: int
    urls_dead: int


@dataclass(frozen=True, slots=True)
class PollEvent:
    at: datetime
    outcome: str
    status: int | None
    bytes: int
    took_ms: int
    new_articles: int


@dataclass(frozen=True, slots=True)
class Uptime:
    period: Period
    polls: int
    failures: int
    new_articles: int
    median_ms: int | None

    @property
    def share(self) -> float | None:
        """The share of successful polls; None without polls."""
        return 1 - self.failures / self.polls if self.polls else None
