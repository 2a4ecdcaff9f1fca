"""Maps errors to responses: the table of status codes, the error page and the JSON problem (RFC 9457)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from litestar import MediaType, Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.response import Redirect, Template
from litestar.utils import get_enum_string_value

from headwater import errors as kinds
from headwater.asgi.handlers import AnyRequest
from headwater.errors import HeadwaterError
from headwater.observability.log import get_logger

log = get_logger()

AnyResponse = Response[Any] | Template | Redirect

API = "/api"
ADMIN_API = "/admin/api"
DOCUMENTATION = f"{API}/docs"
MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 5
LOGIN = "/auth/login"
STATUSES: dict[type[HeadwaterError], int] = {
    kinds.Invalid: 400, kinds.NotLoggedIn: 401, kinds.Forbidden: 403, kinds.NotFound: 404, kinds.Conflict: 409,
    kinds.TooManyAttempts: 429, kinds.Unavailable: 503,
}  # fmt: skip
# Titles of error pages; the others are those of the API.
PAGE_TITLES = {400: "Invalid request", 401: "Login required", 403: "Access denied", 404: "Page not found"}
# Messages of the framework's errors, of pages and of the API.
WRONG_METHOD = "This URL does not support this method."
DETAILS = {404: "This page does not exist.", 405: WRONG_METHOD, 413: "The request is too large."}
API_DETAILS = {404: "There is no resource at this URL.", 405: WRONG_METHOD, 413: "The body is too large."}
FAULTS_MAX = 100  # per response
TIMED_OUT = "The database query took too long and was cancelled. Try again later, or request less at once."


@dataclass(frozen=True, slots=True)
class Fault:
    where: str
    problem: str


@dataclass(frozen=True, slots=True)
class Problem:
    type: str
    title: str
    status: int
    detail: str
    advice: str
    errors: Sequence[Fault] = ()


@dataclass(frozen=True, slots=True)
class ProblemType:
    """What all problems of one status share. `name` is the anchor in the documentation."""

    name: str
    title: str
    advice: str


PROBLEM_TYPES: Mapping[int, ProblemType] = {
    400: ProblemType("unreadable", "Malformed request", "Send the request as the documentation shows."),
    401: ProblemType(
        "unauthorized",
        "Missing or invalid token",
        "Send the header `Authorization: Bearer TOKEN`, with a token from your account page or HEADWATER_API_TOKEN.",
    ),
    403: ProblemType(
        "forbidden", "Permission denied", "Use a token with the required scope, of a user with the required role."
    ),
    404: ProblemType("not-found", "Not found", "Check the URL; the documentation lists all of them."),
    405: ProblemType("wrong-method", "Method not allowed", "Use one of the methods in the Allow header."),
    408: ProblemType("timeout", "Request timed out", "Send it again, without pauses."),
    409: ProblemType("conflict", "Conflict", "Check the current state, then try again."),
    413: ProblemType("too-large", "Body too large", "Split it into smaller requests."),
    414: ProblemType("address-too-long", "URL too long", "Send fewer or shorter parameters."),
    415: ProblemType("not-json", "Unsupported media type", "Send JSON with `Content-Type: application/json`."),
    422: ProblemType("invalid", "Validation failed", "Correct what `errors` lists, then send it again."),
    429: ProblemType("too-many", "Too many requests", "Wait for the number of seconds in Retry-After."),
    500: ProblemType("broken", "Internal server error", "Report it to the administrator; the log has the details."),
    503: ProblemType("unavailable", "Service unavailable", f"Try again in {RETRY_AFTER_S} seconds (Retry-After)."),
}


def status_of(error: HeadwaterError) -> int:
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def retry_header(error: HeadwaterError) -> dict[str, str]:
    if not isinstance(error, kinds.TooManyAttempts):
        return {}
    return {"Retry-After": str(max(1, math.ceil(error.retry_after.total_seconds())))}


def respond_to_error(request: AnyRequest, error: HeadwaterError) -> AnyResponse:
    status = status_of(error)
    if isinstance(error, kinds.NotLoggedIn) and is_page_request(request):
        return Redirect(LOGIN, status_code=303)
    if isinstance(error, kinds.NotLoggedIn) and not is_api_request(request):
        return respond(request, status, str(error), headers={"Location": LOGIN})
    if isinstance(error, kinds.QueryTimedOut):
        log.warning("request timed out in the database", path=request.scope["path"], error=error.cause)
        return respond(request, status, TIMED_OUT)
    if status == 503:
        # An outage of the database is logged as an error of its own, once, and not for each request.
        write = log.debug if isinstance(error, kinds.DatabaseUnavailable) else log.warning
        write("request refused", path=request.scope["path"], error=str(error))
        # Details of an outage (addresses, paths) belong in the log, not in a response.
        return respond(request, status, "The database is unavailable. Headwater reconnects automatically.")
    return respond(request, status, str(error), headers=retry_header(error))


def respond_to_http_error(request: AnyRequest, error: HTTPException) -> AnyResponse:
    """The response to an error of the framework: unknown path, wrong method, malformed body."""
    if is_api_request(request) and isinstance(error, ValidationException):
        return problem(422, "The request is invalid.", errors=_faults(error))
    details = API_DETAILS if is_api_request(request) else DETAILS
    detail, headers = details.get(error.status_code, error.detail), error.headers or {}
    if "GET" in (allowed := headers.get("allow", "")):
        headers = {**headers, "allow": f"{allowed}, HEAD"}  # answered wherever GET is: guard.py
    return respond(request, error.status_code, detail, headers=headers)


def respond_to_bug(request: AnyRequest, error: Exception) -> AnyResponse:
    """The response to an unexpected exception; the details are logged, not shown."""
    log.error("request broke", path=request.scope["path"], exc_info=error)
    return respond(request, 500, "Internal error. The log has the details.")


def respond_to_deep_json(request: AnyRequest, _error: RecursionError) -> AnyResponse:
    return respond(request, 400, "The body is nested too deeply.")


def respond(request: AnyRequest, status: int, detail: str, *, headers: Mapping[str, str] | None = None) -> AnyResponse:
    """An error as a page for a browser, as JSON for a program."""
    sent = {**(headers or {}), **({"Retry-After": str(RETRY_AFTER_S)} if status == 503 else {})}
    if is_api_request(request):
        return problem(status, detail, headers=sent)
    has_templates = cast("Any", request.app).template_engine is not None  # not in a worker that serves only its health
    if "text/html" not in request.headers.get("accept", "") or not has_templates:
        body = {"status": status, "detail": detail}
        return Response(body, status_code=status, headers=sent, media_type=MediaType.JSON)
    sent = {"Cache-Control": "no-store", **sent}  # another user, or a later request, may get a page
    title = PAGE_TITLES.get(status) or (PROBLEM_TYPES[status].title if status in PROBLEM_TYPES else "Request failed")
    # A page that was too slow does not reload itself: that would keep the database busy.
    retry = RETRY_AFTER_S if status == 503 and detail != TIMED_OUT else None
    page = {"status": status, "title": title, "detail": detail, "retry": retry}
    return Template("error.html", context=page, status_code=status, headers=sent)


def problem(
    status: int, detail: str, *, headers: Mapping[str, str] | None = None, errors: Sequence[Fault] = ()
) -> Response[Problem]:
    type_ = PROBLEM_TYPES.get(status, PROBLEM_TYPES[500] if status >= 500 else PROBLEM_TYPES[400])
    body = Problem(f"{DOCUMENTATION}#{type_.name}", type_.title, status, detail, type_.advice, errors)
    sent = {"Cache-Control": "no-store", **(headers or {})}
    return Response(body, status_code=status, headers=sent, media_type=MEDIA_TYPE)


def is_api_request(request: AnyRequest) -> bool:
    """By the path, whatever the Accept header says."""
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


def is_page_request(request: AnyRequest) -> bool:
    """Whether a browser requests a whole page, rather than a fragment through htmx."""
    return "text/html" in request.headers.get("accept", "") and "hx-request" not in request.headers
