"""Options of the index, documents, requests and responses. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from headwater.outbox.types import ClaimedEntry


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """Options of indexing, from settings."""

    batch_documents: int
    batch_bytes: int
    concurrency: int
    lease: timedelta
    wait_min: timedelta
    wait_max: timedelta


class IndexDocument(msgspec.Struct, frozen=True, omit_defaults=True):
    """The raw content document of an article; None is left out. `json_ld_data` is JSON that is passed on unread."""

    id: str
    url: str
    classification_status: str
    crawled_at: datetime
    word_count: int
    version: int
    source_id: str | None = None
    source_name: str | None = None
    title: str | None = None
    raw_text: str | None = None
    raw_html: str | None = None
    meta_description: str | None = None
    meta_keywords: Sequence[str] | None = None
    og_type: str | None = None
    og_title: str | None = None
    og_description: str | None = None
    og_image: str | None = None
    og_url: str | None = None
    og_site_name: str | None = None
    author: Sequence[str] | None = None
    published_date: datetime | None = None
    canonical_url: str | None = None
    article_section: str | None = None
    lead_image: str | None = None
    language: str | None = None
    json_ld_data: msgspec.Raw | str | None = None
    content_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """The lines of one entry in a bulk request, each ended by a newline."""

    entry: ClaimedEntry
    lines: bytes


@dataclass(frozen=True, slots=True)
class ItemResult:
    """The result of one operation."""

    status: int
    error: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class BulkAnswered:
    """One result for each operation of a bulk request, in their order. HTTP 200 does not mean that they succeeded."""

    items: Sequence[ItemResult]


@dataclass(frozen=True, slots=True)
class Refused:
    """The request as a whole was refused."""

    status: int
    reason: str
    retry_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """No readable response: it is unknown whether the index applied the request."""

    reason: str


BulkOutcome = BulkAnswered | Refused | Lost


@dataclass(frozen=True, slots=True)
class Done:
    """The index has this version or a newer one."""


@dataclass(frozen=True, slots=True)
class Retry:
    """The index failed; the document is sent again."""

    reason: str


@dataclass(frozen=True, slots=True)
class Reject:
    """The index refuses this document."""

    reason: str


Fate = Done | Retry | Reject


@dataclass(frozen=True, slots=True)
class IndexReport:
    """The results of one batch."""

    done: int
    again: int
    buried: int
    took: timedelta


@dataclass(frozen=True, slots=True)
class IndexLook:
    """The state of the index, for operators."""

    server: str
    index: str
    aliases_of: Sequence[str]  # the indices behind the alias
    documents: int | None
    health: str | None
    differences: Sequence[str]
