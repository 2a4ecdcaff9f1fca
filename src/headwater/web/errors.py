"""Routes of htmx fragments, and their error responses: the status, and a message with the element that shows it.

Seed 002 gives for each endpoint the message and the element; a route names them here.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from litestar.exceptions import ValidationException
from litestar.handlers import HTTPRouteHandler
from litestar.response import Template

from headwater import errors
from headwater.asgi.errors import LOGIN, TIMED_OUT, logged_path, retry_header, status_of
from headwater.asgi.handlers import AnyRequest
from headwater.observability.log import get_logger

log = get_logger()

LOGGED_OUT = "Your session has ended."
_NOT_IN_IDS = re.compile(r"[^\w-]", re.ASCII)


def fragment(
    method: Callable[..., HTTPRouteHandler],
    path: str,
    broken: str,
    *,
    place: str = "",
    taken: str = "",
    status_code: int = 200,
    **options: Any,  # noqa: ANN401  those of Litestar
) -> HTTPRouteHandler:
    """A route for htmx. `broken`: the message of a server error; `place`: the id of the element that shows errors."""

    def respond(
        request: AnyRequest, status: int, template: str, sent: Mapping[str, str] | None = None, **context: object
    ) -> Template:
        headers = {"Cache-Control": "no-store", **(sent or {})}
        if place:
            # A path parameter may contain anything; it must not change the CSS selector.
            plain = {name: _NOT_IN_IDS.sub("", str(value)) for name, value in request.path_params.items()}
            headers |= {"HX-Retarget": f"#{place.format(**plain)}", "HX-Reswap": "innerHTML"}
        return Template(template, context={**context, "user": None}, status_code=status, headers=headers)

    def respond_to(request: AnyRequest, error: Exception) -> Template:
        match error:
            case errors.InvalidFeed():
                return respond(request, 400, "feeds/form_errors.html", name_error=error.name, url_error=error.url)
            case errors.AlreadySubscribed():
                return respond(request, 409, "feeds/form_errors.html", url_error=taken or str(error))
            case errors.NotLoggedIn():
                return respond(request, 401, "refusal.html", {"Location": LOGIN}, message=LOGGED_OUT, login=True)
            case ValidationException():
                return respond(request, 400, "refusal.html", message="Invalid query parameters")
            case errors.Unavailable() if not isinstance(error, errors.AiUnavailable):
                is_slow = isinstance(error, errors.QueryTimedOut)
                is_outage = isinstance(error, errors.DatabaseUnavailable) and not is_slow
                write = log.debug if is_outage else log.warning  # an outage is logged once, elsewhere
                write("request refused", path=logged_path(request.scope["path"]), error=str(error))
                status, message = (503, TIMED_OUT) if is_slow else (500, broken)
                return respond(request, status, "refusal.html", retry_header(error), message=message)
            case errors.HeadwaterError():
                return respond(request, status_of(error), "refusal.html", retry_header(error), message=str(error))
            case _:
                log.error("request broke", path=logged_path(request.scope["path"]), exc_info=error)
                return respond(request, 500, "refusal.html", message=broken)

    # The app has handlers of HTTPException and HeadwaterError, which one of Exception alone does not replace.
    handlers = dict.fromkeys((ValidationException, errors.HeadwaterError, Exception), respond_to)
    return method(path, status_code=status_code, exception_handlers=handlers, **options)
