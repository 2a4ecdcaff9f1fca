"""/admin/api/ai-usage: calls to language models, their cost and the monthly ceiling. For super_admins."""

from datetime import timedelta
from typing import Annotated

from litestar import Router, get, patch
from litestar.di import NamedDependency
from litestar.params import JSONBody, PathParameter, QueryParameter

from headwater.ai import store
from headwater.ai.client import AiClient
from headwater.ai.decide import month_of
from headwater.ai.report import days_of, read_month
from headwater.ai.types import AiOptions
from headwater.api import ai_schemas as schemas
from headwater.api.schemas import field_error
from headwater.asgi.handlers import Call
from headwater.audit.types import AuditAction
from headwater.errors import Invalid

Options = NamedDependency[AiOptions]
Months = Annotated[int, QueryParameter(description="Number of months, with this one.", ge=1, le=120)]
Days = Annotated[int, QueryParameter(description="Number of days, with today.", ge=1, le=366)]
PathMonth = Annotated[str, PathParameter(description="This month or one of the next twelve, such as 2026-11.")]


@get("/", operation_id="showAiUsage")
async def usage(call: Call, ai_options: Options) -> schemas.AiUsageResponse:
    """Show the usage of this month, and its budget."""
    return schemas.usage_response(await AiClient(call.database, call.clock, ai_options).report())


@get("/current-month", operation_id="showAiUsageOfCurrentMonth")
async def current_month(call: Call, ai_options: Options) -> schemas.AiUsageResponse:
    """Show the same under another name."""
    return schemas.usage_response(await AiClient(call.database, call.clock, ai_options).report())


@get("/history", operation_id="showAiUsageHistory")
async def history(call: Call, ai_options: Options, months: Months = 12, days: Days = 30) -> schemas.AiUsageHistory:
    """Show past months and days."""
    today = call.now.date()
    first_day, first_month = today - timedelta(days=days - 1), month_of(call.now)
    for _ in range(months - 1):
        first_month = (first_month - timedelta(days=1)).replace(day=1)
    async with call.database.transaction() as conn:
        found = await store.list_months(conn, since=first_month)
        lines = await store.list_usage(conn, since=first_day, before=today + timedelta(days=1))
    return schemas.history_response(found, days_of(lines, first_day, today), ai_options.ceiling_micros)


@get("/cost-report", operation_id="showAiCostReport")
async def cost_report(call: Call, ai_options: Options) -> schemas.CostReport:
    """Show the cost of this month by day, purpose and model, and a forecast."""
    return schemas.cost_response(await AiClient(call.database, call.clock, ai_options).report())


@patch("/{month:str}/budget", operation_id="changeAiBudget")
async def change_budget(
    call: Call, ai_options: Options, month: PathMonth, data: JSONBody[schemas.NewCeiling]
) -> schemas.AiUsageResponse:
    """Change the ceiling of a month. It applies to the next call."""
    try:
        changed = read_month(month, call.now)
    except Invalid as error:
        raise field_error("path", "month", str(error)) from error
    async with call.database.transaction() as conn:
        before = await store.set_ceiling(conn, month=changed, ceiling_micros=data.ceiling_micros)
        name, after = f"{changed:%Y-%m}", data.ceiling_micros
        await call.audit(conn, AuditAction.AI_BUDGET_CHANGED, name, from_micros=before, to_micros=after)
    client = AiClient(call.database, call.clock, ai_options)
    return schemas.usage_response(await client.report(changed))


ai_usage_routes = Router("/", route_handlers=[usage, current_month, history, cost_report, change_budget])
