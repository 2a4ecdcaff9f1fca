"""Maps errors to responses: the table of status codes, the error page and the JSON problem."""

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
    400: "Invalid request",
    401: "Login required",
    403: "Access denied",
    404: "Page not found",
    405: "Method not allowed",
    408: "Request timed out",
    409: "Conflict",
    413: "Too large",
    414: "URL too long",
    429: "Too many requests",
    500: "Server error",
    503: "Service unavailable",
}
API_DETAILS = {
    404: "There is no resource at this URL.",
    405: "This URL does not support this method.",
    413: "The body is too large.",
}
DETAILS = {
    404: "This page does not exist.",
    405: "This URL does not support this method.",
    413: "The request is too large.",
}

FAULTS_MAX = 100  # per response
TIMED_OUT = "The database query took too long and was cancelled. Try again later, or request less at once."


def status_of(error: HeadwaterError) -> int:
    """The HTTP status of an error."""
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def respond_to_error(request: AnyRequest, error: HeadwaterError) -> AnyResponse:
    """The response to a HeadwaterError, with its own message."""
    status = status_of(error)
    if isinstance(error, NotLoggedIn) and is_page_request(request):
        return Redirect(LOGIN, status_code=303)
    if isinstance(error, NotLoggedIn) and not is_api_request(request):
        return respond(request, status, str(error), headers={"Location": LOGIN})
    if isinstance(error, QueryTimedOut):
        log.warning("request timed out in the database", path=request.scope["path"], error=error.cause)
        return respond(request, status, TIMED_OUT)
    if status == 503:
        # An outage of the database is logged as an error of its own, once, and not for each request.
        write = log.debug if isinstance(error, DatabaseUnavailable) else log.warning
        write("request refused", path=request.scope["path"], error=str(error))
        # Details of an outage (addresses, paths) belong in the log, not in a response.
        return respond(request, status, "The database is unavailable. Headwater reconnects automatically.")
    wait = error.retry_after.total_seconds() if isinstance(error, TooManyAttempts) else None
    return respond(
        request, status, str(error), headers={} if wait is None else {"Retry-After": str(max(1, round(wait)))}
    )


def respond_to_http_error(request: AnyRequest, error: HTTPException) -> AnyResponse:
    """The response to an error of the framework: unknown path, wrong method, malformed body."""
    if is_api_request(request) and isinstance(error, ValidationException):
        return problem(422, "The request is invalid.", errors=_faults(error))
    details = API_DETAILS if is_api_request(request) else DETAILS
    detail = details.get(error.status_code, error.detail)
    return respond(request, error.status_code, detail, headers=error.headers)


def respond_to_bug(request: AnyRequest, error: Exception) -> AnyResponse:
    """The response to an unexpected exception; the details are logged, not shown."""
    log.error("request broke", path=request.scope["path"], exc_info=error)
    return respond(request, 500, "Internal error. The log has the details.")


def respond_to_deep_json(request: AnyRequest, _error: RecursionError) -> AnyResponse:
    """The response to JSON that is nested too deeply to parse."""
    return respond(request, 400, "The body is nested too deeply.")


def respond(request: AnyRequest, status: int, detail: str, *, headers: Mapping[str, str] | None = None) -> AnyResponse:
    """An error as a page for a browser, as JSON for a program."""
    sent = {**(headers or {}), **({"Retry-After": str(RETRY_AFTER_S)} if status == 503 else {})}
    if is_api_request(request):
        return problem(status, detail, headers=sent)
    if "text/html" not in request.headers.get("accept", "") or not has_pages(request):
        body = {"status": status, "detail": detail}
        return Response(body, status_code=status, headers=sent, media_type=MediaType.JSON)
    sent = {"Cache-Control": "no-store", **sent}  # another user, or a later request, may get a page
    page = {
        "status": status,
        "title": TITLES.get(status, "Request failed"),
        "detail": detail,
        # A page that was too slow does not reload itself: that would keep the database busy.
        "retry": RETRY_AFTER_S if status == 503 and detail != TIMED_OUT else None,
    }
    return Template("error.html", context=page, status_code=status, headers=sent)


def is_api_request(request: AnyRequest) -> bool:
    """Whether the path belongs to the API, whatever the Accept header says."""
    return f"{request.scope['path']}/".startswith((f"{API}/", f"{ADMIN_API}/"))


def _faults(error: ValidationException) -> Sequence[Fault]:
    """The validation errors of the framework with their locations: `query.limit`, `body.urls.0`."""
    found = cast("Sequence[Mapping[str, str]]", error.extra if isinstance(error.extra, list) else ())[:FAULTS_MAX]
    return tuple(
        _fault(get_enum_string_value(fault.get("source", "body")), fault.get("key", ""), fault.get("message", ""))
        for fault in found
    )


def _fault(source: str, key: str, message: str) -> Fault:
    if source == "body" and message == "'data'":  # the framework's message for a missing body
        return Fault("body", "the body is empty")
    if message.startswith("Input should be a valid dictionary"):
        message = "a JSON object is required"
    return Fault(f"{source}.{key}" if key else source, message.removeprefix("Value error, "))


def has_pages(request: AnyRequest) -> bool:
    """Whether the app has templates: a worker that serves its health alone has none."""
    return cast("Any", request.app).template_engine is not None


def is_page_request(request: AnyRequest) -> bool:
    """Whether a browser requests a whole page, rather than a fragment through htmx."""
    return "text/html" in request.headers.get("accept", "") and "hx-request" not in request.headers
