"""A refusal as a program reads it: RFC 9457, one shape for every error under /api."""

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
    """One thing that is wrong with what was sent."""

    where: str
    problem: str


@dataclass(frozen=True, slots=True)
class Problem:
    """What went wrong and what to do about it."""

    type: str
    title: str
    status: int
    detail: str
    advice: str
    errors: Sequence[Fault] = field(default=())


@dataclass(frozen=True, slots=True)
class Kind:
    """What all problems of one status have in common. The name is where the documentation tells of it."""

    name: str
    title: str
    advice: str


KINDS: Mapping[int, Kind] = {
    400: Kind("unreadable", "The request cannot be read", "Send what the documentation shows."),
    401: Kind(
        "unauthorized",
        "No valid token came with the request",
        "Send the header `Authorization: Bearer TOKEN`, with a token from your account page or HEADWATER_API_TOKEN.",
    ),
    403: Kind(
        "forbidden", "The token may not do that", "Use a token with the scope for it, of somebody with the role for it."
    ),
    404: Kind("not-found", "There is nothing here", "Look at the address; the documentation lists all there are."),
    405: Kind("wrong-method", "That cannot be done here", "Use one of the methods that the Allow header lists."),
    408: Kind("timeout", "The request did not arrive in time", "Send it again, without pauses."),
    409: Kind("conflict", "That clashes with what is here", "Look at what is here, and try again."),
    413: Kind("too-large", "The body is too large", "Send it in several smaller requests."),
    414: Kind("address-too-long", "The address is too long", "Send fewer or shorter parameters."),
    415: Kind("not-json", "Only JSON is read here", "Send JSON, with the header `Content-Type: application/json`."),
    422: Kind("invalid", "Something that was sent cannot be used", "Mend what `errors` names, and send it again."),
    429: Kind("too-many", "That is too much at once", "Wait as many seconds as Retry-After says, then go on."),
    500: Kind("broken", "Something broke", "Tell whoever runs this Headwater: the log says what happened."),
    503: Kind("unavailable", "Back in a moment", f"Try again in {RETRY_AFTER_S} seconds, as Retry-After says."),
}


def problem(
    status: int, detail: str, *, headers: Mapping[str, str] | None = None, errors: Sequence[Fault] = ()
) -> Response[Problem]:
    """The response of a request that failed."""
    kind = KINDS.get(status, KINDS[500] if status >= 500 else KINDS[400])
    body = Problem(f"{DOCUMENTATION}#{kind.name}", kind.title, status, detail, kind.advice, errors)
    return Response(
        body, status_code=status, headers={"Cache-Control": "no-store", **(headers or {})}, media_type=MEDIA_TYPE
    )
