"""The dashboard: the page into which the list of feeds and the summary are loaded."""

from litestar import get
from litestar.exceptions import ValidationException
from litestar.params import FromQuery
from litestar.response import Template

from headwater.analytics import store as analytics
from headwater.asgi.errors import AnyResponse, respond
from headwater.asgi.handlers import AnyRequest, Db
from headwater.db import Database
from headwater.errors import Unavailable
from headwater.library.types import FeedsQuery
from headwater.observability.log import get_logger
from headwater.web.consent import opts_out
from headwater.web.routes.feeds import read_query

log = get_logger()


BROKEN = "Failed to load dashboard. Please refresh the page."  # seed 002


def dashboard_error(request: AnyRequest, error: Exception) -> AnyResponse:
    """The error message of seed 002."""
    if not isinstance(error, Unavailable):
        log.error("request broke", path=request.url.path, exc_info=error)
    return respond(request, 500, BROKEN)


@get("/dashboard", exception_handlers={Unavailable: dashboard_error, Exception: dashboard_error})
async def dashboard(
    request: AnyRequest,
    database: Db,
    search: FromQuery[str] = "",
    status: FromQuery[str] = "all",
    page: FromQuery[str] = "1",
) -> Template:
    """The page; its parts are loaded by htmx."""
    context = {"user": request.user, "asks_consent": await _asks_consent(request, database)}
    try:
        query = read_query(search, status, page)
    except ValidationException:
        wrong = {"query": FeedsQuery(), "error": "Invalid filter parameters"}
        return Template("dashboard.html", context=context | wrong, status_code=400)
    return Template("dashboard.html", context=context | {"query": query})


async def _asks_consent(request: AnyRequest, database: Database) -> bool:
    """Whether to ask: not after an answer, and not if the browser opts out."""
    if opts_out(request):
        return False
    async with database.as_user(request.user.id) as conn:
        return await analytics.find_answer(conn) is None
