"""A channel, its destination and its deliveries. Pure data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NewType
from uuid import UUID

from headwater.types import ArticleId

ChannelId = NewType("ChannelId", UUID)


class DestinationKind(StrEnum):
    """Where the articles of a channel are sent. Any channel can also be read as a stream or a feed."""

    NONE = "none"  # it is only read
    WEBHOOK = "webhook"
    REDIS = "redis"  # a stream
    NATS = "nats"  # JetStream
    FILE = "file"  # lines of JSON
    SEARCH_INDEX = "search_index"


class DeliveryState(StrEnum):
    WAITING = "waiting"
    DELIVERED = "delivered"
    REFUSED = "refused"  # a dead letter


class ChannelState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    FAILING = "failing"  # its destination
    REPLAYING = "replaying"


@dataclass(frozen=True, slots=True)
class DestinationLimits:
    """Which destinations are possible here, by the settings."""

    hosts: frozenset[str] = frozenset()  # names and addresses that may be reached although they are private
    has_directory: bool = False  # for files
    has_index: bool = False
    allow_loopback: bool = False


@dataclass(frozen=True, slots=True)
class ChannelFields:
    """What an operator writes. `options` are those of the destination: see docs/channels.md."""

    name: str
    query: str
    destination: DestinationKind = DestinationKind.NONE
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Channel:
    """A stored channel, without its secrets."""

    id: ChannelId
    name: str
    query: str
    destination: DestinationKind
    options: Mapping[str, Any]
    has_secret: bool
    has_feed: bool
    version: int
    is_paused: bool
    created_at: datetime
    updated_at: datetime
    ready_at: datetime  # its next try after a failure
    delivered: int  # in all, replays included
    delivered_at: datetime | None
    failures: int  # of the destination, in a row
    failed_since: datetime | None
    reason: str | None  # of the last failure
    is_replaying: bool

    @property
    def state(self) -> ChannelState:
        if self.is_paused:
            return ChannelState.PAUSED
        if self.failures:
            return ChannelState.FAILING
        return ChannelState.REPLAYING if self.is_replaying else ChannelState.ACTIVE

    @property
    def fields(self) -> ChannelFields:
        return ChannelFields(self.name, self.query, self.destination, dict(self.options))


@dataclass(frozen=True, slots=True)
class ChannelCounts:
    """The deliveries of a channel. `waiting` and `refused` are at most a limit of the caller."""

    channel_id: ChannelId
    waiting: int
    refused: int
    last_hour: int  # delivered within it
    oldest_waiting_at: datetime | None


@dataclass(frozen=True, slots=True)
class ChannelOverview:
    """A channel and its deliveries, as pages, API and commands show it."""

    channel: Channel
    counts: ChannelCounts

    def lag(self, now: datetime) -> timedelta:
        """How long its oldest waiting delivery has waited."""
        oldest = self.counts.oldest_waiting_at
        return timedelta(0) if oldest is None else max(now - oldest, timedelta(0))


@dataclass(frozen=True, slots=True)
class PreviewedArticle:
    article_id: ArticleId
    url: str
    title: str
    listed_at: datetime


@dataclass(frozen=True, slots=True)
class ChannelPreview:
    """What a query finds. `is_whole`: all articles that changed in these days were examined."""

    days: int
    examined: int
    matched: int
    is_whole: bool
    examples: Sequence[PreviewedArticle]  # the newest


@dataclass(frozen=True, slots=True)
class HourCount:
    """How many deliveries of a channel were sent in the hour that begins then."""

    at: datetime
    delivered: int


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """A delivery and the shared record of its article; that is None when the article is deleted."""

    channel_id: ChannelId
    revision: int
    article_id: ArticleId
    queued_at: datetime
    delivered_at: datetime | None
    attempts: int
    reason: str | None
    url: str | None = None
    title: str | None = None

    @property
    def id(self) -> str:
        return delivery_id(self.channel_id, self.revision)

    @property
    def state(self) -> DeliveryState:
        if self.reason is not None:
            return DeliveryState.REFUSED
        return DeliveryState.WAITING if self.delivered_at is None else DeliveryState.DELIVERED


@dataclass(frozen=True, slots=True)
class ChannelRevision:
    """An article of a channel, in the order of revisions: what its stream and its feed are made of."""

    revision: int
    article_id: ArticleId
    queued_at: datetime


def delivery_id(channel_id: UUID, revision: int) -> str:
    """The same whenever this delivery is sent."""
    return f"{channel_id}:{revision}"
