"""Subscriptions and articles as users see them. Pure data."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from headwater.types import ArticleId, PageCursor, SourceId, SourceState

FEEDS_PER_PAGE = 20
ARTICLES_PER_PAGE = 30


class FeedStatus(StrEnum):
    """The filter of a user's list of feeds, as seed 002 names it. The state itself is a `SourceState`."""

    ALL = "all"
    WORKING = "working"
    PENDING = "pending"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class FeedsQuery:
    search: str = ""
    status: FeedStatus = FeedStatus.ALL
    page: int = 1


@dataclass(frozen=True, slots=True)
class Subscription:
    id: UUID
    source_id: SourceId
    name: str
    url: str
    category: str | None


@dataclass(frozen=True, slots=True)
class FeedItem(Subscription):
    state: SourceState
    last_polled_at: datetime | None
    next_poll_at: datetime | None  # None: disabled until a user enables it, or without a feed
    last_error: str | None
    last_error_type: str | None
    disabled_at: datetime | None
    disabled_until: datetime | None
    article_count: int

    @property
    def status(self) -> FeedStatus:
        """Pending until the first poll ends; then how the last one ended."""
        if self.last_polled_at is None:
            return FeedStatus.PENDING
        return FeedStatus.ERROR if self.last_error else FeedStatus.WORKING

    @property
    def is_disabled(self) -> bool:
        """Disabled, or not polled before its cooldown ends."""
        return self.state not in {SourceState.PENDING, SourceState.WORKING, SourceState.FAILING}


@dataclass(frozen=True, slots=True)
class FeedPage:
    feeds: list[FeedItem]
    page: int
    pages: int
    total: int


class Shelf(StrEnum):
    ALL = "all"
    UNREAD = "unread"
    STARRED = "starred"


@dataclass(frozen=True, slots=True)
class ArticlesQuery:
    shelf: Shelf = Shelf.UNREAD
    feed: UUID | None = None
    category: str | None = None
    after: PageCursor | None = None
    limit: int = ARTICLES_PER_PAGE


@dataclass(frozen=True, slots=True)
class ArticleLine:
    id: ArticleId
    number: int
    url: str
    title: str
    author: str | None
    summary: str | None
    listed_at: datetime
    feed_name: str
    is_read: bool
    is_starred: bool

    @property
    def place(self) -> PageCursor:
        return PageCursor(self.listed_at, self.id)


@dataclass(frozen=True, slots=True)
class ArticleFull:
    """An article to read: the extracted page, else the feed's content. Both are sanitised."""

    id: ArticleId
    number: int
    url: str
    title: str
    author: str | None
    html: str | None
    is_extracted: bool
    published_at: datetime | None
    listed_at: datetime
    language: str | None
    word_count: int | None
    feeds: list[str]
    is_read: bool
    is_starred: bool


@dataclass(frozen=True, slots=True)
class UnreadFeed:
    id: UUID
    name: str
    category: str | None
    unread: int


@dataclass(frozen=True, slots=True)
class ArticlePage:
    """A page of a list, and where the next begins. A page of a search may be empty before the end."""

    lines: list[ArticleLine]
    then: PageCursor | None
