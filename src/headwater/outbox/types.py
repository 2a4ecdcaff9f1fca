"""A change the search index must hear of, as it is queued, and as it is in somebody's hands. Pure data."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from headwater.types import ArticleId


class Action(StrEnum):
    """What the index is asked for."""

    INDEX = "index"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """An article whose content changed. `version` is the content's own, for people: the index compares another."""

    article_id: ArticleId
    url_key: bytes
    version: int
    action: Action = Action.INDEX


@dataclass(frozen=True, slots=True)
class Claimed:
    """An entry in somebody's hands until the lease ends."""

    article_id: ArticleId
    url_key: bytes
    version: int
    action: Action
    queued_version: int  # what the index compares: when it was queued, in microseconds
    lease: UUID
    attempts: int  # how often it was sent, or claimed and never answered, before


@dataclass(frozen=True, slots=True)
class Dead:
    """An entry that was given up: the index never takes it as it is."""

    article_id: ArticleId
    url_key: bytes
    version: int
    reason: str
    queued_at: datetime


@dataclass(frozen=True, slots=True)
class Counts:
    """How the outbox stands. Since when the oldest entry waits, None when none does."""

    waiting: int
    dead: int
    oldest_at: datetime | None
    is_listening: bool
    is_filling: bool
