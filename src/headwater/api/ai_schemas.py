"""Request and response models of the usage of language models. Amounts are in micro-dollars."""

from collections.abc import Sequence
from datetime import date
from typing import Annotated

from pydantic import Field

from headwater.ai.report import CEILING_MOST, MonthReport
from headwater.ai.types import BudgetLevel, MonthUsage, UsageDay, UsageGroup, UsageTotal
from headwater.api.schemas import RequestModel, ResponseModel, WholeNumber, with_example

Month = Annotated[str, Field(description="A calendar month, UTC.", examples=["2026-11"])]
Ceiling = Annotated[int, Field(description="The most that may be spent in the month, in micro-dollars.")]
Requests = Annotated[int, Field(description="Calls that were sent.")]
Failures = Annotated[int, Field(description="Those of them without a usable answer.")]
TokensIn = Annotated[int, Field(description="Tokens read by models.")]
TokensOut = Annotated[int, Field(description="Tokens written by models.")]
Cost = Annotated[int, Field(description="Cost in micro-dollars, as the services report it.")]


class NewCeiling(RequestModel):
    """The ceiling of a month, in micro-dollars; null: that of the settings."""

    model_config = with_example({"ceiling_micros": 250_000_000})

    ceiling_micros: Annotated[WholeNumber, Field(ge=0, le=CEILING_MOST)] | None


class UsageNumbers(ResponseModel):
    """Calls, tokens and cost."""

    requests: Requests
    failures: Failures
    tokens_in: TokensIn
    tokens_out: TokensOut
    cost_micros: Cost


class UsageByModel(UsageNumbers):
    """Usage for one purpose by one model."""

    purpose: Annotated[str, Field(description="What the calls were for.", examples=["tagging"])]
    model: Annotated[str, Field(description="The model that was requested.", examples=["openai/gpt-4o-mini"])]


class UsageByDay(UsageNumbers):
    """Usage of one day."""

    day: date


class UsageByMonth(UsageNumbers):
    """Usage of one month."""

    month: Month
    ceiling_micros: Ceiling


class AiUsageResponse(UsageNumbers):
    """Usage of this month, and its budget."""

    month: Month
    ceiling_micros: Ceiling
    reserved_micros: Annotated[int, Field(description="The most that calls in progress can cost.")]
    percent: Annotated[float, Field(description="Share of the ceiling that is spent or reserved.")]
    level: Annotated[BudgetLevel, Field(description="`saving` from 75 %, `reached` when calls are refused.")]
    by_model: Annotated[list[UsageByModel], Field(description="By purpose and model, the dearest first.")]


class AiUsageHistory(ResponseModel):
    """Usage of past months and days."""

    months: Annotated[list[UsageByMonth], Field(description="The newest first.")]
    days: Annotated[list[UsageByDay], Field(description="The oldest first, also those without calls.")]


class CostReport(ResponseModel):
    """The cost of this month, and a forecast."""

    month: Month
    cost_micros: Cost
    ceiling_micros: Ceiling
    forecast_micros: Annotated[
        int, Field(description="Cost at the end of the month if its other days cost as much as those so far.")
    ]
    reached_on: Annotated[
        date | None, Field(description="When the ceiling would be reached at this rate; null: not in this month.")
    ]
    days: Annotated[list[UsageByDay], Field(description="Every day of the month up to today.")]
    by_model: Annotated[list[UsageByModel], Field(description="By purpose and model, the dearest first.")]


def usage_response(report: MonthReport) -> AiUsageResponse:
    budget = report.budget
    return AiUsageResponse(
        **_numbers(report.total), month=_month(budget.month), ceiling_micros=budget.ceiling_micros,
        reserved_micros=budget.reserved_micros, percent=round(budget.percent, 2), level=budget.level,
        by_model=_by_model(report.groups),
    )  # fmt: skip


def history_response(months: Sequence[MonthUsage], days: Sequence[UsageDay], ceiling_micros: int) -> AiUsageHistory:
    return AiUsageHistory(
        months=[
            UsageByMonth(
                month=_month(one.month), requests=one.requests, failures=one.failures, tokens_in=one.tokens_in,
                tokens_out=one.tokens_out, cost_micros=one.cost_micros,
                ceiling_micros=ceiling_micros if one.ceiling_micros is None else one.ceiling_micros,
            )
            for one in months
        ],
        days=_by_day(days),
    )  # fmt: skip


def cost_response(report: MonthReport) -> CostReport:
    return CostReport(
        month=_month(report.budget.month), cost_micros=report.total.cost_micros,
        ceiling_micros=report.budget.ceiling_micros, forecast_micros=report.forecast_micros,
        reached_on=report.reached_on, days=_by_day(report.days), by_model=_by_model(report.groups),
    )  # fmt: skip


def _month(month: date) -> str:
    return f"{month:%Y-%m}"


def _numbers(total: UsageTotal) -> dict[str, int]:
    return {name: getattr(total, name) for name in UsageNumbers.model_fields}


def _by_model(groups: Sequence[UsageGroup]) -> list[UsageByModel]:
    return [UsageByModel(**_numbers(one.total), purpose=one.purpose, model=one.model) for one in groups]


def _by_day(days: Sequence[UsageDay]) -> list[UsageByDay]:
    return [UsageByDay(**_numbers(one.total), day=one.day) for one in days]


REQUESTS = (NewCeiling,)
RESPONSES = (AiUsageResponse, AiUsageHistory, CostReport)
