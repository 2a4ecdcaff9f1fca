"""A host: what waits for it, who holds it, and how it is released. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from headwater.types import FailureClass, SourceId, record


class Wake(NamedTuple):
    """A host with URLs to fetch: from when, how urgent, and how many are new. Without a name: its row exists."""

    name: str
    host_id: int
    band: int
    due_at: datetime | None
    more: int


@dataclass(frozen=True, slots=True)
class Pace:
    """How often the delay of a host was doubled, and the successes since then."""

    slowed: int = 0
    successes: int = 0


NOT_SLOWED = Pace()


@record
class HostState:
    """The breaker's state: which feeds of the host failed in the same way, and whether it is paused."""

    host: str
    failing_sources: tuple[SourceId, ...] = ()
    failure_class: FailureClass | None = None
    paused_until: datetime | None = None
    pauses: int = 0


class HeldHost(NamedTuple):
    """A host under a lease: the columns that a claim returns, in their order."""

    host_id: int
    name: str
    slowed: int
    successes: int
    robots_delay_ms: int | None
    answered_at: datetime | None
    strikes: int = 0  # leases on pages that ended without a release
    ready_at: datetime | None = None
    lost_at: datetime | None = None  # when the last such lease ended
    failing_sources: list[SourceId] | None = None
    failure_class: str | None = None
    paused_until: datetime | None = None
    pauses: int = 0

    @property
    def robots_delay(self) -> timedelta | None:
        """The Crawl-delay of its robots.txt, up to our maximum."""
        return None if self.robots_delay_ms is None else timedelta(milliseconds=self.robots_delay_ms)

    @property
    def pace(self) -> Pace:
        return Pace(self.slowed, self.successes)


@record
class Release:
    """The end of a lease. `answered_at` is None if the host did not answer."""

    host: str
    lease: UUID
    not_before: datetime
    pace: Pace
    answered_at: datetime | None = None
    pages_paused_until: datetime | None = None  # pages may have to wait longer than feeds


@record
class FeedRelease:
    """The end of a lease for a poll, with the breaker's state."""

    release: Release
    state: HostState
    source_id: SourceId


@dataclass(frozen=True, slots=True)
class Robots:
    """A robots.txt. Without a body: allow all if it is reachable, else disallow all."""

    origin: str  # scheme://host[:port]
    status: int | None
    body: str | None
    fetched_at: datetime
    expires_at: datetime
    unreachable_since: datetime | None = None
    crawl_delay: timedelta | None = None
    sitemaps: Sequence[str] = ()
