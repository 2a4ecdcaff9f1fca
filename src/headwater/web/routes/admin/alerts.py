"""/admin/alerts: active and resolved alerts."""

from litestar import get
from litestar.response import Template

from headwater.accounts.types import Role
from headwater.alerts.store import incidents
from headwater.asgi.handlers import AnyRequest, Db, Now
from headwater.web.errors import error_handlers

PAST = 50


@get("/admin/alerts", role=Role.SUPER_ADMIN)
async def alerts(request: AnyRequest, database: Db, clock: Now) -> Template:
    """The page."""
    async with database.transaction() as conn:
        board = await incidents.read_board(conn, past=PAST)
    context = {"alerts": board, "now": clock(), "user": request.user}
    return Template("admin/alerts_page.html", context=context)


@get("/admin/alerts/open", role=Role.SUPER_ADMIN, exception_handlers=error_handlers("Failed to load alerts"))
async def active_alerts(database: Db, clock: Now) -> Template:
    """The active alerts; the health page includes them."""
    async with database.transaction() as conn:
        board = await incidents.read_board(conn, past=0)
    return Template("admin/alerts.html", context={"alerts": board, "now": clock()})


alert_pages = [alerts, active_alerts]
