"""Summaries, their articles and outcomes. Pure data."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from headwater.types import ArticleId

ON_THIS_MACHINE = "extractive"  # instead of the name of a model


@dataclass(frozen=True, slots=True)
class SummaryOptions:
    """Without a key, summaries are extractive."""

    api_key: str | None = field(default=None, repr=False)
    base_url: str = "https://openrouter.ai/api/v1"
    model: str = "openai/gpt-4o-mini"
    temperature: float = 0.3
    max_tokens: int = 1000
    timeout: timedelta = timedelta(seconds=60)  # of one try
    retry_after: timedelta = timedelta(seconds=2)
    prompt_max: int = 60_000  # characters
    daily_limit: int = 20  # of one user in 24 hours; 0: no limit
    total_limit: int = 1_000  # requests of all users in 24 hours; 0: no limit

    @property
    def given_up_after(self) -> timedelta:
        """After this a summary has failed: its process died. Two tries and the wait between them take less."""
        return max(timedelta(minutes=3), 2 * self.timeout + self.retry_after + timedelta(seconds=30))


class SummaryStatus(StrEnum):
    MAKING = "making"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Summary:
    id: UUID
    status: SummaryStatus
    content: str
    model: str
    article_count: int
    error: str | None
    created_at: datetime
    finished_at: datetime | None

    @property
    def is_of_this_machine(self) -> bool:
        return self.model == ON_THIS_MACHINE


@dataclass(frozen=True, slots=True)
class ShownSummary:
    summary: Summary | None = None
    making: Summary | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class DayArticle:
    id: ArticleId
    title: str
    feed_name: str
    published_at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Written:
    content: str
    model: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: Decimal | None = None


@dataclass(frozen=True, slots=True)
class NotWritten:
    """Why there is no text, for the log. Unavailable: the service was unreachable, too slow, or refused."""

    reason: str
    is_unavailable: bool = False


SummaryOutcome = Written | NotWritten
