"""/admin/ai-usage: what calls to language models cost, and the ceiling of the month."""

from dataclasses import dataclass
from typing import Any

from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import URLEncodedBody
from litestar.response import Redirect, Template

from headwater.accounts.types import Role
from headwater.ai import store
from headwater.ai.client import AiClient
from headwater.ai.report import read_dollars, read_month
from headwater.ai.types import AiOptions
from headwater.asgi.handlers import Call, CallContext
from headwater.audit.types import AuditAction
from headwater.web.errors import fragment
from headwater.web.format import dollars
from headwater.web.plots import costs_over_time

Options = NamedDependency[AiOptions]


@dataclass(frozen=True, slots=True)
class CeilingForm:
    """Dollars; empty: as the settings say. The month is that of the page, which may have been open since it ended."""

    month: str = ""
    dollars: str = ""


@get("/admin/ai-usage", role=Role.SUPER_ADMIN)
async def ai_usage(call: Call, ai_options: Options) -> Template:
    return call.page("admin/ai_usage.html", **await _values(call, ai_options))


@fragment(get, "/admin/ai-usage/numbers", "Failed to load the usage", role=Role.SUPER_ADMIN)
async def numbers(call: Call, ai_options: Options) -> Template:
    """The numbers, which are loaded again every minute."""
    return call.page("admin/ai_usage_numbers.html", **await _values(call, ai_options))


@fragment(
    post, "/admin/ai-usage/ceiling", "Failed to change the ceiling", place="ceiling-errors", role=Role.SUPER_ADMIN
)
async def set_ceiling(call: Call, ai_options: Options, data: URLEncodedBody[CeilingForm]) -> Template | Redirect:
    """Change the ceiling of a month. It applies to the next call. Raises Invalid."""
    month = read_month(data.month, call.now)
    ceiling = read_dollars(data.dollars) if data.dollars.strip() else None
    async with call.database.transaction() as conn:
        before = await store.set_ceiling(conn, month=month, ceiling_micros=ceiling)
        if before != ceiling:
            name = f"{month:%Y-%m}"
            await call.audit(conn, AuditAction.AI_BUDGET_CHANGED, name, from_micros=before, to_micros=ceiling)
    if not call.is_htmx:
        return Redirect("/admin/ai-usage", status_code=303)
    was, now = (ai_options.ceiling_micros if one is None else one for one in (before, ceiling))
    notice = f"The ceiling of {month:%B %Y} is {dollars(now)} now. It was {dollars(was)}."
    return call.page("admin/ai_usage_numbers.html", **await _values(call, ai_options), notice=notice)


async def _values(call: CallContext, options: AiOptions) -> dict[str, Any]:
    report = await AiClient(call.database, call.clock, options).report()
    return {
        "report": report, "budget": report.budget, "plot": costs_over_time(report), "has_key": bool(options.api_key),
        "default": options.ceiling_micros,
    }  # fmt: skip
