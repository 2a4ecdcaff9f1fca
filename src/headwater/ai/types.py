"""Calls to language models, their outcomes, and the monthly budget. Pure data. Amounts are in micro-dollars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, Literal
from uuid import UUID

MICROS = 1_000_000
SAVING_FROM = 75  # percent of the ceiling


class Purpose(StrEnum):
    SUMMARY = "summary"
    TAGGING = "tagging"


@dataclass(frozen=True, slots=True)
class AiOptions:
    """The service and the budget of all calls. Without a key, there are none."""

    api_key: str | None = field(default=None, repr=False)
    base_url: str = "https://openrouter.ai/api/v1"
    monthly_budget: Decimal = Decimal(500)  # dollars, unless the month has a ceiling of its own; 0: no calls
    # Dollars per million tokens, which is micro-dollars per token.
    price_in: Decimal = Decimal("0.20")
    price_out: Decimal = Decimal("0.80")

    @property
    def ceiling_micros(self) -> int:
        return int(self.monthly_budget * MICROS)


@dataclass(frozen=True, slots=True)
class AiMessage:
    role: Literal["system", "user"]
    content: str


@dataclass(frozen=True, slots=True)
class AiCall:
    """One request to a model. With a schema, the content of the answer is requested as JSON of that schema."""

    purpose: Purpose
    model: str
    messages: Sequence[AiMessage]
    max_tokens: int
    temperature: float = 0
    schema: Mapping[str, Any] | None = None
    timeout: timedelta = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class AiAnswer:
    """What a model wrote: untrusted text, also if it was asked for JSON of a schema."""

    content: str
    model: str  # as the service reports it
    tokens_in: int | None
    tokens_out: int | None
    cost_micros: int = 0  # what was counted against the budget
    cost: Decimal | None = None  # in dollars, if the service reports it
    is_cut_off: bool = False  # at `max_tokens`


class NotAnsweredKind(StrEnum):
    UNAVAILABLE = "unavailable"  # outage, timeout, rate limit, refused key: try again later
    BUDGET = "budget"  # the ceiling of the month; no request was sent
    FAILED = "failed"  # the request or its answer is wrong


@dataclass(frozen=True, slots=True)
class NotAnswered:
    """Why there is no answer. The reason is for the log."""

    reason: str
    kind: NotAnsweredKind
    retry_after: timedelta | None = None  # what the service asks for


AiOutcome = AiAnswer | NotAnswered


@dataclass(frozen=True, slots=True)
class Charge:
    """What the service reports of the cost of a call; None where it reports nothing."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: Decimal | None = None  # dollars
    is_free: bool = False  # it failed before the service could have charged


@dataclass(frozen=True, slots=True)
class AiReply:
    outcome: AiOutcome
    charge: Charge


@dataclass(frozen=True, slots=True)
class Reservation:
    """The most that a call in progress can cost, held in the month in which it was made."""

    id: UUID
    month: date
    purpose: str
    model: str
    amount_micros: int
    made_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Settlement:
    tokens_in: int
    tokens_out: int
    cost_micros: int
    is_failure: bool


class BudgetLevel(StrEnum):
    NORMAL = "normal"
    SAVING = "saving"  # only sources with many readers are tagged
    REACHED = "reached"  # calls are refused


@dataclass(frozen=True, slots=True)
class Budget:
    """A month's ceiling and what is used of it."""

    month: date
    ceiling_micros: int
    spent_micros: int
    reserved_micros: int
    reached_at: datetime | None = None  # when the first call was refused

    @property
    def percent(self) -> float:
        """The share of the ceiling that is spent or reserved."""
        used = self.spent_micros + self.reserved_micros
        return used * 100 / self.ceiling_micros if self.ceiling_micros else 100.0

    @property
    def level(self) -> BudgetLevel:
        if self.reached_at is not None or self.spent_micros >= self.ceiling_micros:
            return BudgetLevel.REACHED
        return BudgetLevel.SAVING if self.percent >= SAVING_FROM else BudgetLevel.NORMAL


@dataclass(frozen=True, slots=True)
class UsageTotal:
    requests: int = 0
    failures: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_micros: int = 0


@dataclass(frozen=True, slots=True)
class UsageLine:
    """The calls of a day for one purpose by one model."""

    day: date
    purpose: str
    model: str
    requests: int
    failures: int
    tokens_in: int
    tokens_out: int
    cost_micros: int


@dataclass(frozen=True, slots=True)
class UsageGroup:
    purpose: str
    model: str
    total: UsageTotal


@dataclass(frozen=True, slots=True)
class UsageDay:
    day: date
    total: UsageTotal


@dataclass(frozen=True, slots=True)
class MonthUsage:
    """A month in the list of months. The ceiling is None for one whose ceiling was never set: that of the settings."""

    month: date
    ceiling_micros: int | None
    requests: int
    failures: int
    tokens_in: int
    tokens_out: int
    cost_micros: int
