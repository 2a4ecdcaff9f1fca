"""A feed and its host, the outcome of a poll, and what is decided after it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never
from uuid import UUID

from headwater.articles.types import NewArticle
from headwater.hosts.breaker import HostDecision
from headwater.hosts.types import NOT_SLOWED, HostState, Pace
from headwater.types import FailureClass, SourceId, UserId, record

NEVER = timedelta.max
"""A cooldown that does not end by itself."""


_NO_RESPONSE = frozenset({FailureClass.NETWORK, FailureClass.DNS, FailureClass.SSRF_BLOCKED, FailureClass.UNEXPECTED})


class Level(StrEnum):
    """ERROR is for what an operator must look at."""

    WARN = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class PollingOptions:
    interval: timedelta
    interval_min: timedelta
    interval_max: timedelta
    host_delay: timedelta
    concurrency: int
    timeout: timedelta
    lease: timedelta
    max_bytes: int
    max_entries: int
    policy: str
    max_failures: int = 5
    max_backoff: timedelta = timedelta(days=1)
    is_enabled: bool = True
    check_interval: timedelta = timedelta(seconds=1)

    @property
    def held_for(self) -> timedelta:
        """Long enough for a request and the host's delay after it, even if the worker dies."""
        return max(self.lease, self.timeout + self.host_delay)

    @property
    def most_new(self) -> int:
        """Maximum polls at the same time of hosts that never answered: a quarter of the slots is kept for others."""
        return self.concurrency - self.concurrency // 4

    @property
    def most_slow(self) -> int:
        """From so many slow polls of one user's feeds on, the feeds of others go first."""
        return max(self.concurrency // 2, 1)


@dataclass(frozen=True, slots=True)
class Disabled:
    """A disabled feed: since when, why, until when, and how many times in a row."""

    at: datetime
    reason: FailureClass | str  # a class of failure, or the words of the operator who disabled it
    until: datetime | None
    times: int = 1
    by_operator: bool = False

    @property
    def is_by_hand(self) -> bool:
        """Whether an operator disabled the feed without an end: a good poll does not enable it."""
        return not isinstance(self.reason, FailureClass) or (self.by_operator and self.until is None)


@dataclass(frozen=True, slots=True)
class Moved:
    """A permanent redirect that was not seen often enough yet to be adopted."""

    url: str
    since: datetime
    times: int


@dataclass(frozen=True, slots=True)
class MovedFeed:
    source_id: SourceId
    url: str


@dataclass(frozen=True, slots=True)
class LostFeed:
    """A feed that was disabled because its URL is not a feed any more."""

    source_id: SourceId
    feed_url: str


@record
class PollHints:
    """What a feed asks for in its body: the time between two polls, and hours and weekdays without polls."""

    gap: timedelta = timedelta(0)
    skip_hours: frozenset[int] = frozenset()
    skip_days: frozenset[int] = frozenset()


@record
class FeedState:
    """What a decision about a feed depends on. `hints` are kept, since a 304 does not repeat them."""

    source_id: SourceId
    own_interval: timedelta | None = None
    consecutive_errors: int = 0
    streak: int = 0
    streak_class: FailureClass | None = None
    permanent_errors: int = 0
    failing_since: datetime | None = None
    disabled: Disabled | None = None
    moved: Moved | None = None
    mean_gap: timedelta | None = None
    last_new_at: datetime | None = None
    last_full_at: datetime | None = None
    last_error: str | None = None
    last_error_type: FailureClass | None = None
    hints: PollHints | None = None


@record
class Validators:
    """ETag and Last-Modified, sent back word for word."""

    etag: str | None
    last_modified: str | None


@record
class ClaimedFeed:
    """A due feed that this worker holds, with its host, until the lease ends."""

    feed_url: str
    host: str
    lease: UUID
    edits: int  # changes by users, which a poll that began before does not overwrite
    policy: str | None
    validators: Validators
    state: FeedState
    host_state: HostState
    host_answered_at: datetime | None = None
    submitted_by: UserId | None = None  # who added it, as long as they have an account
    is_system: bool = True
    pace: Pace = NOT_SLOWED
    host_delay: timedelta = timedelta(0)  # of robots.txt and of the source

    @property
    def source_id(self) -> SourceId:
        return self.state.source_id


@record
class ReadFeed:
    """What is kept of a parsed feed. `site` served it; `page_url` and `icon_url` are what the feed says of its site."""

    format: str
    title: str = ""
    hints: PollHints | None = None
    site: str = ""
    entries: tuple[NewArticle, ...] = ()
    page_url: str | None = None
    icon_url: str | None = None


@record
class Polled:
    feed: ReadFeed
    validators: Validators
    fresh_for: timedelta = timedelta(0)
    moved_to: str | None = None
    missed: bool = False  # it lists no known entry: some between two polls may have been missed
    status: int = 200
    new: int = 0  # entries that it had not listed before

    @property
    def is_delta(self) -> bool:
        """Only new entries were sent (226 IM Used)."""
        return self.status == 226

    @property
    def item_count(self) -> int | None:
        """How many entries the feed lists; None if unknown."""
        return None if self.is_delta else len(self.feed.entries)


@record
class NotModified:
    """The feed has not changed. Validators are renewed if the response has them."""

    validators: Validators
    fresh_for: timedelta = timedelta(0)
    moved_to: str | None = None
    status: int = 304


@dataclass(frozen=True, slots=True)
class PollFailed:
    """The feed could not be read: seed 000's PollError as a value; the policy decides its level."""

    kind: FailureClass
    detail: str  # the cause, as a sentence for users
    status: int | None = None
    retry_after: timedelta | None = None
    url: str | None = None
    by_name: bool = False  # a host name resolved to a blocked address

    @property
    def is_silent(self) -> bool:
        return self.status is None and self.kind in _NO_RESPONSE


PollOutcome = Polled | NotModified | PollFailed


class Happening(StrEnum):
    DISABLED = "feed disabled"
    ENABLED = "feed enabled"
    MOVED = "feed moved"
    LOST = "feed lost"


@dataclass(frozen=True, slots=True)
class Standing:
    """What a retry has to respect: who disabled the feed until when, Retry-After, and a paused host."""

    disabled_at: datetime | None
    disable_reason: str | None
    disabled_until: datetime | None
    disabled_by_operator: bool
    asked_until: datetime | None
    paused_until: datetime | None


@dataclass(frozen=True, slots=True)
class Hold:
    """What an operator or the site decided about a feed before its source was deleted."""

    is_disabled: bool  # the whole source
    disabled_at: datetime | None
    disable_reason: str | None
    disabled_until: datetime | None
    asked_until: datetime | None


@record
class OperatorDisable:
    """An operator has disabled a feed or its whole source; until None: until they enable it."""

    until: datetime | None
    is_whole: bool


@record
class Decision:
    """What is written after a poll: the feed's next state, its next poll, and what happened."""

    state: FeedState
    next_poll_at: datetime
    level: Level | None = None
    happenings: tuple[Happening, ...] = ()
    is_outage: bool = False  # our own network failed: the poll does not count
    asked_until: datetime | None = None  # the site's Retry-After


@record
class PollReport:
    feed: ClaimedFeed
    outcome: PollOutcome
    decision: Decision
    host: HostDecision
    took: timedelta
    at: datetime
    size: int = 0
    new_links: int = 0  # entries that the feed had not listed before
    new_articles: int = 0

    @property
    def source_id(self) -> SourceId:
        return self.feed.source_id

    @property
    def feed_url(self) -> str:
        return self.feed.feed_url

    @property
    def outcome_name(self) -> str:
        match self.outcome:
            case Polled():
                return "polled"
            case NotModified():
                return "not_modified"
            case PollFailed(kind=kind):
                return kind.value
            case _:
                assert_never(self.outcome)

    @property
    def next_poll_at(self) -> datetime:
        return self.decision.next_poll_at
