"""Summaries, their articles and outcomes. Pure data."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from headwater.ai.types import AiOptions
from headwater.types import ArticleId

# Instead of the name of a model.
ON_THIS_MACHINE = "extractive"
BEYOND_BUDGET = "extractive, budget reached"


@dataclass(frozen=True, slots=True)
class SummaryOptions:
    """Without a key, and when the budget is reached, summaries are extractive."""

    ai: AiOptions = field(default_factory=AiOptions)
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
        return self.model in {ON_THIS_MACHINE, BEYOND_BUDGET}

    @property
    def is_beyond_budget(self) -> bool:
        return self.model == BEYOND_BUDGET


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
    story_id: UUID | None = None


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
