"""An article for programs, and which of them a request is about. Pure data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from headwater.types import ArticleId


class ArticleField(StrEnum):
    """The fields of an article that a program can choose from. `id` and `revision` are always there."""

    ID = "id"
    REVISION = "revision"
    REVISED_AT = "revised_at"
    URL = "url"
    CANONICAL_URL = "canonical_url"
    TITLE = "title"
    AUTHOR = "author"
    SUMMARY = "summary"
    DESCRIPTION = "description"
    PUBLISHED_AT = "published_at"
    LISTED_AT = "listed_at"
    SEEN_AT = "seen_at"
    EXTRACTED_AT = "extracted_at"
    CLASSIFIED_AT = "classified_at"
    LANGUAGE = "language"
    WORD_COUNT = "word_count"
    IMAGE_URL = "image_url"
    SECTION = "section"
    KEYWORDS = "keywords"
    CONTENT_HASH = "content_hash"
    DUPLICATE_OF = "duplicate_of"
    NEAR_DUPLICATE_OF = "near_duplicate_of"
    LABELS = "labels"
    STORY = "story"
    SOURCES = "sources"
    ENCLOSURES = "enclosures"
    TEXT = "text"
    HTML = "html"
    OPEN_GRAPH = "open_graph"
    LINKED_DATA = "linked_data"


ALL_FIELDS = frozenset(ArticleField)
LONG_FIELDS = frozenset({ArticleField.TEXT, ArticleField.HTML, ArticleField.OPEN_GRAPH, ArticleField.LINKED_DATA})
SHORT_FIELDS = ALL_FIELDS - LONG_FIELDS
"""What a list has unless a program asks for other fields."""


class Place(NamedTuple):
    """An article and its revision: where it is in the order of changes."""

    revision: int
    article_id: ArticleId


@dataclass(frozen=True, slots=True)
class DownstreamArticle:
    """The shared record of an article, with what was found out about it. Never what only a user's private feed says."""

    id: ArticleId
    revision: int | None  # None: not classified yet
    revised_at: datetime | None
    url: str
    canonical_url: str | None
    title: str
    author: str | None
    summary: str | None  # of the feed, safe HTML
    description: str | None  # of the page
    published_at: datetime | None
    listed_at: datetime
    seen_at: datetime
    extracted_at: datetime | None
    classified_at: datetime | None
    language: str | None
    word_count: int | None
    image_url: str | None
    section: str | None
    keywords: Sequence[str]
    content_hash: str | None
    duplicate_of: UUID | None
    near_duplicate_of: UUID | None
    labels: Mapping[str, Any]
    story: Mapping[str, Any] | None
    sources: Sequence[Mapping[str, Any]]
    enclosures: Sequence[Mapping[str, Any]]
    text: str | None
    html: str | None
    open_graph: Mapping[str, Any] | None
    linked_data: Sequence[Any] | None


@dataclass(frozen=True, slots=True)
class RevisionPage:
    """Articles in the order of their revisions. `cursor`: how far it looked; `has_more`: whether there is more."""

    articles: Sequence[DownstreamArticle]
    cursor: int
    has_more: bool
