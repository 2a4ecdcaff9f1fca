"""A view: a saved query with a name. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headwater.types import ArticleId, UserId

RESTORABLE = timedelta(days=1)  # how long a deleted view can be restored


@dataclass(frozen=True, slots=True)
class SavedView:
    """A saved query of a user, as the side bar shows it."""

    id: UUID
    name: str
    icon: str
    query: str
    has_feed: bool


@dataclass(frozen=True, slots=True)
class SharedView:
    """A view that is read as a feed, without a login, and whose it is."""

    id: UUID
    user_id: UserId
    name: str
    query: str
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class FeedArticle:
    """An article in the feed of a view, as its user reads it. Summary and HTML are sanitised."""

    id: ArticleId
    url: str
    title: str
    author: str | None
    summary: str | None
    html: str | None
    published_at: datetime | None
    listed_at: datetime
    tags: Sequence[str]


@dataclass(frozen=True, slots=True)
class UnreadNumber:
    """How many of the newest unread articles there are of a kind. `is_least`: older ones were not counted."""

    count: int
    is_least: bool

    def __str__(self) -> str:
        return f"{self.count}+" if self.is_least and self.count else str(self.count)
