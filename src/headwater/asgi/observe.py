"""Counts and logs every request."""

import time

from litestar.types import ASGIApp, Message, Receive, Scope, Send

from headwater.observability import metrics
from headwater.observability.log import get_logger

log = get_logger()

# Labels come from these and from the routes, never from the request: each value is a time series.
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})
OTHER_METHOD = "other"
NO_ROUTE = "none"


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
            method = scope["method"] if scope["method"] in METHODS else OTHER_METHOD
            route = scope.get("path_template") or NO_ROUTE
            metrics.HTTP_REQUESTS.labels(method=method, route=route, status=status).inc()
            metrics.HTTP_SECONDS.labels(method=method, route=route).observe(took)
            log.debug(
                "request", method=method, route=route, path=scope["path"], status=status, took_ms=round(took * 1000, 1)
            )

    return observed
