"""From an error to a response: the one table of statuses, and the page that tells a person what happened."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from litestar import MediaType, Request, Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.response import Redirect, Template
from litestar.utils import get_enum_string_value

from headwater.asgi.problems import ADMIN_API, API, RETRY_AFTER_S, Fault, problem
from headwater.errors import (
    Conflict,
    DatabaseUnavailable,
    Forbidden,
    HeadwaterError,
    Invalid,
    NotFound,
    NotLoggedIn,
    QueryTimedOut,
    TooManyAttempts,
    Unavailable,
)
from headwater.observability.log import get_logger

log = get_logger()

AnyRequest = Request[Any, Any, Any]
AnyResponse = Response[Any] | Template | Redirect

LOGIN = "/auth/login"
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
    408: "Request timed out",
    409: "That is here already",
    413: "Too large",
    414: "Address too long",
    429: "Slow down a little",
    500: "Something broke",
    503: "Back in a moment",
}
API_DETAILS = {
    404: "Nothing stands at this address.",
    405: "This address does not take that kind of request.",
    413: "The body has more bytes than are read here.",
}
DETAILS = {
    404: "This page does not exist.",
    405: "This address does not take that kind of request.",
    413: "The request is larger than is accepted here.",
}

FAULTS_MAX = 100  # in one answer
TIMED_OUT = "This took the database too long, so it was cancelled. Try again later, or ask for less at once."


def status_of(error: HeadwaterError) -> int:
    """The HTTP status of a refusal."""
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def refuse(request: AnyRequest, error: HeadwaterError) -> AnyResponse:
    """A refusal of ours, with its own words."""
    status = status_of(error)
    if isinstance(error, NotLoggedIn) and is_page(request):
        return Redirect(LOGIN, status_code=303)
    if isinstance(error, NotLoggedIn) and not is_of_api(request):
        return respond(request, status, str(error), headers={"Location": LOGIN})
    if isinstance(error, QueryTimedOut):
        log.warning("request timed out in the database", path=request.scope["path"], error=error.cause)
        return respond(request, status, TIMED_OUT)
    if status == 503:
        # An outage of the database is logged as an error of its own, once, and not for each request.
        write = log.debug if isinstance(error, DatabaseUnavailable) else log.warning
        write("request refused", path=request.scope["path"], error=str(error))
        # Details of an outage (addresses, paths) are for the log, not for whoever asks.
        return respond(request, status, "Headwater cannot reach its database just now. It tries again by itself.")
    wait = error.retry_after.total_seconds() if isinstance(error, TooManyAttempts) else None
    return respond(
        request, status, str(error), headers={} if wait is None else {"Retry-After": str(max(1, round(wait)))}
    )


def refuse_http(request: AnyRequest, error: HTTPException) -> AnyResponse:
    """A refusal by the framework: no such path, wrong method, unreadable body."""
    if is_of_api(request) and isinstance(error, ValidationException):
        return problem(422, "Something that was sent cannot be used.", errors=_faults(error))
    details = API_DETAILS if is_of_api(request) else DETAILS
    detail = details.get(error.status_code, error.detail)
    return respond(request, error.status_code, detail, headers=error.headers)


def break_down(request: AnyRequest, error: Exception) -> AnyResponse:
    """A bug of ours: the log tells it all, the page nothing but that it happened."""
    log.error("request broke", path=request.scope["path"], exc_info=error)
    return respond(request, 500, "Headwater made a mistake. The log tells what happened.")


def refuse_depth(request: AnyRequest, _error: RecursionError) -> AnyResponse:
    """JSON that is nested so deeply that no reader follows."""
    return respond(request, 400, "The body is nested too deeply.")


def respond(request: AnyRequest, status: int, detail: str, *, headers: Mapping[str, str] | None = None) -> AnyResponse:
    """The same answer as a page for a browser and as JSON for a program."""
    sent = {**(headers or {}), **({"Retry-After": str(RETRY_AFTER_S)} if status == 503 else {})}
    if is_of_api(request):
        return problem(status, detail, headers=sent)
    if "text/html" not in request.headers.get("accept", "") or not has_pages(request):
        body = {"status": status, "detail": detail}
        return Response(body, status_code=status, headers=sent, media_type=MediaType.JSON)
    sent = {"Cache-Control": "no-store", **sent}  # what is missing for one person, or now, is not missing for ever
    page = {
        "status": status,
        "title": TITLES.get(status, "That did not work"),
        "detail": detail,
        # A page that was too slow does not reload itself: that would keep the database busy.
        "retry": RETRY_AFTER_S if status == 503 and detail != TIMED_OUT else None,
    }
    return Template("error.html", context=page, status_code=status, headers=sent)


def is_of_api(request: AnyRequest) -> bool:
    """A program asked for it, whatever it says it accepts."""
    return f"{request.scope['path']}/".startswith((f"{API}/", f"{ADMIN_API}/"))


def _faults(error: ValidationException) -> Sequence[Fault]:
    """What the framework found wrong, each with its place: `query.limit`, `body.urls.0`."""
    found = cast("Sequence[Mapping[str, str]]", error.extra if isinstance(error.extra, list) else ())[:FAULTS_MAX]
    return tuple(
        _fault(get_enum_string_value(fault.get("source", "body")), fault.get("key", ""), fault.get("message", ""))
        for fault in found
    )


def _fault(source: str, key: str, message: str) -> Fault:
    if source == "body" and message == "'data'":  # how the framework says that there is none
        return Fault("body", "it is empty")
    if message.startswith("Input should be a valid dictionary"):
        message = "a JSON object is needed"
    return Fault(f"{source}.{key}" if key else source, message.removeprefix("Value error, "))


def has_pages(request: AnyRequest) -> bool:
    """Whether the app has templates: a worker that serves its health alone has none."""
    return cast("Any", request.app).template_engine is not None


def is_page(request: AnyRequest) -> bool:
    """A browser opens a whole page, rather than a part of one through htmx."""
    return "text/html" in request.headers.get("accept", "") and "hx-request" not in request.headers
