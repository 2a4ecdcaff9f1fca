"""What polling knows of a feed and its host, what a poll ends in, and what is decided after it."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never
from uuid import UUID

from headwater.articles.types import NewArticle
from headwater.hosts.types import NOT_SLOWED, HostState, Pace
from headwater.types import FailureClass, SourceId, UserId, record

NEVER = timedelta.max
"""A cooldown that does not end by itself."""


_NOTHING_HEARD = frozenset({FailureClass.NETWORK, FailureClass.DNS, FailureClass.SSRF_BLOCKED, FailureClass.UNEXPECTED})


class Level(StrEnum):
    """WARN for what the world does, ERROR for what a person must look at."""

    WARN = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class PollingOptions:
    """How feeds are polled; from settings."""

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
        """Until an answer can be expected; and where none comes, no host is asked again within its delay."""
        return max(self.lease, self.timeout + self.host_delay)

    @property
    def most_new(self) -> int:
        """Most polls at the same time of hosts that never answered: a quarter of the slots is kept for others."""
        return self.concurrency - self.concurrency // 4

    @property
    def most_slow(self) -> int:
        """From so many slow polls of one reader's feeds on, the feeds of others come first."""
        return max(self.concurrency // 2, 1)


@dataclass(frozen=True, slots=True)
class Off:
    """A feed that is not polled, since when, why, until when, and how many times in a row it came to that."""

    at: datetime
    reason: FailureClass | str  # a person who switches it off says why in their own words
    until: datetime | None
    times: int = 1
    by_operator: bool = False

    @property
    def is_by_hand(self) -> bool:
        """Whether an operator disabled the feed without an end: a good poll does not enable it."""
        return not isinstance(self.reason, FailureClass) or (self.by_operator and self.until is None)


@dataclass(frozen=True, slots=True)
class Moved:
    """A permanent redirect that was seen, but not often enough yet to be believed."""

    url: str
    since: datetime
    times: int


@dataclass(frozen=True, slots=True)
class MovedFeed:
    """A feed whose permanent redirect is believed."""

    source_id: SourceId
    url: str


@dataclass(frozen=True, slots=True)
class LostFeed:
    """A feed that went off because what is at its address is no feed any more."""

    source_id: SourceId
    feed_url: str


@record
class Freshness:
    """How long an answer says it stays good, and when its publisher rests."""

    lasts: timedelta = timedelta(0)
    skip_hours: frozenset[int] = frozenset()
    skip_days: frozenset[int] = frozenset()


NO_WISHES = Freshness()


@record
class FeedState:
    """All that a decision about a feed rests on. `wishes` are those of its body, which a 304 does not repeat."""

    source_id: SourceId
    own_interval: timedelta | None = None
    consecutive_errors: int = 0
    streak: int = 0
    streak_class: FailureClass | None = None
    permanent_errors: int = 0
    failing_since: datetime | None = None
    off: Off | None = None
    moved: Moved | None = None
    mean_gap: timedelta | None = None
    last_new_at: datetime | None = None
    last_full_at: datetime | None = None
    last_error: str | None = None
    last_error_type: FailureClass | None = None
    wishes: Freshness = NO_WISHES


@record
class Validators:
    """What a server gave to tell one version of a feed from the next; sent back word for word."""

    etag: str | None
    last_modified: str | None


@record
class ClaimedFeed:
    """A due feed that this worker holds, with its host, until the lease ends.

    `edits` is how often somebody changed the feed before: what such a change says is not written over.
    `submitted_by` is the reader who brought it.
    """

    feed_url: str
    host: str
    lease: UUID
    edits: int
    policy: str | None
    validators: Validators
    state: FeedState
    host_state: HostState
    host_answered_at: datetime | None = None
    submitted_by: UserId | None = None
    pace: Pace = NOT_SLOWED
    host_delay: timedelta = timedelta(0)  # what robots.txt and the source ask for

    @property
    def source_id(self) -> SourceId:
        """Whose feed it is."""
        return self.state.source_id


@record
class ReadFeed:
    """What is kept of a feed that was read: how often it wants to be asked, what it lists, and who served it."""

    format: str
    title: str = ""
    ttl: timedelta | None = None
    update_period: timedelta | None = None
    skip_hours: frozenset[int] = frozenset()
    skip_days: frozenset[int] = frozenset()
    site: str = ""
    entries: tuple[NewArticle, ...] = ()

    @property
    def wishes(self) -> Freshness:
        """How often it wants to be asked, and when not: the longer of ttl and sy:update* counts."""
        if not (self.ttl or self.update_period or self.skip_hours or self.skip_days):
            return NO_WISHES
        asked = (wait for wait in (self.ttl, self.update_period) if wait is not None)
        return Freshness(max(asked, default=timedelta(0)), self.skip_hours, self.skip_days)


@record
class Polled:
    """The feed was read. `new` counts what it had not listed before.

    `missed` when it lists nothing that was known: more may have slipped by meanwhile.
    """

    feed: ReadFeed
    validators: Validators
    freshness: Freshness = field(default_factory=Freshness)
    moved_to: str | None = None
    missed: bool = False
    status: int = 200
    new: int = 0

    @property
    def is_delta(self) -> bool:
        """Only what is new was sent (226 IM Used): it tells nothing of what else the feed lists."""
        return self.status == 226

    @property
    def item_count(self) -> int | None:
        """How many entries the feed lists; None where the answer does not tell."""
        return None if self.is_delta else len(self.feed.entries)


@record
class NotModified:
    """The feed is what it was. Validators are renewed where the answer carries them."""

    validators: Validators
    freshness: Freshness = field(default_factory=Freshness)
    moved_to: str | None = None
    status: int = 304


@dataclass(frozen=True, slots=True)
class PollFailed:
    """The feed could not be read: seed 000's PollError as a value, whose level is the policy's to say.

    `detail` is its cause, as a sentence for a person; `by_name` where a name led to what is blocked.
    """

    kind: FailureClass
    detail: str
    status: int | None = None
    retry_after: timedelta | None = None
    url: str | None = None
    by_name: bool = False

    @property
    def is_silent(self) -> bool:
        """Whether nothing was heard from the host."""
        return self.status is None and self.kind in _NOTHING_HEARD


PollOutcome = Polled | NotModified | PollFailed


def outcome_name(outcome: PollOutcome) -> str:
    """`polled`, `not_modified`, or the class of the failure."""
    match outcome:
        case Polled():
            return "polled"
        case NotModified():
            return "not_modified"
        case PollFailed():
            return outcome.kind.value
        case _:
            assert_never(outcome)


class Happening(StrEnum):
    """What a decision changes that somebody should hear of."""

    DISABLED = "feed disabled"
    ENABLED = "feed enabled"
    MOVED = "feed moved"
    LOST = "feed lost"


@dataclass(frozen=True, slots=True)
class Standing:
    """What a retry has to respect: who disabled the feed and until when, what the site asked for, and a paused host."""

    off_at: datetime | None
    off_reason: str | None
    off_until: datetime | None
    off_by_operator: bool
    asked_until: datetime | None
    paused_until: datetime | None


@dataclass(frozen=True, slots=True)
class Hold:
    """What an operator or the site decided about a feed before its source was deleted."""

    is_switched_off: bool  # the whole source
    off_at: datetime | None
    off_reason: str | None
    off_until: datetime | None
    asked_until: datetime | None


@record
class Decision:
    """What is written after a poll: the feed's next state, its next poll, and what happened on the way.

    `is_outage` when the poll failed for a reason of our own, and is as if it had not been.
    """

    state: FeedState
    next_poll_at: datetime
    level: Level | None = None
    happenings: tuple[Happening, ...] = ()
    is_outage: bool = False
    asked_until: datetime | None = None  # the site's Retry-After


@record
class HostDecision:
    """The host's next state. `counts` is false when a failure is the host's own and not held against the feed."""

    state: HostState
    counts: bool = True
    paused: bool = False
    resumed: bool = False


@record
class PollReport:
    """One poll, told afterwards."""

    source_id: SourceId
    feed_url: str
    outcome: PollOutcome
    decision: Decision
    host: HostDecision
    new_articles: int
    took: timedelta

    @property
    def outcome_name(self) -> str:
        """`polled`, `not_modified`, or the class of the failure."""
        return outcome_name(self.outcome)

    @property
    def next_poll_at(self) -> datetime:
        """When it is polled again."""
        return self.decision.next_poll_at
