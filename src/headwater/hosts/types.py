"""A host: what waits for it, in whose hands it is, and how it is given back. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from headwater.types import FailureClass, SourceId, record


class Wake(NamedTuple):
    """A host that has URLs to fetch: from when, how urgent, and how many it has more. No name: it has its row."""

    name: str
    host_id: int
    band: int
    due_at: datetime | None
    more: int


class HeldHost(NamedTuple):
    """A host in our hands: the columns that a claim returns, in their order.

    `lost_at` is when the lease of whoever held it before ran out; `strikes` count such losses with pages in hand.
    """

    host_id: int
    name: str
    slowed: int
    successes: int
    robots_delay_ms: int | None
    answered_at: datetime | None
    strikes: int = 0
    ready_at: datetime | None = None
    lost_at: datetime | None = None
    alike_sources: list[SourceId] | None = None
    alike_class: str | None = None
    paused_until: datetime | None = None
    pauses: int = 0

    @property
    def robots_delay(self) -> timedelta | None:
        """The Crawl-delay of its robots.txt, as far as it is granted."""
        return None if self.robots_delay_ms is None else timedelta(milliseconds=self.robots_delay_ms)


@record
class HostState:
    """How a host has been answering: which of its feeds failed alike of late, and whether it is paused."""

    host: str
    alike_sources: tuple[SourceId, ...] = ()
    alike_class: FailureClass | None = None
    paused_until: datetime | None = None
    pauses: int = 0


@dataclass(frozen=True, slots=True)
class Pace:
    """How often the delay of a host was doubled, and how many successes it has had since."""

    slowed: int = 0
    successes: int = 0


NOT_SLOWED = Pace()


@record
class Release:
    """A host given back. `answered_at` is None where nothing was heard from it."""

    host: str
    lease: UUID
    not_before: datetime
    pace: Pace
    answered_at: datetime | None = None


@record
class FeedRelease:
    """A host given back after a poll, with the breaker's state."""

    release: Release
    state: HostState
    source_id: SourceId


@record
class PageRelease:
    """A host given back after a turn with its pages; these may have to wait for longer than its feeds."""

    release: Release
    pages_paused_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Robots:
    """A robots.txt as it was found. Without a body: allow all when it is reachable, else disallow all."""

    origin: str  # scheme://host[:port]
    status: int | None
    body: str | None
    fetched_at: datetime
    expires_at: datetime
    unreachable_since: datetime | None = None
    crawl_delay: timedelta | None = None
    sitemaps: Sequence[str] = ()
