"""Options of delivering, messages, and what a destination answers. Pure data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from headwater.channels.types import DestinationLimits


@dataclass(frozen=True, slots=True)
class DeliveringOptions:
    limits: DestinationLimits = field(default_factory=DestinationLimits)
    directory: str | None = None  # for files
    concurrency: int = 4  # channels at the same time
    lease: timedelta = timedelta(minutes=2)
    timeout: timedelta = timedelta(seconds=30)  # of one request
    turn: timedelta = timedelta(seconds=20)  # then another channel may be sent first
    batch_bytes: int = 5_000_000
    wait_min: timedelta = timedelta(seconds=5)
    wait_max: timedelta = timedelta(minutes=10)
    asked_max: timedelta = timedelta(hours=1)  # the longest Retry-After that is respected
    kept: timedelta = timedelta(days=7)  # what was delivered


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """One delivery, as JSON without line breaks. `id` is the same whenever it is sent."""

    id: str
    revision: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Accepted:
    """The destination has all messages, except those that it refused by their id."""

    refused: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class ContentRefused:
    """The request was refused for something in it: it is sent in parts, until the message is found."""

    reason: str


@dataclass(frozen=True, slots=True)
class DestinationFailed:
    """The destination does not work, or it is unknown whether it does. It has the first `accepted` messages,
    except those of them that it refused by their id."""

    reason: str
    retry_after: timedelta | None = None
    accepted: int = 0
    refused: Mapping[str, str] = field(default_factory=dict[str, str])


SendOutcome = Accepted | ContentRefused | DestinationFailed


class Destination(Protocol):
    async def send(self, messages: Sequence[OutgoingMessage], /) -> SendOutcome:
        """Send in this order. Raises nothing: an outage is an outcome."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What became of a batch. `suspects` were refused alone while no other message was accepted."""

    delivered: Sequence[int] = ()
    refused: Sequence[tuple[int, str]] = ()
    suspects: Sequence[tuple[int, str]] = ()
    failure: DestinationFailed | None = None


@dataclass(frozen=True, slots=True)
class DeliveryReport:
    delivered: int
    refused: int
    failure: str | None
