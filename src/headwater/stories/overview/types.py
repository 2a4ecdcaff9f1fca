"""A story and its articles, as operators see them. Pure data."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headwater.types import ArticleId


@dataclass(frozen=True, slots=True)
class LargeStory:
    """`first_at` and `last_at`: when its first and its last article were listed."""

    id: UUID
    title: str
    first_at: datetime
    last_at: datetime
    article_count: int
    source_count: int


@dataclass(frozen=True, slots=True)
class ArticleOfStory:
    """The shared record of an article of a story."""

    story_id: UUID
    id: ArticleId
    url: str
    title: str
    published_at: datetime | None
