"""Subscriptions and articles as users see them. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass, field
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
    tags: Sequence[str]


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
    LATER = "later"

    @property
    def is_chosen(self) -> bool:
        """Whether the user put each article there: in that order, and never grouped by story."""
        return self in {Shelf.STARRED, Shelf.LATER}


@dataclass(frozen=True, slots=True)
class ArticlesQuery:
    shelf: Shelf = Shelf.UNREAD
    feed: UUID | None = None
    category: str | None = None
    after: PageCursor | None = None
    limit: int = ARTICLES_PER_PAGE
    with_hidden: bool = False  # also articles that a rule of the user hid
    is_oldest_first: bool = False  # for lists without a search


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
    is_saved: bool
    tags: Sequence[str]
    feed_id: UUID | None = None  # the subscription; None: starred or saved, and not followed
    language: str | None = None
    word_count: int | None = None

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
    feed_ids: list[UUID]  # in the same order
    is_read: bool
    is_starred: bool
    is_saved: bool
    tags: Sequence[str]
    hidden_at: datetime | None
    starred_at: datetime | None
    saved_at: datetime | None


@dataclass(frozen=True, slots=True)
class UnreadFeed:
    id: UUID
    name: str
    category: str | None
    unread: int


@dataclass(frozen=True, slots=True)
class CategoryNode:
    """A category with its feeds and those nested in it. Its count is of all of them; `is_least`: some were not counted
    to the end."""

    name: str  # the last part of its path
    path: str
    feeds: list[UnreadFeed]
    nested: "list[CategoryNode]"
    unread: int
    is_least: bool


@dataclass(frozen=True, slots=True)
class MarkedRead:
    """The last time that a user marked a list as read, as long as it can be undone."""

    id: UUID
    article_count: int


@dataclass(frozen=True, slots=True)
class NewestUnread:
    """The newest unread articles; `is_all`: there are no others."""

    article_ids: Sequence[ArticleId]
    is_all: bool


@dataclass(frozen=True, slots=True)
class UsedTag:
    """A tag of a user, and how many of their articles and feeds have it."""

    tag: str
    articles: int
    feeds: int


@dataclass(frozen=True, slots=True)
class ArticlePage:
    """A page of a list, and where the next begins. A page of a search may be empty before the end."""

    lines: list[ArticleLine]
    then: PageCursor | None


@dataclass(frozen=True, slots=True)
class StoryMember:
    """An article of a story that the user can see."""

    story_id: UUID
    id: ArticleId
    url: str
    title: str
    feed_name: str
    listed_at: datetime
    place_at: datetime | None  # its newest position in the list that is shown; None: not in that list
    is_read: bool


@dataclass(frozen=True, slots=True)
class StoryLine:
    """A line of a list: an article, and the other articles of its story that the user can see."""

    line: ArticleLine
    others: list[StoryMember] = field(default_factory=list[StoryMember])

    @property
    def unread(self) -> int:
        """How many of all its articles are unread."""
        return (not self.line.is_read) + sum(not one.is_read for one in self.others)


@dataclass(frozen=True, slots=True)
class StoryPage:
    """A page of a list whose articles are grouped by story, and where the next begins."""

    lines: list[StoryLine]
    then: PageCursor | None
