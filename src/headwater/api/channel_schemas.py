"""Request and response models of channels."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import AwareDatetime, Field, SecretStr, StrictBool, StrictInt, StrictStr
from pydantic.config import JsonDict

from headwater.api.schemas import NextCursor, RequestModel, ResponseModel, Text, with_example
from headwater.channels.decide import NAME_MAX, QUERY_MAX
from headwater.channels.operate import SECRET_MAX, shown_options
from headwater.channels.types import (
    Channel,
    ChannelFields,
    ChannelOverview,
    ChannelState,
    DeliveryState,
    DestinationKind,
)

OPTIONS_MOST = 20
_HOOK: JsonDict = {
    "name": "articles:crime", "query": "topic:crime quality:>60", "destination": "webhook",
    "options": {"url": "https://hooks.example.com/in"},
}  # fmt: skip
ChannelName = Annotated[Text, Field(max_length=NAME_MAX, description="Unique: a-z, 0-9 and . _ : -")]
SavedQuery = Annotated[
    str, Field(min_length=1, max_length=QUERY_MAX, description="Which articles. Everything only as `*`.")
]
Destination = Annotated[DestinationKind, Field(description="Where its articles are sent; `none`: it is only read.")]
Options = Annotated[
    dict[Text, StrictBool | StrictInt | StrictStr | None],
    Field(max_length=OPTIONS_MOST, description="Of the destination, such as `url`: see docs/channels.md."),
]
Password = Annotated[
    SecretStr, Field(max_length=SECRET_MAX, description="Of a Redis or NATS server. It is never shown again.")
]


class NewChannel(RequestModel):
    """A new channel. It sends what arrives or changes from now on."""

    model_config = with_example(_HOOK)

    name: ChannelName
    query: SavedQuery
    destination: Destination = DestinationKind.NONE
    options: Options = Field(default_factory=dict[str, bool | int | str | None])
    password: Password | None = None

    @property
    def fields(self) -> ChannelFields:
        return ChannelFields(self.name, self.query, self.destination, self.options)


class ChannelChanges(RequestModel):
    """Changes to a channel. Fields that are not sent, or null, are unchanged; `options` are replaced as a whole."""

    model_config = with_example({"query": "topic:crime or topic:politics"})

    name: ChannelName | None = None
    query: SavedQuery | None = None
    destination: Destination | None = None
    options: Options | None = None
    password: Password | None = None

    def applied_to(self, channel: Channel) -> ChannelFields:
        """A new destination begins without the options of the old one."""
        destination = self.destination or channel.destination
        kept: Mapping[str, Any] = channel.options if destination is channel.destination else {}
        options = kept if self.options is None else self.options
        return ChannelFields(self.name or channel.name, self.query or channel.query, destination, options)


class ReplayRequest(RequestModel):
    """From when on to send again."""

    model_config = with_example({"since": "2026-11-15T00:00:00Z"})

    since: Annotated[AwareDatetime, Field(description="A time with its zone.")]


class ChannelResponse(ResponseModel):
    """A channel and its deliveries."""

    id: UUID
    name: str
    query: str
    destination: DestinationKind
    options: Annotated[
        Mapping[str, Any], Field(description="Of the destination; for moderators without secrets in URLs.")
    ]
    has_password: Annotated[bool, Field(description="Whether a secret or password is set.")]
    has_feed: Annotated[bool, Field(description="Whether its feed has a secret address.")]
    status: Annotated[ChannelState, Field(description="active, paused, failing (its destination) or replaying.")]
    version: Annotated[int, Field(description="Grows with each change.")]
    created_at: datetime
    updated_at: datetime
    waiting: Annotated[int, Field(description="Deliveries that wait; in a list 1,000 means as many or more.")]
    dead_letters: Annotated[int, Field(description="Deliveries that the destination refused; counted alike.")]
    delivered_last_hour: Annotated[int, Field(description="Counted alike.")]
    delivered: Annotated[int, Field(description="In all, replays included.")]
    delivered_at: Annotated[datetime | None, Field(description="The last one.")]
    lag_seconds: Annotated[float, Field(description="How long the oldest waiting delivery has waited.")]
    failures: Annotated[int, Field(description="Of the destination, in a row.")]
    failing_since: datetime | None
    retry_at: Annotated[datetime | None, Field(description="When a failing destination is tried again.")]
    reason: Annotated[str | None, Field(description="Of the last failure.")]

    @classmethod
    def of(cls, found: ChannelOverview, *, now: datetime, is_masked: bool) -> Self:
        return cls.model_validate(_shown(found, now, is_masked=is_masked))


class MadeChannelResponse(ChannelResponse):
    """A channel after a change."""

    secret: Annotated[
        str | None, Field(description="With which messages to its webhook are signed, if it is new. Shown this once.")
    ]

    @classmethod
    def with_secret(cls, found: ChannelOverview, secret: str | None, *, now: datetime) -> Self:
        return cls.model_validate(_shown(found, now, is_masked=False) | {"secret": secret})


class ChannelListResponse(ResponseModel):
    """All channels, by name."""

    channels: list[ChannelResponse]


class DeliveryResponse(ResponseModel):
    """An article of a channel. `url` and `title` are null when the article is deleted."""

    id: Annotated[str, Field(description="The same each time it is sent.")]
    revision: int
    status: Annotated[DeliveryState, Field(validation_alias="state")]
    article_id: UUID
    url: str | None
    title: str | None
    queued_at: datetime
    delivered_at: datetime | None
    attempts: Annotated[int, Field(description="In which it was refused.")]
    reason: Annotated[str | None, Field(description="Why it was refused.")]


class DeliveryPage(ResponseModel):
    """Deliveries, the newest first."""

    deliveries: list[DeliveryResponse]
    next_cursor: NextCursor


class PreviewedArticleResponse(ResponseModel):
    article_id: UUID
    url: str
    title: str
    listed_at: datetime


class ChannelPreviewResponse(ResponseModel):
    """What a query finds among the articles that changed in the last days."""

    days: int
    examined: Annotated[int, Field(description="Articles that were compared with the query; 5,000 at most.")]
    matched: int
    is_whole: Annotated[bool, Field(description="Whether all articles of these days were examined.")]
    examples: Annotated[list[PreviewedArticleResponse], Field(description="The newest, 20 at most.")]


class QueuedDeliveries(ResponseModel):
    """Deliveries that will be sent again, under the same ids."""

    queued: int


class ChannelSecretResponse(ResponseModel):
    """A new secret. It is shown this once, and the old one is invalid."""

    secret: str


class ChannelFeedResponse(ResponseModel):
    """The secret addresses of a feed. They are shown this once; whoever knows one reads the feed."""

    atom_url: str
    json_url: str

    @classmethod
    def of(cls, addresses: tuple[str, str]) -> Self:
        return cls(atom_url=addresses[0], json_url=addresses[1])


def _shown(found: ChannelOverview, now: datetime, *, is_masked: bool) -> dict[str, Any]:
    channel, counts = found.channel, found.counts
    return {
        "id": channel.id, "name": channel.name, "query": channel.query, "destination": channel.destination,
        "options": shown_options(channel.options) if is_masked else dict(channel.options),
        "has_password": channel.has_secret, "has_feed": channel.has_feed, "status": channel.state,
        "version": channel.version, "created_at": channel.created_at, "updated_at": channel.updated_at,
        "waiting": counts.waiting, "dead_letters": counts.refused, "delivered_last_hour": counts.last_hour,
        "delivered": channel.delivered, "delivered_at": channel.delivered_at,
        "lag_seconds": round(found.lag(now).total_seconds(), 1), "failures": channel.failures,
        "failing_since": channel.failed_since, "retry_at": channel.ready_at if channel.failures else None,
        "reason": channel.reason,
    }  # fmt: skip


REQUESTS = (NewChannel, ChannelChanges, ReplayRequest)
RESPONSES = (
    ChannelListResponse, MadeChannelResponse, ChannelPreviewResponse, DeliveryPage, QueuedDeliveries,
    ChannelSecretResponse, ChannelFeedResponse,
)  # fmt: skip
