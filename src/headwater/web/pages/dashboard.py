"""The dashboard: the frame that the list of feeds and the summary are loaded into."""

from typing import Any

from litestar import Request, get
from litestar.di import NamedDependency
from litestar.exceptions import ValidationException
from litestar.params import FromQuery
from litestar.response import Template

from headwater.analytics import store as analytics
from headwater.db import Database
from headwater.library.types import FeedsQuery
from headwater.web.consent import objects_to_counting
from headwater.web.pages.feeds import read_query

AnyRequest = Request[Any, Any, Any]


@get("/dashboard")
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
