"""A URL of the frontier: as it is submitted, claimed, answered and shown. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from headwater.frontier.keys import Place
from headwater.hosts.decide import EASED_AFTER, MAX_DELAY
from headwater.hosts.types import NOT_SLOWED, Pace
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


class Submission(NamedTuple):
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


class Submitted(NamedTuple):
    """A submission, and what came of it. `reason` says why an invalid one is."""

    url: str
    fate: Fate
    place: Place | None = None
    reason: str | None = None

    @property
    def id(self) -> UUID | None:
        """What the API calls it by; made when it is asked for, which few do."""
        return self.place and self.place.id


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
    status: Status = Status.PENDING  # when it was claimed


@dataclass(frozen=True, slots=True)
class ClaimedHost:
    """A host in a fetcher's hands until the lease ends, with its best due URLs, the most urgent first."""

    host: str
    lease: UUID
    delay: timedelta  # between two requests: settings, robots, the source's own, what 429s taught
    not_before: datetime  # the first request goes out no earlier
    urls: Sequence[ClaimedUrl]
    pace: Pace = NOT_SLOWED
    answered_at: datetime | None = None  # when it last answered anything


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
    blocked_until: datetime | None = None  # for all kinds of requests: Retry-After, or silence
    pages_paused_until: datetime | None = None  # for pages alone: robots.txt that cannot be read, a test for a browser
    was_rate_limited: bool = False
    answered_at: datetime | None = None  # None: nothing was heard from it


@dataclass(frozen=True, slots=True)
class Settled:
    """What reading a fetched page came to: its content, and whether that differs from the last time."""

    url: str
    content_hash: bytes | None
    changed: bool
    dead_reason: str | None = None

    @staticmethod
    def dead(url: str, reason: str) -> "Settled":
        """A page that is of no use, now or later."""
        return Settled(url, None, changed=False, dead_reason=reason)


@dataclass(frozen=True, slots=True)
class RecrawlOptions:
    """How often one kind of page is fetched again. Unchanged: half as often; changed: twice as often."""

    first: timedelta
    shortest: timedelta
    longest: timedelta
    ends: bool  # what stays unchanged for longer than `longest` is not asked for again


@dataclass(frozen=True, slots=True)
class FrontierOptions:
    """How the frontier decides; from settings."""

    min_delay: timedelta = timedelta(seconds=1)  # between two requests of a host
    max_crawl_delay: timedelta = timedelta(seconds=30)  # a longer one in robots.txt counts as this
    max_delay: timedelta = MAX_DELAY  # however often a host said 429
    eased_after: int = EASED_AFTER  # successes that halve the delay of a slowed host again
    max_retries: int = 8
    retry_span: timedelta = timedelta(hours=24)  # the retries of a URL fill at least this
    rate_limited_span: timedelta = timedelta(days=7)  # 429s are the host's affair: a URL dies of them only after this
    revive_after: timedelta = timedelta(hours=24)  # a dead URL is tried again when a feed lists it after this
    alias_kept: timedelta = timedelta(days=30)  # of a redirect that is not permanent
    max_depth: int = 10
    max_length: int = 1024
    max_host_urls: int = 500_000
    max_strikes: int = 3
    article: RecrawlOptions = RecrawlOptions(
        first=timedelta(hours=12), shortest=timedelta(hours=1), longest=timedelta(days=16), ends=True
    )
    sitemap: RecrawlOptions = RecrawlOptions(
        first=timedelta(hours=6), shortest=timedelta(hours=1), longest=timedelta(days=7), ends=False
    )
    list: RecrawlOptions = RecrawlOptions(
        first=timedelta(hours=1), shortest=timedelta(minutes=15), longest=timedelta(days=1), ends=False
    )

    @property
    def most_slowed(self) -> int:
        """How often a delay can be doubled before it is the longest."""
        return (self.max_delay // self.min_delay).bit_length() if self.min_delay else 10


@dataclass(frozen=True, slots=True)
class FrontierUrl:
    """A URL as it is shown."""

    id: UUID
    url: str
    host: str
    source_id: SourceId | None
    origin: Origin
    kind: PageKind
    parent_url: str | None
    depth: int
    priority: int
    status: Status
    next_fetch_at: datetime | None  # None: never again
    last_fetched_at: datetime | None
    fetch_count: int
    content_hash: bytes | None
    etag: str | None
    last_modified: str | None
    retry_count: int
    last_error: str | None
    discovered_at: datetime


@dataclass(frozen=True, slots=True)
class UrlFilter:
    """Which URLs are wanted; None wants all."""

    status: Status | None = None
    source_id: SourceId | None = None
    host: str | None = None
    origin: Origin | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class UrlCursor:
    """The last URL that was looked at."""

    discovered_at: datetime
    id: UUID


@dataclass(frozen=True, slots=True)
class UrlPage:
    """Some of the URLs that were asked for, the newest first. `next` is None at the end.

    A page may hold fewer than were asked for, even none, and not be the last: only so many are looked through at once.
    """

    urls: Sequence[FrontierUrl]
    next: UrlCursor | None


@dataclass(frozen=True, slots=True)
class Tally:
    """How many URLs of a source have each status."""

    source_id: SourceId | None
    pending: int
    fetched: int
    failed: int
    dead: int
    fetching: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.pending + self.fetching + self.fetched + self.failed + self.dead


@dataclass(frozen=True, slots=True)
class UrlTotal:
    """How many URLs pass a filter; where that is not exact, there are at least so many."""

    urls: int
    is_exact: bool


@dataclass(frozen=True, slots=True)
class FrontierStats:
    """The whole frontier, from counters."""

    by_status: dict[Status, int]
    by_source: Sequence[Tally]
