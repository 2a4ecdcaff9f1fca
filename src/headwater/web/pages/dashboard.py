"""The dashboard: the frame that the list of feeds and the summary are loaded into."""

from typing import Any

from litestar import Request, get
from litestar.exceptions import ValidationException
from litestar.params import FromQuery
from litestar.response import Template

from headwater.library.types import FeedsQuery
from headwater.web.pages.feeds import read_query

AnyRequest = Request[Any, Any, Any]


@get("/dashboard", sync_to_thread=False)
def dashboard(
    request: AnyRequest, search: FromQuery[str] = "", status: FromQuery[str] = "all", page: FromQuery[str] = "1"
) -> Template:
    """The page itself; its parts ask for themselves."""
    try:
        query = read_query(search, status, page)
    except ValidationException:
        context = {"user": request.user, "query": FeedsQuery(), "error": "Invalid filter parameters"}
        return Template("dashboard.html", context=context, status_code=400)
    return Template("dashboard.html", context={"user": request.user, "query": query})
