"""How the index is spoken to, what is told to it, and what it answers. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from headwater.outbox.types import Claimed
from headwater.types import ArticleId


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """How changes are told to the index; from settings."""

    batch_documents: int
    batch_bytes: int
    concurrency: int
    lease: timedelta
    wait_min: timedelta
    wait_max: timedelta


@dataclass(frozen=True, slots=True)
class Content:
    """An article's content as it is stored, and what is known of it elsewhere. JSON stays text: nobody reads it."""

    article_id: ArticleId
    url: str
    source_id: str | None
    source_name: str | None
    title: str | None
    text: str | None
    html: str | None
    description: str | None
    keywords: Sequence[str]
    authors: Sequence[str]
    published_at: datetime | None
    canonical_url: str | None
    section: str | None
    language: str | None
    image_url: str | None
    og_type: str | None
    og_title: str | None
    og_description: str | None
    og_image: str | None
    og_url: str | None
    og_site_name: str | None
    linked_data: str | None
    word_count: int
    content_hash: bytes | None
    version: int
    crawled_at: datetime


@dataclass(frozen=True, slots=True)
class Operation:
    """What a bulk request says of one entry: its lines, each ended by a newline."""

    entry: Claimed
    lines: bytes


@dataclass(frozen=True, slots=True)
class ItemResult:
    """What the index says to one operation."""

    status: int
    error: str | None = None  # its class
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """A bulk request was read; one result for each operation, in their order. HTTP 200 says nothing about them."""

    items: Sequence[ItemResult]


@dataclass(frozen=True, slots=True)
class Refused:
    """The request as a whole was not taken."""

    status: int
    reason: str
    retry_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """No answer, or none that can be read: whether the index took anything is not known."""

    reason: str


BulkOutcome = Answered | Refused | Lost


@dataclass(frozen=True, slots=True)
class Done:
    """The index has it, or something newer."""


@dataclass(frozen=True, slots=True)
class Again:
    """Not this time, and not the document's fault."""

    reason: str


@dataclass(frozen=True, slots=True)
class Bury:
    """The index will never take this document."""

    reason: str


Fate = Done | Again | Bury


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What came of one batch, told afterwards."""

    done: int
    again: int
    buried: int
    took: timedelta


@dataclass(frozen=True, slots=True)
class IndexLook:
    """The index as it is found: for a person who asks."""

    server: str
    index: str
    aliases_of: Sequence[str]  # the indices behind the alias
    documents: int | None
    health: str | None
    differences: Sequence[str]
