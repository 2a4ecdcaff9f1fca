"""Errors of the API as problem details (RFC 9457)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from litestar import Response

API = "/api"
ADMIN_API = "/admin/api"
DOCUMENTATION = f"{API}/docs"
MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 5


@dataclass(frozen=True, slots=True)
class Fault:
    """One error in a request, and where it is."""

    where: str
    problem: str


@dataclass(frozen=True, slots=True)
class Problem:
    """The body of an error response."""

    type: str
    title: str
    status: int
    detail: str
    advice: str
    errors: Sequence[Fault] = field(default=())


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


def problem(
    status: int, detail: str, *, headers: Mapping[str, str] | None = None, errors: Sequence[Fault] = ()
) -> Response[Problem]:
    """The response for an error."""
    type_ = PROBLEM_TYPES.get(status, PROBLEM_TYPES[500] if status >= 500 else PROBLEM_TYPES[400])
    body = Problem(f"{DOCUMENTATION}#{type_.name}", type_.title, status, detail, type_.advice, errors)
    return Response(
        body, status_code=status, headers={"Cache-Control": "no-store", **(headers or {})}, media_type=MEDIA_TYPE
    )
