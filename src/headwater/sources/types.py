"""Sources, their state, changes to them, and imports. Pure data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from headwater.types import SourceId, SourceState, UserId

NAME_MAX = 255
CATEGORY_MAX = 100
LINES_PER_PAGE = 100
IMPORTS_KEPT = 10


class IngestionMode(StrEnum):
    FEED = "feed"  # by its feed and sitemaps
    SPIDER = "spider"  # by following its links
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Source:
    """A feed, or a site without one: one row per URL, shared by all subscribers."""

    id: SourceId
    name: str
    feed_url: str | None
    created_at: datetime
    url: str | None = None  # the site's front page, where following links starts
    sitemap_url: str | None = None
    ingestion_mode: IngestionMode = IngestionMode.FEED
    selectors: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    article_url_patterns: Sequence[str] = ()
    external_links: bool = False
    max_depth: int = 2
    page_budget: int | None = None  # new pages a day by following links; None: the default of the settings
    min_delay: timedelta | None = None
    priority: int = 5
    category: str | None = None
    policy: str | None = None  # the failure policy; None: the default of the settings
    interval_minutes: int | None = None  # between polls; None: adaptive
    enabled: bool = True  # False: nothing of it is requested, whatever the state of its feed
    is_system: bool = True  # managed by operators; else added by a user
    is_critical: bool = False  # alerts are sent when it fails

    @property
    def address(self) -> str:
        """The URL of its feed or, without one, of its site or sitemap."""
        return self.feed_url or self.url or self.sitemap_url or ""

    @property
    def badge(self) -> str:
        """How its articles are found: `feed`, `sitemap+spider` and the like."""
        lists = [name for name, url in (("feed", self.feed_url), ("sitemap", self.sitemap_url)) if url]
        if not lists and self.reads_lists:
            lists = ["sitemap"]
        return "+".join([*lists, *(["spider"] if self.follows_links else [])])

    @property
    def follows_links(self) -> bool:
        return self.ingestion_mode != IngestionMode.FEED

    @property
    def reads_lists(self) -> bool:
        return self.ingestion_mode != IngestionMode.SPIDER


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDetails(Source):
    """A source with its state. Without a feed it has no next poll."""

    submitted_by: UserId | None
    moderation_status: str | None
    state: SourceState
    feed_disabled_at: datetime | None
    feed_disable_reason: str | None
    feed_disabled_until: datetime | None
    last_polled_at: datetime | None
    last_succeeded_at: datetime | None
    next_poll_at: datetime | None  # None: disabled until an operator enables it
    last_error: str | None
    last_error_type: str | None
    consecutive_errors: int
    article_count: int
    updated_at: datetime

    @property
    def reason(self) -> str | None:
        """Why it fails or its feed is disabled: a class of failure, or an operator's text."""
        if self.feed_disabled_at is not None:
            return self.feed_disable_reason
        return self.last_error_type if self.state == SourceState.FAILING else None

    @property
    def is_active(self) -> bool:
        return self.enabled and self.feed_disabled_at is None

    @property
    def min_delay_ms(self) -> int | None:
        return round(self.min_delay / timedelta(milliseconds=1)) if self.min_delay else None


@dataclass(frozen=True, slots=True)
class SourceOverrides:
    """How pages are found and read, as given by a user. None keeps a value; an empty one or 0 resets it."""

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


NO_OVERRIDES = SourceOverrides()


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes to a source. None keeps a value; an empty one or 0 resets it. `enabled` is that of the whole source."""

    name: str | None = None
    feed_url: str | None = None
    category: str | None = None
    policy: str | None = None
    interval: timedelta | None = None
    is_system: bool | None = None
    is_critical: bool | None = None
    enabled: bool | None = None
    overrides: SourceOverrides = NO_OVERRIDES


@dataclass(frozen=True, slots=True)
class FeedAddress:
    """Where a feed is polled, and the key of the URL that its source was added under."""

    feed_url: str
    feed_url_key: bytes
    is_system: bool = True


@dataclass(frozen=True, slots=True)
class MergePair:
    are_active: bool  # both sources and their feeds are enabled
    is_system: bool
    is_suggested: bool  # with any moderation status
    has_overrides: bool  # settings for how its pages are found or read
    has_pages: bool  # fetched and not read yet
    other_is_suggested: bool
    other_is_public: bool  # managed by operators, or suggested and approved
    other_was_private: bool  # its URL had a key
    feed_url: str
    feed_url_key: bytes
    other_feed_url: str
    other_feed_url_key: bytes


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A feed found for a source whose own feed is lost, to be confirmed by a user."""

    source_id: SourceId
    source_name: str
    feed_url: str
    title: str
    entry_count: int


@dataclass(frozen=True, slots=True)
class StoppedSource:
    """A source that was auto-disabled, and is not retried."""

    id: SourceId
    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRow(SourceDetails):
    """A source in the operators' table."""

    articles: int  # new ones in 7 days
    error_rate: float  # the share of polls that failed in 7 days
    readers: int
    due_at: datetime | None  # the next poll, if its host allows it then


class SourceSort(StrEnum):
    """By which column the operators' table is sorted."""

    NAME = "name"
    ARTICLES = "articles"
    ERRORS = "errors"
    READERS = "readers"
    SUCCESS = "success"
    DUE = "due"


class BulkAction(StrEnum):
    """What can be done with many sources at once."""

    ENABLE = "enable"
    DISABLE = "disable"
    REFRESH = "refresh"
    CATEGORY = "category"
    POLICY = "policy"
    INTERVAL = "interval"
    DELETE = "delete"

    @property
    def can_be_undone(self) -> bool:
        return self not in {BulkAction.REFRESH, BulkAction.DELETE}


@dataclass(frozen=True, slots=True)
class BulkChange:
    """A change of many sources, as it was previewed. `before`: what an undo restores, by the id of the source."""

    id: UUID
    user_id: UserId
    action: BulkAction
    value: str  # the reason, category, policy or interval in minutes
    source_ids: Sequence[SourceId]
    claimed: int = 0
    changed: int = 0
    before: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    is_undo: bool = False

    @property
    def is_done(self) -> bool:
        return self.claimed >= len(self.source_ids)


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """What a bulk action would do to one source; with a refusal nothing."""

    source: SourceDetails
    before: str
    after: str
    refusal: str = ""


class SourceOrder(StrEnum):
    NEWEST = "newest"
    LAST_FETCHED = "last_fetched"  # the latest success first, those without one last


@dataclass(frozen=True, slots=True)
class SourcePlace:
    id: UUID
    last_fetched_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SourceFilter:
    """Filters and order of a list of sources; None: any. `feed_active`: whose feed may be polled now, by seed 000."""

    id: UUID | None = None
    feed_active: bool | None = None
    is_active: bool | None = None
    enabled: bool | None = None
    category: str | None = None  # empty: without one
    ingestion_mode: IngestionMode | None = None
    is_system: bool | None = None
    is_critical: bool | None = None
    moderation_status: str | None = None
    state: SourceState | None = None
    reason: str | None = None
    text: str | None = None
    host: str | None = None
    fetched_before: datetime | None = None  # with a last success before this
    errors_min: int | None = None  # with at least this many errors in a row
    needs_person: bool | None = None  # only a person can help: no retry is scheduled, or there is something to decide
    order: SourceOrder | None = None  # None: the list's own


@dataclass(frozen=True, slots=True)
class Label:
    id: SourceId
    name: str
    ingestion_mode: str


class LineOutcome(StrEnum):
    ADDED = "added"
    FOLLOWED = "followed"  # already
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Import:
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
        return self.added + self.followed + self.invalid

    @property
    def is_running(self) -> bool:
        return self.finished_at is None


@dataclass(frozen=True, slots=True)
class RunningImport:
    id: UUID
    user_id: UserId


@dataclass(frozen=True, slots=True)
class ImportLine:
    """A line of an OPML file; without an outcome it is pending."""

    id: UUID
    number: int
    name: str
    url: str
    category: str
    outcome: LineOutcome | None
    reason: str
