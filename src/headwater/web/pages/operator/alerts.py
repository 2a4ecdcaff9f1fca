"""Incidents: what is open, on the health page and here, and what is over."""

from typing import Any

from litestar import Request, get
from litestar.di import NamedDependency
from litestar.response import Template

from headwater.accounts.types import Role
from headwater.alerts.store import incidents
from headwater.db import Database
from headwater.types import Clock
from headwater.web.refusals import refusals

AnyRequest = Request[Any, Any, Any]
PAST = 50


@get("/admin/alerts", role=Role.SUPER_ADMIN)
async def alerts(request: AnyRequest, database: NamedDependency[Database], clock: NamedDependency[Clock]) -> Template:
    """What is open and what is over."""
    async with database.transaction() as conn:
        board = await incidents.read_board(conn, past=PAST)
    context = {"alerts": board, "now": clock(), "user": request.user}
    return Template("operator/alerts_page.html", context=context)


@get("/admin/alerts/open", role=Role.SUPER_ADMIN, exception_handlers=refusals("Failed to load alerts"))
async def open_incidents(database: NamedDependency[Database], clock: NamedDependency[Clock]) -> Template:
    """What is open."""
    async with database.transaction() as conn:
        board = await incidents.read_board(conn, past=0)
    return Template("operator/alerts.html", context={"alerts": board, "now": clock()})


alert_pages = [alerts, open_incidents]
