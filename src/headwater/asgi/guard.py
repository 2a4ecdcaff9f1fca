"""Around every request: it is counted, logged and checked before routing, and its response gets security headers.

HEAD becomes GET, and a slow body times out. The size of a body is limited per route (`request_max_body_size`), forms
in `asgi/csrf.py`.
"""

import asyncio
import re
import time
from typing import Any, cast
from urllib.parse import unquote_to_bytes
from weakref import WeakValueDictionary

from litestar import Request
from litestar.datastructures import MutableScopeHeaders
from litestar.exceptions import HTTPException
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from headwater.accounts.decide import network_of
from headwater.asgi.errors import logged_path, respond_to_http_error
from headwater.asgi.handlers import AnyRequest
from headwater.observability import metrics
from headwater.observability.log import get_logger
from headwater.text import printable, text_problem

log = get_logger()

PATH_MAX = 4_096  # bytes
SEGMENT_MAX = 255  # bytes between two slashes: the longest file name
QUERY_MAX = 16_384  # bytes: the longest accepted URL, percent-encoded, plus filters
QUERY_FIELDS_MAX = 500
BODY_PAUSE = 20  # seconds without a byte
BODY_TIME = 300  # seconds for all of it
IS_HEAD = "is_head"
IS_STREAM = "is_stream"

_HOST = re.compile(rb"(?:[A-Za-z0-9._~-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::([0-9]{1,5}))?")
_PORT_MAX = 65_535

# No inline code, no content from other sites, no framing.
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data: https: http:; media-src https: http:; frame-src https://www.youtube-nocookie.com; "
    "connect-src 'self'; manifest-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
# Labels come from these and from the routes, never from the request: each value is a time series.
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})


def guard(app: ASGIApp) -> ASGIApp:
    """Wraps the app outside its router, so that requests without a route are checked too."""
    turns = NetworkTurns()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        await turns.wait(scope)
        scope["headers"] = [(name, _harmless(name, value)) for name, value in scope["headers"]]
        if problem := _problem(scope):
            await _refuse(scope, receive, send, problem)
        elif scope["method"] == "HEAD":
            # A copy: the server must still know that it was HEAD, and sends no body.
            scope["state"][IS_HEAD] = True
            routed: HTTPScope = {**scope, "method": "GET"}
            try:
                await app(routed, with_timeout(receive), without_body(send))
            finally:
                scope["path_template"] = routed.get("path_template", "")
        else:
            await app(scope, with_timeout(receive), send)

    return guarded


class NetworkTurns:
    """Lets one request of a network begin at a time, each in another iteration of the event loop.

    A loop runs all that is ready before it looks for more. With 300 requests of one client ready, and 5 ms for each,
    every step of a request of another client would wait for a second and a half, and a page has a dozen steps.
    """

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def wait(self, scope: HTTPScope) -> None:
        address = scope["client"][0] if scope["client"] else "unknown"
        async with self._locks.setdefault(network_of(address), asyncio.Lock()):
            await asyncio.sleep(0)


def is_head(scope: Scope) -> bool:
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


def with_timeout(receive: Receive) -> Receive:
    """Limits the pauses and the duration of a body. Raises HTTPException."""
    deadline: float | None = None
    is_complete = False

    async def receive_with_timeout() -> Any:  # noqa: ANN401  any message
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

    return receive_with_timeout


def _problem(scope: HTTPScope) -> HTTPException | None:
    """What is invalid about a request before its body."""
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    if len(hosts) > 1 or not all(_is_host(host) for host in hosts):
        return HTTPException("The Host header is invalid.", status_code=400)
    if _is_long(scope["path"]) or len(scope["query_string"]) > QUERY_MAX:
        return HTTPException("The URL is too long.", status_code=414)
    if problem := text_problem(scope["path"]):
        return HTTPException(f"The path {problem}.", status_code=400)
    if scope["query_string"].count(b"&") >= QUERY_FIELDS_MAX:
        return HTTPException(f"The URL has more than {QUERY_FIELDS_MAX} parameters.", status_code=400)
    query = unquote_to_bytes(scope["query_string"]).decode("utf-8", "replace")
    if problem := text_problem(query):
        return HTTPException(f"The query {problem}.", status_code=400)
    return None


def _harmless(name: bytes, value: bytes) -> bytes:
    """Remove escapes from cookies: ours have none, and reading them takes quadratic time (CVE-2024-7592)."""
    return value.replace(b"\\", b"") if name == b"cookie" else value


def _is_long(path: str) -> bool:
    encoded = path.encode("utf-8", "replace")
    return len(encoded) > PATH_MAX or any(len(segment) > SEGMENT_MAX for segment in encoded.split(b"/"))


def _is_host(host: bytes) -> bool:
    found = _HOST.fullmatch(host)
    return found is not None and int(found[1] or 0) <= _PORT_MAX


async def _refuse(scope: HTTPScope, receive: Receive, send: Send, problem: HTTPException) -> None:
    """Respond without the invalid parts: the error page reads the URL too."""
    headers = [(name, value) for name, value in scope["headers"] if name != b"host"]
    harmless: HTTPScope = {**scope, "headers": headers, "query_string": b""}
    harmless["path"] = printable(scope["path"])[:SEGMENT_MAX]
    request: AnyRequest = Request(harmless, receive, send)
    response = cast("Any", respond_to_http_error(request, problem))
    await response.to_asgi_response(app=None, request=request)(harmless, receive, send)


def observe(app: ASGIApp) -> ASGIApp:
    """Wrap an app: a counter, a histogram and a debug log line per request."""

    async def observed(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500

        async def note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await app(scope, receive, note_status)
        finally:
            took = time.perf_counter() - started
            method = scope["method"] if scope["method"] in METHODS else "other"
            route = scope.get("path_template") or "none"
            metrics.HTTP_REQUESTS.labels(method=method, route=route, status=status).inc()
            if not scope.get("state", {}).get(IS_STREAM):  # it lasts as long as its client listens
                metrics.HTTP_SECONDS.labels(method=method, route=route).observe(took)
            took_ms = round(took * 1000, 1)
            path = logged_path(scope["path"])
            log.debug("request", method=method, route=route, path=path, status=status, took_ms=took_ms)

    return observed


async def add_security_headers(message: Message, _scope: Scope) -> None:
    """A before-send hook; it also reaches error responses and static files."""
    if message["type"] == "http.response.start":
        headers = MutableScopeHeaders.from_message(message)
        for name, value in SECURITY_HEADERS.items():
            headers[name] = value
