"""What htmx swaps in when a request is refused: a sentence where the person is looking, and the status of the refusal.

Seed 002 names for each endpoint the words of a failure and the place where they belong; a route takes them from here.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from litestar import Request
from litestar.exceptions import ValidationException
from litestar.response import Template

from headwater.asgi.errors import LOGIN, TIMED_OUT, status_of
from headwater.errors import (
    AiUnavailable,
    AlreadySubscribed,
    DatabaseUnavailable,
    HeadwaterError,
    InvalidFeed,
    NotLoggedIn,
    QueryTimedOut,
    Unavailable,
)
from headwater.observability.log import get_logger

log = get_logger()

AnyRequest = Request[Any, Any, Any]
ExceptionHandlers = Mapping[type[Exception], Callable[[AnyRequest, Any], Template]]
LOGGED_OUT = "Your session has ended."
_ODD = re.compile(r"[^\w-]", re.ASCII)


def refusals(broken: str, *, place: str = "", taken: str = "", invalid: str = "Invalid query parameters") -> Any:  # noqa: ANN401  Litestar's own type is wider
    """Handlers for one route: `broken` is said when we fail; `place` is the id of the element that shows it."""

    def respond(request: AnyRequest, status: int, template: str, **context: object) -> Template:
        headers = {"Cache-Control": "no-store", **({"Location": LOGIN} if status == 401 else {})}
        if place:
            # What stands in an address may be anything; an id of ours has no other characters than these.
            plain = {name: _ODD.sub("", str(value)) for name, value in request.path_params.items()}
            target = place.format(**plain)
            headers |= {"HX-Retarget": f"#{target}", "HX-Reswap": "innerHTML"}
        return Template(template, context={**context, "user": None}, status_code=status, headers=headers)

    def refuse_feed(request: AnyRequest, error: InvalidFeed) -> Template:
        return respond(request, 400, "feeds/form_errors.html", name_error=error.name, url_error=error.url)

    def refuse_taken(request: AnyRequest, error: AlreadySubscribed) -> Template:
        return respond(request, 409, "feeds/form_errors.html", url_error=taken or str(error))

    def refuse_stranger(request: AnyRequest, _error: NotLoggedIn) -> Template:
        return respond(request, 401, "refusal.html", message=LOGGED_OUT, login=True)

    def refuse_query(request: AnyRequest, _error: ValidationException) -> Template:
        return respond(request, 400, "refusal.html", message=invalid)

    def refuse(request: AnyRequest, error: HeadwaterError) -> Template:
        if isinstance(error, Unavailable) and not isinstance(error, AiUnavailable):
            is_slow = isinstance(error, QueryTimedOut)
            is_outage = isinstance(error, DatabaseUnavailable) and not is_slow
            write = log.debug if is_outage else log.warning  # an outage has a line of its own
            write("request refused", path=request.scope["path"], error=str(error))
            return respond(request, 503 if is_slow else 500, "refusal.html", message=TIMED_OUT if is_slow else broken)
        return respond(request, status_of(error), "refusal.html", message=str(error))

    def break_down(request: AnyRequest, error: Exception) -> Template:
        log.error("request broke", path=request.scope["path"], exc_info=error)
        return respond(request, 500, "refusal.html", message=broken)

    return {
        InvalidFeed: refuse_feed,
        AlreadySubscribed: refuse_taken,
        NotLoggedIn: refuse_stranger,
        ValidationException: refuse_query,
        HeadwaterError: refuse,
        Exception: break_down,
    }
