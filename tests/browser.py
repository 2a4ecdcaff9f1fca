"""Requests to the app itself, in the test's own event loop (Litestar's test client runs the app in another)."""

from typing import Any, cast

from httpx import ASGITransport, AsyncClient
from litestar import Litestar


def visit(app: Litestar, base_url: str = "http://headwater.test") -> AsyncClient:
    """A client of this app; use as an async context manager."""
    transport = ASGITransport(app=cast("Any", app), raise_app_exceptions=False)
    return AsyncClient(transport=transport, base_url=base_url)
