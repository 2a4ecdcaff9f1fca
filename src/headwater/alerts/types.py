"""Alert conditions, the facts they are evaluated by, incidents and messages. Pure data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from headwater.channels.types import ChannelId
from headwater.hosts.store.outages import Outage
from headwater.timekeeping.decide import DEFAULT_CLOCK_OPTIONS, ClockOptions
from headwater.types import SourceId


class Condition(StrEnum):
    """A condition that is an incident while it holds. The Prometheus rules have the same names."""

    SYSTEM_FEEDS_DISABLED = "HeadwaterSystemFeedsDisabled"
    SYSTEM_FEED_DISABLED_LONG = "HeadwaterSystemFeedDisabledLong"
    CRITICAL_FEED_FAILING = "HeadwaterCriticalFeedFailing"
    OWN_OUTAGE = "HeadwaterOwnOutage"
    STAGE_STOPPED = "HeadwaterStageStopped"
    QUEUE_GROWS = "HeadwaterQueueGrows"
    CLOCK_PROBLEM = "HeadwaterClockProblem"
    AI_BUDGET_REACHED = "HeadwaterAiBudgetReached"
    CHANNEL_FAILING = "HeadwaterChannelFailing"
    CHANNEL_DEAD_LETTERS = "HeadwaterChannelDeadLetters"


# Conditions of one feed each: hundreds may begin within minutes, and are sent in one message.
OF_A_FEED = frozenset({Condition.SYSTEM_FEED_DISABLED_LONG, Condition.CRITICAL_FEED_FAILING})
WARNINGS = frozenset({
    Condition.SYSTEM_FEED_DISABLED_LONG, Condition.QUEUE_GROWS, Condition.AI_BUDGET_REACHED,
    Condition.CHANNEL_DEAD_LETTERS,
})  # fmt: skip
TITLES: Mapping[Condition, str] = {
    Condition.SYSTEM_FEEDS_DISABLED: "Many system feeds are disabled",
    Condition.SYSTEM_FEED_DISABLED_LONG: "A system feed has been disabled for long",
    Condition.CRITICAL_FEED_FAILING: "A critical feed fails",
    Condition.OWN_OUTAGE: "Our own network is down",
    Condition.STAGE_STOPPED: "A stage has stopped",
    Condition.QUEUE_GROWS: "A queue only grows",
    Condition.CLOCK_PROBLEM: "The clock cannot be trusted",
    Condition.AI_BUDGET_REACHED: "The budget for language models is reached",
    Condition.CHANNEL_FAILING: "The destination of a channel fails",
    Condition.CHANNEL_DEAD_LETTERS: "A channel has dead letters",
}
# The same for all feeds of a host that is paused.
HOST_TITLES: Mapping[Condition, str] = {
    Condition.SYSTEM_FEED_DISABLED_LONG: "A host of system feeds has been paused for long",
    Condition.CRITICAL_FEED_FAILING: "The host of a critical feed is paused",
}
HOST = "host:"  # before the name of a paused host whose feeds are one incident
WEBHOOK = "webhook"
MAIL = "mail:"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Seed 003 §3.3 names the first three."""

    disabled_percent: int = 20  # of the system feeds; more than this
    disabled_for: timedelta = timedelta(hours=24)
    critical_errors: int = 3  # in a row; more than this
    no_success: timedelta = timedelta(hours=24)  # a feed that has failed, or whose host has, for longer
    disabled_least: int = 2  # one disabled feed is not a widespread issue, however few feeds there are
    stage_stopped: timedelta = timedelta(minutes=15)
    queue_window: timedelta = timedelta(hours=6)
    queue_least: int = 1000  # smaller queues are soon empty
    channel_failing: timedelta = timedelta(minutes=30)  # the destination of a channel, without a success


@dataclass(frozen=True, slots=True)
class AlertOptions:
    thresholds: Thresholds = field(default_factory=Thresholds)
    every: timedelta = timedelta(minutes=1)
    settle: timedelta = timedelta(minutes=10)  # how long a condition must be gone until its incident ends
    digest: timedelta = timedelta(hours=1)  # minimum time between two messages about single feeds
    webhook_url: str | None = None
    recipients: Sequence[str] = ()
    site: str = "http://127.0.0.1:8000"
    clock: ClockOptions = DEFAULT_CLOCK_OPTIONS

    @property
    def channels(self) -> list[str]:
        return [*([WEBHOOK] if self.webhook_url else []), *(f"{MAIL}{address}" for address in self.recipients)]


@dataclass(frozen=True, slots=True)
class FeedFact:
    """A system or critical feed. `disabled_at` is set when it is not active: disabled by polling, by an operator, or
    with its whole source. Failures of a paused host are not counted for its feeds; only `host` and `failing_since` show
    them."""

    id: SourceId
    name: str
    disabled_at: datetime | None = None
    reason: str | None = None
    errors: int = 0
    failing_since: datetime | None = None  # the first failure since the last success, of the feed or of its host
    host: str | None = None  # when it is paused, and the pause is worth an alert
    paused_for: str | None = None  # the class of failure that paused it

    @property
    def is_failing_itself(self) -> bool:
        """Not with its paused host. A disabled feed fails if it did before: to be disabled is not a recovery."""
        return self.host is None if self.disabled_at is None else self.errors > 0


@dataclass(frozen=True, slots=True)
class StageFact:
    due_since: datetime | None = None
    is_busy: bool = False


@dataclass(frozen=True, slots=True)
class FactSample:
    """Facts that conditions compare over time."""

    at: datetime
    stages: Mapping[str, StageFact] = field(default_factory=dict[str, StageFact])
    queues: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class FeedCounts:
    states: Mapping[str, int] = field(default_factory=dict[str, int])  # sources by state
    system: int = 0
    system_disabled: int = 0  # on a paused host, or without a success for too long, too


@dataclass(frozen=True, slots=True)
class BudgetFact:
    """The budget of this month for calls to language models."""

    spent_micros: int = 0
    reached_at: datetime | None = None  # when the ceiling refused the first call


@dataclass(frozen=True, slots=True)
class ChannelFact:
    """A channel. What waits and what was refused is counted up to a limit."""

    id: ChannelId
    name: str
    is_paused: bool
    delivered: int
    waiting: int
    refused: int
    oldest_waiting_at: datetime | None = None
    failing_since: datetime | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    sample: FactSample
    counts: FeedCounts = field(default_factory=FeedCounts)
    disabled: Sequence[FeedFact] = ()  # system feeds that are disabled or failing, the longest first
    critical: Sequence[FeedFact] = ()  # critical feeds, the most errors first
    outages: Sequence[Outage] = ()
    clock_problem: str | None = None  # why this machine's clock cannot be trusted
    budget: BudgetFact = field(default_factory=BudgetFact)
    channels: Sequence[ChannelFact] = ()


@dataclass(frozen=True, slots=True)
class HeldCondition:
    """A condition that holds now. With its subject (a feed, host, stage, queue or nothing) it names the incident."""

    condition: Condition
    subject: str
    summary: str
    since: datetime


class NoticeKind(StrEnum):
    BEGAN = "began"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class NoticeStatus:
    channel: str
    kind: NoticeKind
    sent_at: datetime | None
    attempts: int
    error: str | None

    @property
    def name(self) -> str:
        """The email address, or `webhook`, whose URL may contain a secret."""
        return self.channel.removeprefix(MAIL)


@dataclass(frozen=True, slots=True)
class Incident:
    """A condition, from when it began to hold until it had not held for a while."""

    id: UUID
    condition: Condition
    subject: str
    summary: str
    since: datetime  # when the problem began, which may be long before the incident
    began_at: datetime
    last_held_at: datetime
    ended_at: datetime | None = None
    notices: Sequence[NoticeStatus] = ()  # read for pages and commands only

    @property
    def severity(self) -> str:
        """As in the Prometheus rules."""
        return "warning" if self.condition in WARNINGS else "critical"

    @property
    def title(self) -> str:
        return HOST_TITLES[self.condition] if self.host else TITLES[self.condition]

    @property
    def host(self) -> str | None:
        """The paused host whose feeds it is about, if it is about one."""
        return self.subject.removeprefix(HOST) if self.subject.startswith(HOST) else None

    @property
    def late(self) -> list[NoticeStatus]:
        return [one for one in self.notices if one.sent_at is None]

    @property
    def sent_to(self) -> list[str]:
        """Channels to which all notices were sent."""
        return sorted({one.name for one in self.notices} - {one.name for one in self.late})


@dataclass(frozen=True, slots=True)
class IncidentChanges:
    began: Sequence[HeldCondition]
    going_on: Sequence[Incident]  # updated
    ended: Sequence[Incident]


@dataclass(frozen=True, slots=True)
class Notice:
    """The beginning or end of an incident, to be sent to a channel once."""

    incident: Incident
    channel: str
    kind: NoticeKind


@dataclass(frozen=True, slots=True)
class Message:
    """Notices sent together. The id is the same for every attempt, so that receivers can ignore duplicates."""

    id: UUID
    channel: str
    made_at: datetime
    attempts: int
    notices: Sequence[Notice] = ()


@dataclass(frozen=True, slots=True)
class IncidentBoard:
    open: Sequence[Incident]
    past: Sequence[Incident]
    evaluated_at: datetime | None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Work of the stage: evaluate the conditions."""
