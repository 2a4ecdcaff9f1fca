"""Request and response models of sources: /api/v1/sources (seeds 000, 004), /admin/api/feeds/sources (seed 003)."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Literal, Self, TypeVar
from uuid import UUID

from pydantic import Field, model_validator

from headwater.api import schemas
from headwater.api.schemas import Flag, NextCursor, RequestModel, ResponseModel, Text, WholeNumber, with_example
from headwater.sources import decide
from headwater.sources.catalogue import Outcome
from headwater.sources.follow import REASON_MAX
from headwater.sources.types import CATEGORY_MAX, NAME_MAX, Changes, IngestionMode, SourceOverrides
from headwater.types import SourceState
from headwater.urls import MAX_LENGTH

IMPORT_MOST = 1_000
MINUTE, MILLISECOND = timedelta(minutes=1), timedelta(milliseconds=1)
MODES = "feed: by feed and sitemaps. spider: by following links. both: both."

T = TypeVar("T")
Policy = Literal["default", "cooldown", "backoff", "once", "five"]
Part = Literal["title", "body", "author", "date", "remove"]
Address = Annotated[str, Field(min_length=1, max_length=MAX_LENGTH, pattern=r"^https?://[^\x00-\x1f\x7f]+$")]
Category = Annotated[Annotated[Text, Field(max_length=CATEGORY_MAX)] | None, Field(description="Its category.")]
Minutes = Annotated[WholeNumber, Field(ge=15, le=1440)]
Interval = Annotated[Minutes | None, Field(description="Minutes between polls; null: adaptive.")]
Selector = Annotated[Text, Field(max_length=decide.SELECTOR_LENGTH)]
Selectors = dict[Part, Annotated[list[Selector], Field(max_length=decide.SELECTORS_MOST)]]
Pattern = Annotated[Text, Field(max_length=decide.PATTERN_LENGTH)]
Patterns = Annotated[list[Pattern], Field(max_length=decide.PATTERNS_MOST)]


class _ChangesModel(RequestModel):
    """A request where null clears a field, and a field that is not sent is unchanged."""

    def _sent(self, name: str, empty: T) -> T | None:
        """The value of a field; `empty` if it is null; None if it was not sent."""
        if name not in self.model_fields_set:
            return None
        value: T | None = getattr(self, name)
        return empty if value is None else value


class _SourceFields(_ChangesModel):
    """The fields of creating and changing a source."""

    name: Annotated[Text, Field(max_length=NAME_MAX, description="Its name; default: its host.")] | None = None
    feed_url: Annotated[Address, Field(description="The URL of its feed.")] | None = None
    url: Annotated[Address | None, Field(description="The front page of the site, where crawling starts.")] = None
    sitemap_url: Annotated[Address | None, Field(description="The URL of its sitemap.")] = None
    category: Category = None
    ingestion_mode: Annotated[IngestionMode, Field(description=MODES)] | None = None
    feed_poll_interval_minutes: Interval = None
    policy: Annotated[Policy | None, Field(description="The failure policy; null: the default of the settings.")] = None
    priority: Annotated[WholeNumber, Field(ge=1, le=decide.PRIORITY_MOST)] | None = Field(
        None, description="Priority of its pages; 10 is the most urgent."
    )
    selectors: Annotated[Selectors, Field(description="CSS selectors of the parts of its pages.")] | None = None
    article_url_patterns: Patterns | None = Field(None, description="Regular expressions that match article URLs.")
    external_links: Annotated[Flag, Field(description="Whether links to other sites are followed.")] | None = None
    max_depth: Annotated[WholeNumber, Field(ge=0, le=decide.DEPTH_MOST, description="Crawl depth.")] | None = None
    page_budget: Annotated[WholeNumber, Field(ge=1, le=decide.BUDGET_MOST)] | None = Field(
        None, description="New pages per day by following links; null: the default of the settings."
    )
    min_delay_ms: Annotated[WholeNumber, Field(ge=1, le=3_600_000)] | None = Field(
        None, description="Minimum milliseconds between requests; null: the default of the settings."
    )
    enabled: Annotated[Flag, Field(description="Whether the source is enabled.")] | None = None
    is_system: Flag | None = Field(None, description="True: managed by administrators. False: added by a user.")
    is_critical: Annotated[Flag, Field(description="Send an alert when it fails.")] | None = None

    @property
    def changes(self) -> Changes:
        selectors = self._sent("selectors", dict[str, Sequence[str]]())
        lines = [f"{part}={one}" for part, given in (selectors or {}).items() for one in given]  # as in a form
        overrides = SourceOverrides(
            site=self._sent("url", ""), sitemap=self._sent("sitemap_url", ""), mode=self.ingestion_mode,
            patterns=self._sent("article_url_patterns", ()), selectors=None if selectors is None else lines,
            external_links=self.external_links, max_depth=self.max_depth, budget=self._sent("page_budget", 0),
            delay=_duration(self._sent("min_delay_ms", 0), MILLISECOND), priority=self.priority,
        )  # fmt: skip
        return Changes(
            name=self.name, feed_url=self.feed_url, category=self._sent("category", ""),
            policy=self._sent("policy", ""), is_system=self.is_system, is_critical=self.is_critical,
            interval=_duration(self._sent("feed_poll_interval_minutes", 0), MINUTE), enabled=self.enabled,
            overrides=overrides,
        )  # fmt: skip


class NewSource(_SourceFields):
    """A new source: a feed, a site or a sitemap."""

    model_config = with_example(
        {
            "name": "Example News",
            "feed_url": schemas.EXAMPLE_FEED,
            "category": "Technology",
            "feed_poll_interval_minutes": 60,
        }
    )

    @model_validator(mode="after")
    def _has_url(self) -> Self:
        if self.feed_url is None and self.url is None and self.sitemap_url is None:
            raise ValueError("one of feed_url, url and sitemap_url is required")
        return self


class SourceChanges(_SourceFields):
    """Changes to a source. Fields that are not sent are unchanged; null clears a field."""

    model_config = with_example({"category": "World News", "is_critical": True})


class DisableRequest(RequestModel):
    """Why a feed is disabled."""

    model_config = with_example({"reason": "not_found"})

    reason: Text = Field(
        max_length=REASON_MAX,
        description="A class of failure, such as not_found: the feed is probed after its cooldown. Any other text: "
        "it stays disabled until it is enabled.",
    )


class SourceResponse(ResponseModel):
    """A source, with its settings and state."""

    id: UUID
    name: str
    url: Annotated[str | None, Field(description="The front page of the site.")]
    feed_url: Annotated[str | None, Field(description="The URL of its feed.")]
    sitemap_url: str | None
    category: str | None
    ingestion_mode: Annotated[IngestionMode, Field(description=MODES)]
    feed_poll_interval_minutes: int | None = Field(
        validation_alias="interval_minutes", description="Minutes between polls; null: adaptive."
    )
    policy: Annotated[str | None, Field(description="The failure policy; null: default.")]
    priority: int
    selectors: Mapping[str, Sequence[str]]
    article_url_patterns: Sequence[str]
    external_links: bool
    max_depth: int
    page_budget: int | None
    min_delay_ms: int | None
    enabled: Annotated[bool, Field(description="Whether the source is enabled.")]
    is_system: bool
    is_critical: bool
    submitted_by: Annotated[UUID | None, Field(description="The user who added it.")]
    moderation_status: str | None = Field(description="pending, approved or rejected, if a user suggested it.")
    status: SourceState = Field(
        validation_alias="state",
        description="pending: not polled yet. working, failing: result of the last poll. auto_disabled: disabled "
        "by its policy after failures. disabled: by a person. in_review, rejected: suggested, not approved.",
    )
    feed_disabled_at: Annotated[datetime | None, Field(description="When its feed was disabled.")]
    feed_disable_reason: Annotated[str | None, Field(description="Why its feed was disabled.")]
    feed_disabled_until: Annotated[datetime | None, Field(description="When it is probed; null: once it is enabled.")]
    last_polled_at: datetime | None
    last_succeeded_at: datetime | None
    next_poll_at: Annotated[datetime | None, Field(description="Null if no poll is scheduled.")]
    last_error: str | None
    last_error_type: str | None
    consecutive_errors: int
    article_count: int
    created_at: datetime
    updated_at: datetime


class SourceListResponse(ResponseModel):
    """A page of sources, newest first."""

    sources: list[SourceResponse]
    next_cursor: NextCursor


class NewFeed(RequestModel):
    """A new system feed (seed 003)."""

    model_config = with_example({
        "name": "New Tech Feed", "url": "https://example.com/feed.xml", "category": "Technology",
        "refresh_interval_minutes": 60,
    })  # fmt: skip

    name: Annotated[Text, Field(max_length=NAME_MAX, description="Its name.")]
    url: Annotated[Address, Field(description="The URL of the feed.")]
    category: Category = None
    refresh_interval_minutes: Interval = None

    @property
    def changes(self) -> Changes:
        interval = _duration(self.refresh_interval_minutes, MINUTE)
        return Changes(name=self.name, feed_url=self.url, category=self.category, interval=interval, is_system=True)


class FeedChanges(_ChangesModel):
    """Changes to a feed. Fields that are not sent are unchanged; null clears a field."""

    model_config = with_example({"url": "https://example.com/moved.xml"})

    name: Annotated[Annotated[Text, Field(max_length=NAME_MAX)] | None, Field(description="Its name.")] = None
    url: Annotated[Address | None, Field(description="The new URL of the feed; it is fetched at once.")] = None
    category: Category = None
    refresh_interval_minutes: Interval = None
    is_active: Flag | None = Field(
        None, description="false disables it; true enables it, clears its errors and fetches it at once."
    )

    @property
    def changes(self) -> Changes:
        return Changes(
            name=self.name, feed_url=self.url, category=self._sent("category", ""), enabled=self.is_active,
            interval=_duration(self._sent("refresh_interval_minutes", 0), MINUTE),
        )  # fmt: skip


class FeedResponse(ResponseModel):
    """A feed (seed 003)."""

    id: UUID
    name: str
    url: Annotated[str, Field(validation_alias="address", description="The URL of its feed, or of its site.")]
    category: str | None
    refresh_interval_minutes: Annotated[int | None, Field(validation_alias="interval_minutes")]
    is_system: bool
    is_active: Annotated[bool, Field(description="Whether the source and its feed are enabled.")]
    is_critical: bool
    user_id: Annotated[UUID | None, Field(validation_alias="submitted_by", description="The user who added it.")]
    last_fetched_at: datetime | None = Field(
        validation_alias="last_succeeded_at", description="When it was last fetched successfully."
    )
    error_count: Annotated[int, Field(validation_alias="consecutive_errors", description="Errors since then.")]
    last_error_message: Annotated[str | None, Field(validation_alias="last_error")]
    created_at: datetime
    updated_at: datetime


class FeedListResponse(ResponseModel):
    """A page of feeds, newest first."""

    sources: list[FeedResponse]
    next_cursor: NextCursor


class ImportedFeeds(RequestModel):
    """System feeds to import. Known feeds are updated, but not enabled."""

    sources: Annotated[list[NewFeed], Field(min_length=1, max_length=IMPORT_MOST)]


class ImportReport(ResponseModel):
    """The results of an import, in order."""

    created: int
    changed: int
    unchanged: int
    failed: int
    lines: Sequence[Outcome]


def _duration(given: int | None, unit: timedelta) -> timedelta | None:
    return None if given is None else given * unit


REQUESTS = (NewSource, SourceChanges, DisableRequest, NewFeed, FeedChanges, ImportedFeeds)
RESPONSES = (SourceListResponse, FeedListResponse, ImportReport)
# Of the fields of dataclasses, which are responses as they are.
DESCRIPTIONS = {
    "Outcome": {"line": "Its position, from 1.", "result": "created, changed, unchanged, or failed; see `reason`."},
    "Sample": {
        "title": "The title of the feed.",
        "latest_at": "Date of the newest entry.",
        "titles": "Titles of the first entries.",
    },
}
