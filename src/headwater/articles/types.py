"""An article as feeds list it, as its page was extracted, and as it is shown. Pure data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
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
    """The result for a feed's articles: how many are new, how many are new to this source, and which."""

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


class Finder(StrEnum):
    """Where a field of a record came from."""

    SELECTOR = "selector"  # the source's own
    TRAFILATURA = "trafilatura"
    JSON_LD = "json-ld"
    OPEN_GRAPH = "og"
    META = "meta"
    HTML = "html"  # an element that says it by its nature: <title>, <h1>, <link rel=canonical>, <html lang>


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a page tells of its article; what it does not tell is empty. `origins` says where each field came from."""

    title: str | None = None
    text: str = ""
    html: str = ""  # safe to show, every link absolute
    description: str | None = None
    keywords: Sequence[str] = ()
    authors: Sequence[str] = ()
    published_at: datetime | None = None
    canonical_url: str | None = None
    section: str | None = None
    language: str | None = None  # as in en or pt-BR
    image_url: str | None = None
    open_graph: Mapping[str, str] = field(default_factory=dict[str, str])
    linked_data: Sequence[object] = ()
    word_count: int = 0
    content_hash: bytes | None = None  # None where there is no text
    simhash: int | None = None  # None where the text is too short to be like another
    origins: Mapping[str, Finder] = field(default_factory=dict[str, Finder])
    problems: Sequence[str] = ()  # invalid selectors, for the user. Not stored


@dataclass(frozen=True, slots=True)
class NewContent:
    """A record, and the article that it is of."""

    article_id: ArticleId
    url: str
    url_key: bytes
    extracted: Extracted


@dataclass(frozen=True, slots=True)
class Stored:
    """What is kept of a record already; its text stays in the database."""

    article_id: ArticleId
    title: str | None
    description: str | None
    keywords: list[str]
    authors: list[str]
    published_at: datetime | None
    canonical_url: str | None
    section: str | None
    language: str | None
    image_url: str | None
    open_graph: dict[str, str]
    linked_data: list[object]
    word_count: int
    content_hash: bytes | None
    simhash: int | None
    origins: dict[str, str]
    duplicate_of: ArticleId | None
    near_duplicate_of: ArticleId | None
    richness: int
    version: int


class Fate(StrEnum):
    """What came of a record."""

    NEW = "new"
    RENEWED = "renewed"  # its text is another, and not poorer
    ENRICHED = "enriched"  # the same text, or a poorer one that is not taken; some field was missing or differs
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of a record: `merged` is what will be stored, with the old text where `takes_text` is not set."""

    fate: Fate
    merged: Extracted
    takes_text: bool
    richness: int


@dataclass(frozen=True, slots=True)
class Saved:
    """What was stored of a record."""

    article_id: ArticleId
    fate: Fate
    version: int
    text_changed: bool  # since the last time this page was read
    duplicate_of: ArticleId | None
    near_duplicate_of: ArticleId | None


@dataclass(frozen=True, slots=True)
class Content:
    """A stored record in full; a duplicate shows the text it shares."""

    article_id: ArticleId
    url: str
    title: str | None
    text: str | None
    html: str | None
    description: str | None
    keywords: list[str]
    authors: list[str]
    published_at: datetime | None
    canonical_url: str | None
    section: str | None
    language: str | None
    image_url: str | None
    open_graph: dict[str, str]
    linked_data: list[object]
    origins: dict[str, str]
    word_count: int
    content_hash: bytes | None
    duplicate_of: ArticleId | None
    near_duplicate_of: ArticleId | None
    version: int
    extracted_at: datetime


@dataclass(frozen=True, slots=True)
class Hit:
    """A line of a search: the snippet has what was found between « and »."""

    article_id: ArticleId
    url: str
    title: str
    snippet: str
    authors: list[str]
    published_at: datetime | None
    language: str | None
    word_count: int
    rank: float
    duplicates: int  # other URLs with the same text
