"""Maps errors to responses: the table of status codes, the error page and the JSON problem (RFC 9457)."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlencode

from litestar import MediaType, Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.response import Redirect, Template
from litestar.utils import get_enum_string_value

from headwater import errors as kinds
from headwater.asgi.handlers import AnyRequest
from headwater.errors import HeadwaterError
from headwater.observability.log import get_logger
from headwater.urls import MASK

log = get_logger()

AnyResponse = Response[Any] | Template | Redirect

API = "/api"
ADMIN_API = "/admin/api"
DOCUMENTATION = f"{API}/docs"
MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 5
LOGIN = "/auth/login"
AFTER_LOGIN = re.compile(r"/later\?[!-~]{1,8000}")  # what apps and bookmarks open: no other page, nor site
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
SECRET_PATHS = ("/view-feeds/", "/channel-feeds/", "/unsubscribe/")  # what follows reads or changes without a login
TIMED_OUT = "The database query took too long and was cancelled. Try again later, or request less at once."


@dataclass(frozen=True, slots=True)
class Fault:
    where: str
    problem: str
    code: str = "invalid_value"


@dataclass(frozen=True, slots=True)
class Problem:
    type: str
    title: str
    status: int
    code: str
    detail: str
    advice: str
    errors: Sequence[Fault] = ()


@dataclass(frozen=True, slots=True)
class ProblemType:
    """What all problems of one status share. `name` is the anchor in the documentation, `code` that of a problem
    without a more exact one."""

    name: str
    code: str
    title: str
    advice: str


PROBLEM_TYPES: Mapping[int, ProblemType] = {
    400: ProblemType(
        "unreadable", "malformed_request", "Malformed request", "Send the request as the documentation shows."
    ),
    401: ProblemType(
        "unauthorized",
        "unauthorized",
        "Missing or invalid token",
        "Send the header `Authorization: Bearer TOKEN`, with a token from your account page or HEADWATER_API_TOKEN.",
    ),
    403: ProblemType(
        "forbidden",
        "forbidden",
        "Permission denied",
        "Use a token with the required scope, of a user with the required role.",
    ),
    404: ProblemType("not-found", "not_found", "Not found", "Check the URL; the documentation lists all of them."),
    405: ProblemType(
        "wrong-method", "method_not_allowed", "Method not allowed", "Use one of the methods in the Allow header."
    ),
    408: ProblemType("timeout", "request_timeout", "Request timed out", "Send it again, without pauses."),
    409: ProblemType("conflict", "conflict", "Conflict", "Check the current state, then try again."),
    413: ProblemType("too-large", "body_too_large", "Body too large", "Split it into smaller requests."),
    414: ProblemType("address-too-long", "url_too_long", "URL too long", "Send fewer or shorter parameters."),
    415: ProblemType(
        "not-json",
        "unsupported_media_type",
        "Unsupported media type",
        "Send JSON with `Content-Type: application/json`.",
    ),
    422: ProblemType(
        "invalid", "validation_failed", "Validation failed", "Correct what `errors` lists, then send it again."
    ),
    429: ProblemType("too-many", "rate_limited", "Too many requests", "Wait for the number of seconds in Retry-After."),
    500: ProblemType(
        "broken", "internal_error", "Internal server error", "Report it to the administrator; the log has the details."
    ),
    503: ProblemType(
        "unavailable",
        "service_unavailable",
        "Service unavailable",
        f"Try again in {RETRY_AFTER_S} seconds (Retry-After).",
    ),
}


# Codes of errors that a client may handle by themselves; all others have the code of their status.
CODES: Mapping[type[HeadwaterError], str] = {
    kinds.QuotaReached: "quota_reached", kinds.TooManyRequests: "too_many_in_progress",
    kinds.SourceNotFound: "source_not_found", kinds.UrlNotFound: "url_not_found",
    kinds.ArticleNotFound: "article_not_found", kinds.StoryNotFound: "story_not_found",
    kinds.RuleNotFound: "rule_not_found", kinds.SubmissionNotFound: "suggestion_not_found",
    kinds.ChannelNotFound: "channel_not_found", kinds.ChannelExists: "channel_exists",
    kinds.TooManyChannels: "too_many_channels", kinds.MatchesEverything: "matches_everything",
    kinds.SourceExists: "source_exists", kinds.RuleExists: "rule_exists", kinds.TooManyRules: "too_many_rules",
    kinds.TooManyReaderRules: "too_many_rules",
    kinds.TooManySaved: "too_many_saved",
    kinds.SourceIsOff: "source_disabled", kinds.NotApproved: "not_approved", kinds.NoSubscribers: "no_subscribers",
    kinds.NothingToPoll: "no_feed", kinds.RetryRefused: "retry_refused", kinds.HostBusy: "host_busy",
    kinds.FeedTaken: "feed_taken", kinds.AlreadyDecided: "already_decided", kinds.InvalidUrl: "invalid_url",
    kinds.InvalidProposal: "invalid_feed", kinds.QueryInvalid: "invalid_query", kinds.QueryTimedOut: "query_timed_out",
    kinds.DatabaseUnavailable: "database_unavailable",
}  # fmt: skip
# Codes of problems that have no error of their own: of tokens, and of single values (in `errors`).
OTHER_CODES = frozenset({
    "missing_token", "invalid_token", "insufficient_scope", "insufficient_role",
    "invalid_value", "required", "unknown_field", "unknown_parameter", "blocked_address",
    "response_too_large",
})  # fmt: skip
_CODE_OF_MESSAGE = {
    "Field required": "required", "Extra inputs are not permitted": "unknown_field",
    "unknown parameter": "unknown_parameter",
}  # fmt: skip


def every_code() -> set[str]:
    return {*CODES.values(), *OTHER_CODES, *(one.code for one in PROBLEM_TYPES.values())}


def code_of(error: HeadwaterError) -> str:
    """The code of an error, or of the nearest kind above it that has one."""
    return _exact_code(error) or PROBLEM_TYPES[status_of(error)].code


def value_code(error: HeadwaterError) -> str:
    """The code of an error about one value of a request."""
    return _exact_code(error) or "invalid_value"


def _exact_code(error: HeadwaterError) -> str | None:
    return next((CODES[kind] for kind in type(error).__mro__ if kind in CODES), None)


def status_of(error: HeadwaterError) -> int:
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def logged_path(path: str) -> str:
    """A path as the log may have it: the secret in an address of a feed, or in a mailed link, is left out."""
    found = next((one for one in SECRET_PATHS if path.startswith(one)), None)
    return path if found is None else f"{found}{MASK}"


def retry_header(error: HeadwaterError) -> dict[str, str]:
    match error:
        case kinds.TooManyAttempts():
            return {"Retry-After": str(max(1, math.ceil(error.retry_after.total_seconds())))}
        case kinds.Unavailable():
            return {"Retry-After": str(RETRY_AFTER_S)}
        case _:
            return {}


def _login_url(request: AnyRequest) -> str:
    """Where to log in. What an app or a bookmark shared is not lost by it."""
    back = f"{request.scope['path']}?{request.scope['query_string'].decode('latin-1')}"
    return f"{LOGIN}?{urlencode({'back': back})}" if AFTER_LOGIN.fullmatch(back) else LOGIN


def respond_to_error(request: AnyRequest, error: HeadwaterError) -> AnyResponse:
    status = status_of(error)
    if isinstance(error, kinds.NotLoggedIn) and is_page_request(request):
        return Redirect(_login_url(request), status_code=303)
    if isinstance(error, kinds.NotLoggedIn) and not is_api_request(request):
        return respond(request, status, str(error), headers={"Location": LOGIN})
    if isinstance(error, kinds.QueryTimedOut):
        log.warning("request timed out in the database", path=logged_path(request.scope["path"]), error=error.cause)
        return respond(request, status, TIMED_OUT, code=code_of(error))
    if status == 503:
        # An outage of the database is logged as an error of its own, once, and not for each request.
        write = log.debug if isinstance(error, kinds.DatabaseUnavailable) else log.warning
        write("request refused", path=logged_path(request.scope["path"]), error=str(error))
        # Details of an outage (addresses, paths) belong in the log, not in a response.
        text = "The database is unavailable. Headwater reconnects automatically."
        return respond(request, status, text, code=code_of(error))
    return respond(request, status, str(error), headers=retry_header(error), code=code_of(error))


def respond_to_http_error(request: AnyRequest, error: HTTPException) -> AnyResponse:
    """The response to an error of the framework: unknown path, wrong method, malformed body."""
    if is_api_request(request) and isinstance(error, ValidationException):
        return problem(422, "The request is invalid.", errors=_faults(error))
    details = API_DETAILS if is_api_request(request) else DETAILS
    detail, headers = details.get(error.status_code, error.detail), error.headers or {}
    if "GET" in (allowed := headers.get("allow", "")):
        headers = {**headers, "allow": f"{allowed}, HEAD"}  # answered wherever GET is: guard.py
    code = error.extra.get("code", "") if isinstance(error.extra, dict) else ""
    return respond(request, error.status_code, detail, headers=headers, code=code)


def respond_to_bug(request: AnyRequest, error: Exception) -> AnyResponse:
    """The response to an unexpected exception; the details are logged, not shown."""
    log.error("request broke", path=logged_path(request.scope["path"]), exc_info=error)
    return respond(request, 500, "Internal error. The log has the details.")


def respond_to_deep_json(request: AnyRequest, _error: RecursionError) -> AnyResponse:
    return respond(request, 400, "The body is nested too deeply.")


def respond_to_wrong_encoding(request: AnyRequest, _error: UnicodeDecodeError) -> AnyResponse:
    return respond(request, 400, "The body is not UTF-8.")


def respond(
    request: AnyRequest, status: int, detail: str, *, headers: Mapping[str, str] | None = None, code: str = ""
) -> AnyResponse:
    """An error as a page for a browser, as JSON for a program."""
    sent = {**(headers or {}), **({"Retry-After": str(RETRY_AFTER_S)} if status == 503 else {})}
    if is_api_request(request):
        return problem(status, detail, headers=sent, code=code)
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
    status: int, detail: str, *, headers: Mapping[str, str] | None = None, errors: Sequence[Fault] = (), code: str = ""
) -> Response[Problem]:
    """A problem; without `code`, with that of its status."""
    type_ = PROBLEM_TYPES.get(status, PROBLEM_TYPES[500] if status >= 500 else PROBLEM_TYPES[400])
    link = f"{DOCUMENTATION}#{type_.name}"
    body = Problem(link, type_.title, status, code or type_.code, detail, type_.advice, errors)
    sent = {"Cache-Control": "no-store", **(headers or {})}
    return Response(body, status_code=status, headers=sent, media_type=MEDIA_TYPE)


def is_api_request(request: AnyRequest) -> bool:
    """By the path, whatever the Accept header says."""
    return f"{request.scope['path']}/".startswith((f"{API}/", f"{ADMIN_API}/"))


def _faults(error: ValidationException) -> Sequence[Fault]:
    """The validation errors of the framework with their locations: `query.limit`, `body.urls.0`."""
    found = cast("Sequence[Mapping[str, str]]", error.extra if isinstance(error.extra, list) else ())[:FAULTS_MAX]
    return tuple(
        _fault(
            get_enum_string_value(fault.get("source", "body")), fault.get("key", ""), fault.get("message", ""),
            fault.get("code", ""),
        )
        for fault in found
    )  # fmt: skip


def _fault(source: str, key: str, message: str, code: str) -> Fault:
    if source == "body" and message == "'data'":  # the framework's message for a missing body
        return Fault("body", "the body is empty", "required")
    code = code or _CODE_OF_MESSAGE.get(message, "invalid_value")
    if message.startswith("Input should be a valid dictionary"):
        message = "a JSON object is required"
    return Fault(f"{source}.{key}" if key else source, message.removeprefix("Value error, "), code)


def is_page_request(request: AnyRequest) -> bool:
    """Whether a browser requests a whole page, rather than a fragment through htmx."""
    return "text/html" in request.headers.get("accept", "") and "hx-request" not in request.headers
