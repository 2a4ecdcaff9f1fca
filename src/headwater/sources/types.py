"""Sources, their state, and imports of them. Pure data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from headwater.types import SourceId, SourceState, UserId

LINES_PER_PAGE = 100
IMPORTS_KEPT = 10


class IngestionMode(StrEnum):
    """How a source's articles are found."""

    FEED = "feed"  # by what the site lists: its feed, its sitemaps
    SPIDER = "spider"  # by following its links
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Source:
    """Something we follow: one per feed URL, or per site where there is no feed."""

    id: SourceId
    name: str
    feed_url: str | None
    created_at: datetime
    url: str | None = None  # the site's front page, where links are followed from
    sitemap_url: str | None = None
    ingestion_mode: IngestionMode = IngestionMode.FEED
    selectors: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    article_url_patterns: Sequence[str] = ()
    external_links: bool = False
    max_depth: int = 2
    page_budget: int | None = None  # new pages a day by following links; None: what the settings say
    min_delay: timedelta | None = None
    priority: int = 5
    category: str | None = None
    policy: str | None = None  # what failures lead to; None: what the settings say
    interval_minutes: int | None = None  # how often its feed is polled; None: what the settings say
    enabled: bool = True  # what is not is left alone altogether, whatever its feed's state
    is_system: bool = True  # an operator looks after it; else a reader brought it
    is_critical: bool = False  # alerts are sent when it fails

    @property
    def address(self) -> str:
        """The feed's URL, or the site's."""
        return self.feed_url or self.url or self.sitemap_url or ""

    @property
    def follows_links(self) -> bool:
        """Whether pages are found by following links."""
        return self.ingestion_mode != IngestionMode.FEED

    @property
    def reads_lists(self) -> bool:
        """Whether pages are found by what the site lists."""
        return self.ingestion_mode != IngestionMode.SPIDER


@dataclass(frozen=True, slots=True)
class Wishes:
    """Settings of a source as a user wrote them. None keeps a value; an empty one or 0 removes it."""

    site: str | None = None
    sitemap: str | None = None
    mode: str | None = None
    patterns: Sequence[str] | None = None
    selectors: Sequence[str] | None = None  # such as `title=h1.headline`
    external_links: bool | None = None
    max_depth: int | None = None
    budget: int | None = None
    delay: timedelta | None = None
    priority: int | None = None


@dataclass(frozen=True, slots=True)
class SourceHealth:
    """A source with its state, for lists. Without a feed it has no next poll."""

    id: SourceId
    name: str
    feed_url: str | None
    url: str | None
    sitemap_url: str | None
    ingestion_mode: IngestionMode
    created_at: datetime
    state: SourceState
    reason: str | None  # why it fails or is disabled: a class of failure, or an operator's words
    enabled: bool
    next_poll_at: datetime | None  # None: disabled until an operator enables it
    last_polled_at: datetime | None
    last_succeeded_at: datetime | None
    last_error: str | None
    last_error_type: str | None
    consecutive_errors: int
    article_count: int
    feed_disabled_at: datetime | None
    off_until: datetime | None

    @property
    def address(self) -> str:
        """The feed's URL, or the site's."""
        return self.feed_url or self.url or self.sitemap_url or ""

    @property
    def badge(self) -> str:
        """How its articles are found, in a word or two."""
        return badge_of(self.feed_url, self.sitemap_url, self.ingestion_mode)


def badge_of(feed_url: str | None, sitemap_url: str | None, mode: IngestionMode) -> str:
    """How a source's articles are found: `feed`, `sitemap+spider` and the like."""
    lists = [name for name, url in (("feed", feed_url), ("sitemap", sitemap_url)) if url]
    if not lists and mode != IngestionMode.SPIDER:
        lists = ["sitemap"]
    return "+".join([*lists, *(["spider"] if mode != IngestionMode.FEED else [])])


@dataclass(frozen=True, slots=True)
class FeedPlace:
    """Where a feed is polled, and the key of the address that its source is found under."""

    feed_url: str
    feed_url_key: bytes


@dataclass(frozen=True, slots=True)
class Pair:
    """What decides whether one source may join another."""

    are_read: bool  # both are on, and so are their feeds
    is_system: bool
    is_suggested: bool  # for all users, whatever was decided
    is_set_up: bool  # it has settings for how its pages are found or read
    has_pages: bool  # that were fetched and wait to be read
    other_is_suggested: bool
    place: FeedPlace | None = None  # None for a source without a feed
    other_place: FeedPlace | None = None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Where a source's feed may have gone. A person confirms it."""

    source_id: SourceId
    source_name: str
    feed_url: str
    title: str
    entry_count: int


@dataclass(frozen=True, slots=True)
class SourceDetails:
    """All that there is to know of a source: how it is followed, and the state it is in."""

    id: SourceId
    name: str
    url: str | None
    feed_url: str | None
    sitemap_url: str | None
    category: str | None
    ingestion_mode: IngestionMode
    feed_poll_interval_minutes: int | None
    policy: str | None
    priority: int
    selectors: Mapping[str, Sequence[str]]
    article_url_patterns: Sequence[str]
    external_links: bool
    max_depth: int
    page_budget: int | None
    min_delay_ms: int | None
    enabled: bool
    is_system: bool
    is_critical: bool
    submitted_by: UserId | None
    moderation_status: str | None
    status: SourceState
    feed_disabled_at: datetime | None
    feed_disable_reason: str | None
    off_until: datetime | None
    last_polled_at: datetime | None
    last_succeeded_at: datetime | None
    next_poll_at: datetime | None
    last_error: str | None
    last_error_type: str | None
    consecutive_errors: int
    article_count: int
    created_at: datetime
    updated_at: datetime

    @property
    def address(self) -> str:
        """The feed's URL, or the site's."""
        return self.feed_url or self.url or self.sitemap_url or ""

    @property
    def is_active(self) -> bool:
        """Whether it is read: it is on, and so is its feed."""
        return self.enabled and self.feed_disabled_at is None


class SourceOrder(StrEnum):
    """The order of a list of sources."""

    NEWEST = "newest"
    LAST_FETCHED = "last_fetched"  # the latest success first, those without one last


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """Where a list of sources goes on: after this one. The time is that of its last success."""

    id: UUID
    last_fetched_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SourceFilter:
    """Which sources are wanted; None wants all. `feed_active`: those whose feed may be polled now, by seed 000."""

    id: UUID | None = None
    feed_active: bool | None = None
    is_active: bool | None = None
    enabled: bool | None = None
    category: str | None = None
    ingestion_mode: IngestionMode | None = None
    is_system: bool | None = None
    is_critical: bool | None = None
    moderation_status: str | None = None
    status: SourceState | None = None
    text: str | None = None
    host: str | None = None
    fetched_before: datetime | None = None  # its last success is older than this
    errors_least: int | None = None  # so many errors in a row, or more


@dataclass(frozen=True, slots=True)
class Label:
    """A source's name, and how its articles are found."""

    id: SourceId
    name: str
    ingestion_mode: str


class LineOutcome(StrEnum):
    """What came of a line."""

    ADDED = "added"
    FOLLOWED = "followed"  # already
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Import:
    """A file, and how far it is."""

    id: UUID
    file_name: str
    created_at: datetime
    finished_at: datetime | None
    total: int
    added: int
    followed: int
    invalid: int

    @property
    def done(self) -> int:
        """How many lines have told what came of them."""
        return self.added + self.followed + self.invalid

    @property
    def is_running(self) -> bool:
        """Lines wait to be worked on."""
        return self.finished_at is None


@dataclass(frozen=True, slots=True)
class RunningImport:
    """An import that is not finished."""

    id: UUID
    user_id: UserId


@dataclass(frozen=True, slots=True)
class ImportLine:
    """A line of a file. No outcome: it waits."""

    id: UUID
    number: int
    name: str
    url: str
    category: str
    outcome: LineOutcome | None
    reason: str
