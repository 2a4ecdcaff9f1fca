"""A URL of the frontier: as submitted, claimed, fetched and shown. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from headwater.frontier.keys import UrlKey
from headwater.hosts.decide import EASED_AFTER, MAX_DELAY
from headwater.hosts.types import NOT_SLOWED, Pace
from headwater.types import PageCursor, PageKind, SourceId


class Origin(StrEnum):
    FEED = "feed"
    SITEMAP = "sitemap"
    SPIDER = "spider"
    MANUAL = "manual"
    SAVED = "saved"  # by a reader, for later


class Status(StrEnum):
    """The status of a URL, as seed 000 names it."""

    PENDING = "pending"
    FETCHING = "fetching"  # its host is leased to a fetcher
    FETCHED = "fetched"
    FAILED = "failed"  # waits for a retry
    DEAD = "dead"


class Submission(NamedTuple):
    """A URL to queue. Priority None: the default of its origin."""

    url: str
    origin: Origin
    source_id: SourceId | None = None
    kind: PageKind = PageKind.ARTICLE
    parent_url: str | None = None
    depth: int = 0
    priority: int | None = None
    not_before: datetime | None = None


class SubmitOutcome(StrEnum):
    QUEUED = "queued"
    KNOWN = "known"  # raised or brought forward if pending, else unchanged
    REVIVED = "revived"  # was dead
    INVALID = "invalid"


class Submitted(NamedTuple):
    """A submission and its result; `reason` says why it is invalid. `published_url`: the known URL, at the end of its
    redirects, that until now only a reader had saved or a user's feed had listed."""

    url: str
    result: SubmitOutcome
    key: UrlKey | None = None
    reason: str | None = None
    published_url: str | None = None

    @property
    def id(self) -> UUID | None:
        """The id in the API; computed on access, because few callers use it."""
        return self.key and self.key.id


@dataclass(frozen=True, slots=True)
class KnownUrl:
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


@dataclass(frozen=True, slots=True)
class ClaimedUrl(KnownUrl):
    failing_since: datetime | None
    interval: timedelta | None  # how often it is fetched again, if known
    status: Status = Status.PENDING  # when it was claimed


@dataclass(frozen=True, slots=True)
class ClaimedHost:
    """A host leased to a fetcher, with its due URLs, the most urgent first."""

    host: str
    lease: UUID
    delay: timedelta  # from settings, robots.txt, its sources and earlier 429s
    not_before: datetime  # of the first request
    urls: Sequence[ClaimedUrl]
    pace: Pace = NOT_SLOWED
    answered_at: datetime | None = None  # its last response of any kind


@dataclass(frozen=True, slots=True)
class Fetched:
    """200: the body is stored."""

    etag: str | None
    last_modified: str | None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """304, or the same content as before."""

    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True)
class Redirected:
    """The URL redirects to another, which is queued; this one becomes its alias."""

    to: str
    is_permanent: bool
    after: timedelta = timedelta(0)  # its Retry-After: before that, the other is not requested


@dataclass(frozen=True, slots=True)
class FetchFailed:
    """A failure that is retried."""

    reason: str  # timeout, network, dns, upstream_failure, rate_limited, forbidden …
    detail: str


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A failure that is not retried: gone, not_found, robots_blocked, not_html, too_large …"""

    reason: str
    detail: str


Answer = Fetched | Unchanged | Redirected | FetchFailed | GivenUp


@dataclass(frozen=True, slots=True)
class Answered:
    url: ClaimedUrl
    answer: Answer
    at: datetime


@dataclass(frozen=True, slots=True)
class HostAnswer:
    """A claimed host, released with the outcomes for its URLs. URLs without an outcome stay due."""

    host: ClaimedHost
    last_request_at: datetime | None
    answered: Sequence[Answered] = field(default=())
    blocked_until: datetime | None = None  # for all requests: Retry-After, or no response
    pages_paused_until: datetime | None = None  # for pages only: robots.txt unreachable, bot challenge
    was_rate_limited: bool = False
    answered_at: datetime | None = None  # None: no response


@dataclass(frozen=True, slots=True)
class Settled:
    """A fetched page that was read: the hash of its content, and whether that changed."""

    url: str
    content_hash: bytes | None
    changed: bool
    dead_reason: str | None = None

    @staticmethod
    def dead(url: str, reason: str) -> "Settled":
        """A page that is not fetched again."""
        return Settled(url, None, changed=False, dead_reason=reason)


@dataclass(frozen=True, slots=True)
class RecrawlOptions:
    """How often one kind of page is fetched again: unchanged, half as often; changed, twice as often."""

    first: timedelta
    shortest: timedelta
    longest: timedelta
    ends: bool  # not fetched again once unchanged for `longest`


@dataclass(frozen=True, slots=True)
class FrontierOptions:
    min_delay: timedelta = timedelta(seconds=1)  # between two requests to a host
    max_crawl_delay: timedelta = timedelta(seconds=30)  # the longest Crawl-delay that counts
    max_delay: timedelta = MAX_DELAY  # after any number of 429s
    eased_after: int = EASED_AFTER  # successes that halve the delay of a slowed host again
    max_retries: int = 8
    retry_span: timedelta = timedelta(hours=24)  # over which the retries of a URL spread
    rate_limited_span: timedelta = timedelta(days=7)  # 429s for so long make a URL dead
    revive_after: timedelta = timedelta(hours=24)  # a dead URL that a feed lists is retried after this
    alias_kept: timedelta = timedelta(days=30)  # of a temporary redirect
    max_depth: int = 10
    max_length: int = 1024
    max_host_urls: int = 500_000
    max_strikes: int = 3
    article: RecrawlOptions = RecrawlOptions(timedelta(hours=12), timedelta(hours=1), timedelta(days=16), ends=True)
    sitemap: RecrawlOptions = RecrawlOptions(timedelta(hours=6), timedelta(hours=1), timedelta(days=7), ends=False)
    list: RecrawlOptions = RecrawlOptions(timedelta(hours=1), timedelta(minutes=15), timedelta(days=1), ends=False)

    @property
    def most_slowed(self) -> int:
        """How often a delay can be doubled until it is `max_delay`."""
        return (self.max_delay // self.min_delay).bit_length() if self.min_delay else 10


DEFAULTS = FrontierOptions()


@dataclass(frozen=True, slots=True)
class FrontierUrl(KnownUrl):
    parent_url: str | None
    next_fetch_at: datetime | None  # None: never again
    last_fetched_at: datetime | None
    content_hash: bytes | None
    last_error: str | None
    discovered_at: datetime
    host: str
    status: Status

    @property
    def is_submitted(self) -> bool:
        """Whether an operator submitted it, or a sitemap or list of links, without a source, that names it."""
        return self.origin is Origin.MANUAL or (
            self.origin in {Origin.SITEMAP, Origin.SPIDER} and self.source_id is None
        )

    @property
    def is_saved(self) -> bool:
        """Whether it is here only because readers saved it, or starred it before its feed was deleted."""
        return self.origin is Origin.SAVED or (self.origin is Origin.FEED and self.source_id is None)


@dataclass(frozen=True, slots=True)
class UrlFilter:
    """Which URLs to list; None means all."""

    status: Status | None = None
    source_id: SourceId | None = None
    host: str | None = None
    origin: Origin | None = None
    text: str | None = None


class UrlSort(StrEnum):
    """By which column the operators' table is sorted."""

    FOUND = "found"  # the newest first, however many there are
    PRIORITY = "priority"
    RETRIES = "retries"
    FETCHED = "fetched"
    DUE = "due"


@dataclass(frozen=True, slots=True)
class UrlPage:
    """A page of URLs, the newest first: before the end perhaps few or none, since a filter reads only so many rows."""

    urls: Sequence[FrontierUrl]
    next: PageCursor | None  # None: the end


@dataclass(frozen=True, slots=True)
class UrlCounts:
    source_id: SourceId | None
    pending: int
    fetched: int
    failed: int
    dead: int
    fetching: int = 0

    @property
    def total(self) -> int:
        return self.pending + self.fetching + self.fetched + self.failed + self.dead


@dataclass(frozen=True, slots=True)
class UrlTotal:
    """How many URLs pass a filter; if not exact, at least so many."""

    urls: int
    is_exact: bool


@dataclass(frozen=True, slots=True)
class FrontierStats:
    by_status: dict[Status, int]
    by_source: Sequence[UrlCounts]
