"""A change for the search index, as queued and as claimed. Pure data."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from headwater.types import ArticleId


class Action(StrEnum):
    INDEX = "index"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """An article whose content changed. `version` is that of the content; the index compares `queued_version`."""

    article_id: ArticleId
    url_key: bytes
    version: int
    action: Action


@dataclass(frozen=True, slots=True)
class ClaimedEntry(DocumentEntry):
    queued_version: int  # when it was queued, in microseconds; the index compares it
    lease: UUID
    attempts: int  # earlier ones, with those whose lease expired
    revision: int  # of the delivery; another once the article changes again


@dataclass(frozen=True, slots=True)
class RefusedEntry:
    article_id: ArticleId
    url_key: bytes
    version: int
    reason: str
    queued_at: datetime


@dataclass(frozen=True, slots=True)
class DocumentCounts:
    """How many entries wait or were refused; `oldest_at` None: none waits."""

    waiting: int
    dead: int
    oldest_at: datetime | None
    is_listening: bool
    is_filling: bool
