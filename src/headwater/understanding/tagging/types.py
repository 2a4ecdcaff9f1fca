"""An article that waits to be tagged, the tags of a model, and options. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from headwater.types import ArticleId

MOST_ATTEMPTS = 3  # of seed 003: then the article is tagged, with empty tags


@dataclass(frozen=True, slots=True)
class TaggingOptions:
    model: str = "openai/gpt-4o-mini"
    concurrency: int = 4
    is_enabled: bool = True
    timeout: timedelta = timedelta(seconds=60)  # of one request

    @property
    def lease(self) -> timedelta:
        return self.timeout + timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class WaitingArticle:
    """A claimed article. `attempts`: how often an answer about it was unusable."""

    article_id: ArticleId
    lease: UUID
    attempts: int


@dataclass(frozen=True, slots=True)
class TaggedText:
    """What the shared record of an article says: its page, else the feed of its own site."""

    title: str
    text: str  # of the page
    html: str  # of the feed, sanitised; empty if the page has text


@dataclass(frozen=True, slots=True)
class Tags:
    """What a model says about an article, validated."""

    topics: Sequence[str]
    sentiment: str
    categories: Sequence[str]
    confidence: float


@dataclass(frozen=True, slots=True)
class UnfitAnswer:
    """An answer that does not fit the schema. The reason is for the log, and has no text of the answer."""

    reason: str


@dataclass(frozen=True, slots=True)
class TaggingPause:
    """Until when nothing is claimed, and how many times in a row the service was unavailable."""

    failures: int = 0
    until: datetime | None = None


class TaggingOutcome(StrEnum):
    TAGGED = "tagged"
    FAILED = "failed"  # tried again later
    GIVEN_UP = "given_up"  # tagged with empty tags after the last attempt
    POSTPONED = "postponed"  # the service is unavailable, or the budget is reached
    SKIPPED = "skipped"  # nothing may be sent: no text, or no public feed lists the article
    LOST = "lost"  # deleted, or no longer ours
