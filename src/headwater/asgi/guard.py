"""What every request passes before it is routed: its Host, path and query are checked, HEAD becomes GET, and a body
that does not arrive in time is given up.

A route decides how large a body may be (`request_max_body_size`), since only it knows; `asgi/forms.py` reads forms.
"""

import asyncio
import re
from typing import Any, cast
from urllib.parse import unquote_to_bytes

from litestar import Request
from litestar.exceptions import HTTPException
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from headwater.asgi.errors import refuse_http
from headwater.text import printable, text_problem

PATH_MAX = 4_096  # bytes
SEGMENT_MAX = 255  # bytes between two slashes: the longest name of a file
QUERY_MAX = 16_384  # bytes: a URL of the longest length that is followed, encoded, and filters
QUERY_FIELDS_MAX = 500
BODY_PAUSE = 20  # seconds without a byte
BODY_TIME = 300  # seconds for all of it
IS_HEAD = "is_head"

_HOST = re.compile(rb"(?:[A-Za-z0-9._~-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::([0-9]{1,5}))?")
_PORT_MAX = 65_535


def guard(app: ASGIApp) -> ASGIApp:
    """Wraps the app around its router: also what no route answers is checked."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
        elif problem := _problem(scope):
            await _refuse(scope, receive, send, problem)
        elif scope["method"] == "HEAD":
            # A copy: the server must still know that it was HEAD, and sends no body.
            scope["state"][IS_HEAD] = True
            routed: HTTPScope = {**scope, "method": "GET"}
            try:
                await app(routed, in_time(receive), without_body(send))
            finally:
                scope["path_template"] = routed.get("path_template", "")
        else:
            await app(scope, in_time(receive), send)

    return guarded


def is_head(scope: Scope) -> bool:
    """Whether only the headers are asked for, so that nobody sees the page."""
    return bool(scope["state"].get(IS_HEAD))


def without_body(send: Send) -> Send:
    """Sends the headers of a response, Content-Length among them, and an empty body."""

    async def send_headers(message: Message) -> None:
        if message["type"] == "http.response.body":
            if message.get("more_body"):
                return
            message = {**message, "body": b""}
        await send(message)

    return send_headers


def in_time(receive: Receive) -> Receive:
    """Gives a body up that pauses or takes too long. Raises HTTPException."""
    deadline: float | None = None
    is_complete = False

    async def receive_in_time() -> Any:  # noqa: ANN401  any message
        nonlocal deadline, is_complete
        if is_complete:
            return await receive()
        now = asyncio.get_running_loop().time()
        deadline = deadline or now + BODY_TIME
        try:
            async with asyncio.timeout_at(min(deadline, now + BODY_PAUSE)):
                message = await receive()
        except TimeoutError as error:
            raise HTTPException("The rest of the request did not arrive in time.", status_code=408) from error
        is_complete = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    return receive_in_time


def _problem(scope: HTTPScope) -> HTTPException | None:
    """What is wrong with a request before its body."""
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    if len(hosts) > 1 or not all(_is_host(host) for host in hosts):
        return HTTPException("The Host header is invalid.", status_code=400)
    if _is_long(scope["path"]) or len(scope["query_string"]) > QUERY_MAX:
        return HTTPException("The address is too long.", status_code=414)
    if problem := text_problem(scope["path"]):
        return HTTPException(f"The path {problem}.", status_code=400)
    if scope["query_string"].count(b"&") >= QUERY_FIELDS_MAX:
        return HTTPException(f"The address has more than {QUERY_FIELDS_MAX} parameters.", status_code=400)
    query = unquote_to_bytes(scope["query_string"]).decode("utf-8", "replace")
    if problem := text_problem(query):
        return HTTPException(f"The query {problem}.", status_code=400)
    return None


def _is_long(path: str) -> bool:
    encoded = path.encode("utf-8", "replace")
    return len(encoded) > PATH_MAX or any(len(segment) > SEGMENT_MAX for segment in encoded.split(b"/"))


def _is_host(host: bytes) -> bool:
    found = _HOST.fullmatch(host)
    return found is not None and int(found[1] or 0) <= _PORT_MAX


async def _refuse(scope: HTTPScope, receive: Receive, send: Send, problem: HTTPException) -> None:
    """Answered without what is wrong: an error page reads the address too."""
    headers = [(name, value) for name, value in scope["headers"] if name != b"host"]
    harmless: HTTPScope = {**scope, "headers": headers, "query_string": b""}
    harmless["path"] = printable(scope["path"])[:SEGMENT_MAX]
    request: Request[Any, Any, Any] = Request(harmless, receive, send)
    response = cast("Any", refuse_http(request, problem))
    await response.to_asgi_response(app=None, request=request)(harmless, receive, send)
