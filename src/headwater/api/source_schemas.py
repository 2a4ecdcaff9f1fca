"""Sources as they go over the wire: /api/v1/sources by seeds 000 and 004, /admin/api/feeds/sources by seed 003."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Literal, Self, TypeVar
from uuid import UUID

from pydantic import ConfigDict, Field, model_validator

from headwater.api.schemas import EXAMPLE_SOURCE, PLAIN, Flag, Given, NextCursor, Told, WholeNumber
from headwater.sources.catalogue.types import LineFate
from headwater.sources.decide import (
    BUDGET_MOST,
    DEPTH_MOST,
    PATTERN_LENGTH,
    PATTERNS_MOST,
    PRIORITY_MOST,
    SELECTOR_LENGTH,
    SELECTORS_MOST,
)
from headwater.sources.follow import CATEGORY_MAX, NAME_MAX, REASON_MAX
from headwater.sources.operate import Changes
from headwater.sources.types import IngestionMode, SourceDetails, Wishes
from headwater.types import SourceState
from headwater.urls import MAX_LENGTH

IMPORT_MOST = 1_000
EXAMPLE_FEED = "https://news.example/feed.xml"

T = TypeVar("T")
Policy = Literal["default", "cooldown", "backoff", "once", "five"]
Part = Literal["title", "body", "author", "date", "remove"]
Text = Annotated[str, Field(min_length=1, pattern=PLAIN)]

Name = Annotated[
    Text, Field(max_length=NAME_MAX, description="What it is called; without one, its host.", examples=["Example News"])
]
Address = Annotated[str, Field(min_length=1, max_length=MAX_LENGTH, pattern=r"^https?://[^\x00-\x1f\x7f]+$")]
Site = Annotated[
    Address | None, Field(description="The site's front page, where links are followed from.", examples=[None])
]
FeedUrl = Annotated[Address, Field(description="Where its feed is.", examples=[EXAMPLE_FEED])]
Sitemap = Annotated[Address | None, Field(description="Where it lists its pages.", examples=[None])]
Category = Annotated[
    Annotated[Text, Field(max_length=CATEGORY_MAX)] | None,
    Field(description="What it is filed under.", examples=["Technology"]),
]
Interval = Annotated[
    Annotated[WholeNumber, Field(ge=15, le=1440)] | None,
    Field(description="Minutes between two polls; null leaves it to Headwater.", examples=[60]),
]
PolicyName = Annotated[
    Policy | None, Field(description="What failures lead to; null: what the settings say.", examples=[None])
]
Priority = Annotated[
    WholeNumber, Field(ge=1, le=PRIORITY_MOST, description="How urgent its pages are, 10 the most.", examples=[5])
]
Selectors = Annotated[
    dict[Part, Annotated[list[Annotated[Text, Field(max_length=SELECTOR_LENGTH)]], Field(max_length=SELECTORS_MOST)]],
    Field(description="Where on its pages each part stands, as CSS selectors.", examples=[{"title": ["h1"]}]),
]
Patterns = Annotated[
    list[Annotated[Text, Field(max_length=PATTERN_LENGTH)]],
    Field(
        max_length=PATTERNS_MOST, description="Regular expressions of URLs that are articles.", examples=[["/news/"]]
    ),
]
Depth = Annotated[
    WholeNumber, Field(ge=0, le=DEPTH_MOST, description="How many links deep its pages are looked for.", examples=[2])
]
Budget = Annotated[
    Annotated[WholeNumber, Field(ge=1, le=BUDGET_MOST)] | None,
    Field(description="New pages a day by following links; null: what the settings say.", examples=[None]),
]
DelayMs = Annotated[
    Annotated[WholeNumber, Field(ge=1, le=3_600_000)] | None,
    Field(description="Least milliseconds between two requests; null: what the settings say.", examples=[None]),
]
Mode = Annotated[IngestionMode, Field(description="feed: by feed and sitemaps. spider: by following links. both.")]
Enabled = Annotated[Flag, Field(description="Whether it is followed; false leaves all of it alone.", examples=[True])]
External = Annotated[Flag, Field(description="Whether links to other sites are followed.", examples=[False])]
IsSystem = Annotated[Flag, Field(description="An operator looks after it; else a reader brought it.", examples=[True])]
IsCritical = Annotated[Flag, Field(description="An alert tells when it fails.", examples=[False])]
Moment = datetime | None


class _Fields(Given):
    """What creating and changing have in common."""

    name: Name | None = None
    url: Site = None
    sitemap_url: Sitemap = None
    category: Category = None
    ingestion_mode: Mode | None = None
    feed_poll_interval_minutes: Interval = None
    policy: PolicyName = None
    priority: Priority | None = None
    selectors: Selectors | None = None
    article_url_patterns: Patterns | None = None
    external_links: External | None = None
    max_depth: Depth | None = None
    page_budget: Budget = None
    min_delay_ms: DelayMs = None
    enabled: Enabled | None = None
    is_system: IsSystem | None = None
    is_critical: IsCritical | None = None

    def changes(self, feed_url: str | None) -> Changes:
        """What is asked for. Null takes back what can be without; what is not named stays as it is."""
        return Changes(
            name=self.name,
            feed_url=feed_url,
            category=self._or_empty("category", ""),
            policy=self._or_empty("policy", ""),
            interval=_minutes(self._or_empty("feed_poll_interval_minutes", 0)),
            is_system=self.is_system,
            is_critical=self.is_critical,
            enabled=self.enabled,
            wishes=Wishes(
                site=self._or_empty("url", ""),
                sitemap=self._or_empty("sitemap_url", ""),
                mode=self.ingestion_mode,
                patterns=self._or_empty("article_url_patterns", ()),
                selectors=_as_lines(self._or_empty("selectors", dict[str, Sequence[str]]())),
                external_links=self.external_links,
                max_depth=self.max_depth,
                budget=self._or_empty("page_budget", 0),
                delay=_milliseconds(self._or_empty("min_delay_ms", 0)),
                priority=self.priority,
            ),
        )

    def _or_empty(self, name: str, empty: T) -> T | None:
        """The value; what is empty where it is null; None where it was not named."""
        if name not in self.model_fields_set:
            return None
        value: T | None = getattr(self, name)
        return empty if value is None else value


class NewSource(_Fields):
    """Something to follow: a feed, a site, or a sitemap."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "Example News",
                    "feed_url": EXAMPLE_FEED,
                    "category": "Technology",
                    "feed_poll_interval_minutes": 60,
                }
            ],
        }
    )

    feed_url: FeedUrl | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.feed_url is None and self.url is None and self.sitemap_url is None:
            raise ValueError("something to follow is needed: feed_url, url or sitemap_url")
        return self

    @property
    def wanted(self) -> Changes:
        """What is asked for."""
        return self.changes(self.feed_url)


class SourceChanges(_Fields):
    """What is to be different. What is not named stays as it is; null takes back what can be without."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"category": "World News", "is_critical": True}]})

    feed_url: FeedUrl | None = None

    @property
    def wanted(self) -> Changes:
        """What is asked for."""
        return self.changes(self.feed_url)


class Disabling(Given):
    """Why a feed is to be left alone."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "not_found"}]})

    reason: Annotated[
        Text,
        Field(
            max_length=REASON_MAX,
            description="A class of failure, such as not_found: then it is probed after its cooldown. Or your own "
            "words: then it stays off until somebody enables it.",
        ),
    ]


class SourceTold(Told):
    """A source: how it is followed, and the state it is in."""

    id: Annotated[UUID, Field(examples=[EXAMPLE_SOURCE])]
    name: Annotated[str, Field(examples=["Example News"])]
    url: Annotated[str | None, Field(description="The site's front page.", examples=["https://news.example/"])]
    feed_url: Annotated[str | None, Field(description="Where its feed is.", examples=[EXAMPLE_FEED])]
    sitemap_url: Annotated[str | None, Field(examples=[None])]
    category: Annotated[str | None, Field(examples=["Technology"])]
    ingestion_mode: Mode
    feed_poll_interval_minutes: Annotated[
        int | None, Field(description="Minutes between two polls; null: Headwater decides.", examples=[60])
    ]
    policy: Annotated[str | None, Field(description="What failures lead to; null: by the settings.", examples=[None])]
    priority: Annotated[int, Field(examples=[5])]
    selectors: Annotated[Mapping[str, Sequence[str]], Field(examples=[{"title": ["h1"]}])]
    article_url_patterns: Annotated[Sequence[str], Field(examples=[["/news/"]])]
    external_links: Annotated[bool, Field(examples=[False])]
    max_depth: Annotated[int, Field(examples=[2])]
    page_budget: Annotated[int | None, Field(examples=[None])]
    min_delay_ms: Annotated[int | None, Field(examples=[None])]
    enabled: Annotated[bool, Field(description="Whether it is followed at all.", examples=[True])]
    is_system: Annotated[bool, Field(examples=[True])]
    is_critical: Annotated[bool, Field(examples=[False])]
    submitted_by: Annotated[UUID | None, Field(description="The reader who brought it.", examples=[None])]
    moderation_status: Annotated[
        str | None, Field(description="pending, approved or rejected, where a reader suggested it.", examples=[None])
    ]
    status: Annotated[
        SourceState,
        Field(
            description="pending: nothing was read yet. working, failing: how the last poll ended. auto_disabled: its "
            "feed is disabled for a class of failure. disabled: a person disabled its feed for another reason, or all "
            "of it. in_review, rejected: a reader suggested it, and no moderator approved it."
        ),
    ]
    feed_disabled_at: Annotated[Moment, Field(description="Since when its feed is disabled.", examples=[None])]
    feed_disable_reason: Annotated[str | None, Field(description="Why it is.", examples=[None])]
    off_until: Annotated[
        Moment, Field(description="When it is probed; null: not before somebody enables it.", examples=[None])
    ]
    last_polled_at: Moment
    last_succeeded_at: Moment
    next_poll_at: Annotated[Moment, Field(description="Null while nothing is planned.")]
    last_error: Annotated[str | None, Field(examples=[None])]
    last_error_type: Annotated[str | None, Field(examples=[None])]
    consecutive_errors: Annotated[int, Field(examples=[0])]
    article_count: Annotated[int, Field(examples=[1204])]
    created_at: datetime
    updated_at: datetime


class SourcePage(Told):
    """Some sources, the newest first."""

    sources: list[SourceTold]
    next_cursor: NextCursor


class NewFeed(Given):
    """A system feed, in the words of seed 003."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "New Tech Feed",
                    "url": "https://example.com/feed.xml",
                    "category": "Technology",
                    "refresh_interval_minutes": 60,
                }
            ]
        }
    )

    name: Annotated[Text, Field(max_length=NAME_MAX, description="What it is called.")]
    url: Annotated[Address, Field(description="Where the feed is.", examples=[EXAMPLE_FEED])]
    category: Category = None
    refresh_interval_minutes: Interval = None

    @property
    def wanted(self) -> Changes:
        """What is asked for."""
        return Changes(
            name=self.name,
            feed_url=self.url,
            category=self.category,
            interval=_minutes(self.refresh_interval_minutes),
            is_system=True,
        )


class FeedChanges(Given):
    """What is to be different of a feed. What is not named stays as it is; null takes it back."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"url": "https://example.com/moved.xml"}]})

    name: Annotated[Annotated[Text, Field(max_length=NAME_MAX)] | None, Field(description="What it is called.")] = None
    url: Annotated[Address | None, Field(description="Where the feed is now; it is fetched at once.")] = None
    category: Category = None
    refresh_interval_minutes: Interval = None
    is_active: Annotated[
        Flag | None,
        Field(description="false switches it off; true switches it on, forgets its errors, and fetches it at once."),
    ] = None

    @property
    def wanted(self) -> Changes:
        """What is asked for."""
        category = "" if "category" in self.model_fields_set and self.category is None else self.category
        minutes = self.refresh_interval_minutes
        interval = timedelta(0) if "refresh_interval_minutes" in self.model_fields_set and minutes is None else None
        return Changes(
            name=self.name,
            feed_url=self.url,
            category=category,
            interval=interval if interval is not None else _minutes(minutes),
            enabled=self.is_active,
        )


class FeedTold(Told):
    """A feed, in the words of seed 003."""

    id: Annotated[UUID, Field(examples=[EXAMPLE_SOURCE])]
    name: Annotated[str, Field(examples=["New Tech Feed"])]
    url: Annotated[str, Field(description="Its feed; of a source without one, its site.", examples=[EXAMPLE_FEED])]
    category: Annotated[str | None, Field(examples=["Technology"])]
    refresh_interval_minutes: Annotated[int | None, Field(examples=[60])]
    is_system: Annotated[bool, Field(examples=[True])]
    is_active: Annotated[bool, Field(description="It is on, and so is its feed.", examples=[True])]
    is_critical: Annotated[bool, Field(examples=[False])]
    user_id: Annotated[UUID | None, Field(description="The reader who brought it.", examples=[None])]
    last_fetched_at: Annotated[Moment, Field(description="When it was last fetched with success.")]
    error_count: Annotated[int, Field(description="Errors since then.", examples=[0])]
    last_error_message: Annotated[str | None, Field(examples=[None])]
    created_at: datetime
    updated_at: datetime


class FeedPage(Told):
    """Some feeds, the newest first."""

    sources: list[FeedTold]
    next_cursor: NextCursor


class ImportedFeeds(Given):
    """Many system feeds. What is here already gets its name, category and interval; nothing is switched on."""

    sources: Annotated[list[NewFeed], Field(min_length=1, max_length=IMPORT_MOST)]


class ImportLine(Told):
    """What came of one of them."""

    line: Annotated[int, Field(description="Its place, from 1 on.", examples=[1])]
    name: Annotated[str, Field(examples=["New Tech Feed"])]
    url: Annotated[str, Field(examples=[EXAMPLE_FEED])]
    fate: Annotated[LineFate, Field(description="created, changed, unchanged, or failed; `reason` says why.")]
    id: Annotated[UUID | None, Field(examples=[EXAMPLE_SOURCE])]
    reason: Annotated[str | None, Field(examples=[None])]


class ImportReport(Told):
    """What came of all of them, in the order given."""

    created: int
    changed: int
    unchanged: int
    failed: int
    lines: list[ImportLine]


def feed_of(source: SourceDetails) -> FeedTold:
    """A source in the words of seed 003."""
    return FeedTold(
        id=source.id,
        name=source.name,
        url=source.address,
        category=source.category,
        refresh_interval_minutes=source.feed_poll_interval_minutes,
        is_system=source.is_system,
        is_active=source.is_active,
        is_critical=source.is_critical,
        user_id=source.submitted_by,
        last_fetched_at=source.last_succeeded_at,
        error_count=source.consecutive_errors,
        last_error_message=source.last_error,
        created_at=source.created_at,
        updated_at=source.updated_at,
    )


def _minutes(given: int | None) -> timedelta | None:
    return None if given is None else timedelta(minutes=given)


def _milliseconds(given: int | None) -> timedelta | None:
    return None if given is None else timedelta(milliseconds=given)


def _as_lines(selectors: Mapping[str, Sequence[str]] | None) -> Sequence[str] | None:
    """As a person would write them: `title=h1`."""
    return None if selectors is None else [f"{part}={one}" for part, given in selectors.items() for one in given]


GIVEN = (NewSource, SourceChanges, Disabling, NewFeed, FeedChanges, ImportedFeeds)
TOLD = (SourceTold, SourcePage, FeedTold, FeedPage, ImportReport)
