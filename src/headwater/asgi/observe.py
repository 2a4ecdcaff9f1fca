"""Counts and logs every request."""

import time

from litestar.types import ASGIApp, Message, Receive, Scope, Send

from headwater.observability import metrics
from headwater.observability.log import get_logger

log = get_logger()


def observe(app: ASGIApp) -> ASGIApp:
    """Middleware: a counter, a histogram and a debug line per request."""

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
            metrics.HTTP_REQUESTS.labels(method=scope["method"], status=status).inc()
            metrics.HTTP_SECONDS.labels(method=scope["method"]).observe(took)
            log.debug(
                "request", method=scope["method"], path=scope["path"], status=status, took_ms=round(took * 1000, 1)
            )

    return observed
