"""What an article is when it comes in, and when it is shown."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from headwater.types import ArticleId, SourceId, record


@record
class NewArticle:
    """An article as a feed tells of it. Without a `has_page` it only borrows the URL of its site or feed."""

    entry_id: str
    url: str
    url_key: bytes
    title: str
    author: str | None
    summary: str | None
    content: str | None
    published_at: datetime | None
    has_page: bool = True


class Listed(NamedTuple):
    """An article, and the source whose feed lists it."""

    source_id: SourceId
    article: NewArticle


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of a feed's articles: how many nobody had, how many this source had not listed before, and which."""

    new: int
    linked: int
    links: Sequence[NewArticle] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class ListedArticle:
    """A line in a list of articles."""

    id: ArticleId
    url: str
    title: str
    author: str | None
    summary: str | None
    published_at: datetime | None
    listed_at: datetime
    sources: list[str]
