"""A summary, what it is made of, and how the writing of one can end. Pure data."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from headwater.types import ArticleId

ARTICLES_MAX = 100
PERIOD = timedelta(hours=24)
CLOCKS_APART = timedelta(minutes=5)  # between machines: what began later than that after now was dated by a wrong clock
ON_THIS_MACHINE = "extractive"  # in the place of a model's name


@dataclass(frozen=True, slots=True)
class SummaryOptions:
    """How summaries are written; from settings. Without a key they are made on this machine."""

    api_key: str | None = field(default=None, repr=False)
    base_url: str = "https://openrouter.ai/api/v1"
    model: str = "openai/gpt-4o-mini"
    temperature: float = 0.3
    max_tokens: int = 1000
    timeout: timedelta = timedelta(seconds=60)  # of one try
    retry_after: timedelta = timedelta(seconds=2)
    prompt_max: int = 60_000  # characters
    daily_limit: int = 20  # summaries of one reader within 24 hours; 0: no limit
    total_limit: int = 1_000  # questions to the service within a day, of all readers; 0: no limit

    @property
    def given_up_after(self) -> timedelta:
        """After this the process that made it is taken for dead: two tries and the wait between take less."""
        return max(timedelta(minutes=3), 2 * self.timeout + self.retry_after + timedelta(seconds=30))


class SummaryStatus(StrEnum):
    """How far a summary is."""

    MAKING = "making"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Summary:
    """A row of `summaries`; its content is Markdown."""

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
        """No language model had a part in it."""
        return self.model == ON_THIS_MACHINE


@dataclass(frozen=True, slots=True)
class ShownSummary:
    """What a person sees: their latest summary, the one that is being made, what went wrong with the last try."""

    summary: Summary | None = None
    making: Summary | None = None
    error: str = ""

    @property
    def can_generate(self) -> bool:
        """Nothing is being made."""
        return self.making is None


@dataclass(frozen=True, slots=True)
class DayArticle:
    """An article of the last day, as it is summed up. Its text is plain."""

    id: ArticleId
    title: str
    feed_name: str
    published_at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Written:
    """A text, and what it took."""

    content: str
    model: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: Decimal | None = None


class Failing(StrEnum):
    """Why there is no text."""

    UNAVAILABLE = "unavailable"  # not reached, too slow, or it will not have us
    BROKEN = "broken"  # it answered, and not with a summary


@dataclass(frozen=True, slots=True)
class NotWritten:
    """There is no text, and why; the reason is for the log."""

    failing: Failing
    reason: str


SummaryOutcome = Written | NotWritten
