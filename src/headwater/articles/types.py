"""What an article is when it comes in, and when it is shown."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from headwater.types import ArticleId, SourceId, record


@record
class NewArticle:
    """An article as a feed or its page describes it. Without `has_page` it only borrows the URL of its site or feed.

    `is_own`: the feed was served from the article's own site, so that what it says is the shared record.
    """

    entry_id: str
    url: str
    url_key: bytes
    title: str
    author: str | None
    summary: str | None
    content: str | None
    published_at: datetime | None
    has_page: bool = True
    is_own: bool = False


class Listed(NamedTuple):
    """An article, and the source whose feed lists it, or from whose queue its page was read (`is_page`).

    `site` is the one that the feed was served from.
    """

    source_id: SourceId
    article: NewArticle
    site: str = ""
    is_page: bool = False

    @property
    def writes_record(self) -> bool:
        """Whether it may change the shared record."""
        return self.article.is_own or self.is_page


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of a feed's articles: how many nobody had, how many this source had not listed before, and which."""

    new: int
    linked: int
    links: Sequence[NewArticle] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class ListedArticle:
    """A line in a list of articles: the shared record, or what the first source says while there is none."""

    id: ArticleId
    number: int  # positive, 64 bits, increasing with time: for client protocols that take no UUID
    url: str
    title: str
    author: str | None
    summary: str | None
    published_at: datetime | None
    listed_at: datetime
    sources: list[str]
