"""The dashboard: the frame that the list of feeds and the summary are loaded into."""

from typing import Any

from litestar import Request, get
from litestar.di import NamedDependency
from litestar.exceptions import ValidationException
from litestar.params import FromQuery
from litestar.response import Template

from headwater.analytics import store as analytics
from headwater.asgi.errors import AnyResponse, respond
from headwater.db import Database
from headwater.errors import Unavailable
from headwater.library.types import FeedsQuery
from headwater.observability.log import get_logger
from headwater.web.consent import objects_to_counting
from headwater.web.pages.feeds import read_query

log = get_logger()

AnyRequest = Request[Any, Any, Any]


BROKEN = "Failed to load dashboard. Please refresh the page."  # seed 002


def break_down(request: AnyRequest, error: Exception) -> AnyResponse:
    """The words of seed 002, whether it is our fault or the database's."""
    if not isinstance(error, Unavailable):
        log.error("request broke", path=request.url.path, exc_info=error)
    return respond(request, 500, BROKEN)


@get("/dashboard", exception_handlers={Unavailable: break_down, Exception: break_down})
async def dashboard(
    request: AnyRequest,
    database: NamedDependency[Database],
    search: FromQuery[str] = "",
    status: FromQuery[str] = "all",
    page: FromQuery[str] = "1",
) -> Template:
    """The page itself; its parts ask for themselves."""
    context = {"user": request.user, "asks_consent": await _asks_consent(request, database)}
    try:
        query = read_query(search, status, page)
    except ValidationException:
        wrong = {"query": FeedsQuery(), "error": "Invalid filter parameters"}
        return Template("dashboard.html", context=context | wrong, status_code=400)
    return Template("dashboard.html", context=context | {"query": query})


async def _asks_consent(request: AnyRequest, database: Database) -> bool:
    """Once: who has answered, or whose browser answers for them, is left in peace."""
    if objects_to_counting(request):
        return False
    async with database.as_user(request.user.id) as conn:
        return await analytics.find_answer(conn) is None
