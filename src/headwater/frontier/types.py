"""A URL of the frontier: as it is submitted, claimed, answered and shown. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from headwater.types import PageKind, SourceId


class Origin(StrEnum):
    """Who found a URL."""

    FEED = "feed"
    SITEMAP = "sitemap"
    SPIDER = "spider"
    MANUAL = "manual"


class Status(StrEnum):
    """Where a URL stands, in the seed's words."""

    PENDING = "pending"
    FETCHING = "fetching"  # its host is in a fetcher's hands
    FETCHED = "fetched"
    FAILED = "failed"  # waits for another try
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class Submission:
    """A URL that somebody found. Priority None: 5, and the origin's bonus on it."""

    url: str
    origin: Origin
    source_id: SourceId | None = None
    kind: PageKind = PageKind.ARTICLE
    parent_url: str | None = None
    depth: int = 0
    priority: int | None = None
    not_before: datetime | None = None


class Fate(StrEnum):
    """What came of a submission."""

    QUEUED = "queued"
    KNOWN = "known"  # raised or brought forward when it is still pending, else left as it is
    REVIVED = "revived"  # was dead
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Submitted:
    """A submission, and what came of it. `reason` says why an invalid one is."""

    url: str
    fate: Fate
    id: UUID | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimedUrl:
    """A URL in a fetcher's hands, through its host."""

    id: UUID
    url: str
    kind: PageKind
    origin: Origin
    source_id: SourceId | None
    depth: int
    priority: int
    etag: str | None
    last_modified: str | None
    fetch_count: int
    retry_count: int
    failing_since: datetime | None
    interval: timedelta | None  # how often it is fetched again, as far as known


@dataclass(frozen=True, slots=True)
class ClaimedHost:
    """A host in a fetcher's hands until the lease ends, with its best due URLs, the most urgent first."""

    host: str
    lease: UUID
    delay: timedelta  # between two requests: settings, robots, the source's own, what 429s taught
    slowed: int  # how often it was doubled
    not_before: datetime  # the first request goes out no earlier
    urls: Sequence[ClaimedUrl]


@dataclass(frozen=True, slots=True)
class Fetched:
    """200: the body is kept."""

    etag: str | None
    last_modified: str | None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """304, or the same content again."""

    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True)
class Redirected:
    """The URL leads to another, which is queued in its place (or known); this one becomes its alias."""

    to: str
    is_permanent: bool


@dataclass(frozen=True, slots=True)
class FetchFailed:
    """It did not work this time; tried again until it has failed for long enough."""

    reason: str  # a class in one word: timeout, network, dns, upstream_failure, rate_limited, forbidden …
    detail: str


@dataclass(frozen=True, slots=True)
class Hopeless:
    """No use in trying again: gone, not_found, robots_blocked, not_html, too_large …"""

    reason: str
    detail: str


Answer = Fetched | Unchanged | Redirected | FetchFailed | Hopeless


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of one claimed URL."""

    url: ClaimedUrl
    answer: Answer
    at: datetime


@dataclass(frozen=True, slots=True)
class HostAnswer:
    """A claimed host given back: what came of its URLs, and what was learned of it. URLs not listed wait on."""

    host: ClaimedHost
    last_request_at: datetime | None
    answered: Sequence[Answered] = field(default=())
    blocked_until: datetime | None = None  # Retry-After, or robots that cannot be read
    was_rate_limited: bool = False
