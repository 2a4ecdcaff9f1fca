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

    `is_own`: the feed was served from the article's own site, so that what it says is the shared record. None: this is
    what the article's page says, which is the shared record, too.
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
    is_own: bool | None = False
    enclosures: str | None = None  # JSON, as `articles/enclosures.py` writes it


class ListedEntry(NamedTuple):
    """An article, its source (None: a page of no source), and the site that the source's feed was served from."""

    source_id: SourceId | None
    article: NewArticle
    site: str = ""


class ListingFeed(NamedTuple):
    """The feed of a source that lists an article; no URL: a source without a feed."""

    is_public: bool  # managed by operators, or suggested and approved
    feed_url: str | None
    was_private: bool = False  # its URL had a key


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
    SELECTOR = "selector"  # the source's own
    TRAFILATURA = "trafilatura"
    JSON_LD = "json-ld"
    OPEN_GRAPH = "og"
    META = "meta"
    HTML = "html"  # <title>, <h1>, <link rel=canonical>, <html lang>


@dataclass(frozen=True, slots=True)
class Extracted:
    """The fields of a page; missing ones are empty. `origins` says where each field came from."""

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
    content_hash: bytes | None = None  # None without text
    simhash: int | None = None  # None if the text is too short
    origins: Mapping[str, Finder] = field(default_factory=dict[str, Finder])
    problems: Sequence[str] = ()  # invalid selectors, for the user. Not stored


@dataclass(frozen=True, slots=True)
class NewContent:
    article_id: ArticleId
    url: str
    url_key: bytes
    extracted: Extracted


@dataclass(frozen=True, slots=True)
class Stored:
    """The stored record of an article, without its text."""

    record: Extracted
    duplicate_of: ArticleId | None
    near_duplicate_of: ArticleId | None
    version: int


class ContentChange(StrEnum):
    NEW = "new"
    RENEWED = "renewed"  # another text that is not poorer
    ENRICHED = "enriched"  # the same text, or a poorer one that is not taken; some field changed
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is stored: `merged`, with the old text unless `takes_text`."""

    change: ContentChange
    merged: Extracted
    takes_text: bool


@dataclass(frozen=True, slots=True)
class Saved:
    article_id: ArticleId
    change: ContentChange
    version: int
    text_changed: bool  # since the last time this page was read
    duplicate_of: ArticleId | None
    near_duplicate_of: ArticleId | None


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result; in the snippet, matches are between « and »."""

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
