"""From an error to a response: the one table of statuses, and the page that tells a person what happened."""

from typing import Any

from litestar import MediaType, Request, Response
from litestar.exceptions import HTTPException
from litestar.response import Redirect, Template

from headwater.errors import (
    Conflict,
    Forbidden,
    HeadwaterError,
    Invalid,
    NotFound,
    NotLoggedIn,
    TooManyAttempts,
    Unavailable,
)
from headwater.observability.log import get_logger

log = get_logger()

AnyRequest = Request[Any, Any, Any]
AnyResponse = Response[Any] | Template | Redirect

RETRY_AFTER_S = 5
STATUSES: dict[type[HeadwaterError], int] = {
    Invalid: 400,
    NotLoggedIn: 401,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    TooManyAttempts: 429,
    Unavailable: 503,
}
TITLES = {
    400: "That cannot be used",
    401: "Who is asking?",
    403: "That is not for you",
    404: "There is nothing here",
    405: "That cannot be done here",
    409: "That is here already",
    429: "Slow down a little",
    500: "Something broke",
    503: "Back in a moment",
}


def status_of(error: HeadwaterError) -> int:
    """The HTTP status of a refusal."""
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def refuse(request: AnyRequest, error: HeadwaterError) -> AnyResponse:
    """A refusal of ours, with its own words."""
    status = status_of(error)
    if isinstance(error, NotLoggedIn) and is_page(request):
        return Redirect("/auth/login", status_code=303)
    if status == 503:
        log.warning("request refused", path=request.url.path, error=str(error))
        # Details of an outage (addresses, paths) are for the log, not for whoever asks.
        return respond(request, status, "Headwater cannot reach its database just now. It tries again by itself.")
    return respond(request, status, str(error))


def refuse_http(request: AnyRequest, error: HTTPException) -> AnyResponse:
    """A refusal by the framework: no such path, wrong method, unreadable body."""
    details = {404: "This page does not exist.", 405: "This address does not take that kind of request."}
    return respond(request, error.status_code, details.get(error.status_code, error.detail))


def break_down(request: AnyRequest, error: Exception) -> AnyResponse:
    """A bug of ours: the log tells it all, the page nothing but that it happened."""
    log.error("request broke", path=request.url.path, exc_info=error)
    return respond(request, 500, "Headwater made a mistake. The log tells what happened.")


def respond(request: AnyRequest, status: int, detail: str) -> AnyResponse:
    """The same answer as a page for a browser and as JSON for a program."""
    headers = {"Retry-After": str(RETRY_AFTER_S)} if status == 503 else {}
    if "text/html" not in request.headers.get("accept", ""):
        body = {"status": status, "detail": detail}
        return Response(body, status_code=status, headers=headers, media_type=MediaType.JSON)
    page = {
        "status": status,
        "title": TITLES.get(status, "That did not work"),
        "detail": detail,
        "retry": RETRY_AFTER_S if status == 503 else None,
    }
    return Template("error.html", context=page, status_code=status, headers=headers)


def is_page(request: AnyRequest) -> bool:
    """A browser opens a whole page, rather than a part of one through htmx."""
    return "text/html" in request.headers.get("accept", "") and "hx-request" not in request.headers
