"""/healthz, /readyz and /metrics.

Anybody can ask, as often as they like: those who ask at the same time share one look at the database, so that they do
not take its connections from users.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any
from weakref import WeakKeyDictionary

from litestar import MediaType, Response, Router, get
from litestar.di import NamedDependency

from headwater.alerts.show import show_facts
from headwater.alerts.store import facts
from headwater.db import Database
from headwater.db.migrate import check_schema
from headwater.errors import HeadwaterError, RightsMissing
from headwater.observability.metrics import CONTENT_TYPE, render_metrics


class _SharedLook:
    """What one look at a database finds, for all who ask until it ends."""

    def __init__(self, look: Callable[[Database], Coroutine[Any, Any, None]]) -> None:
        self._look = look
        self._running: WeakKeyDictionary[Database, asyncio.Task[None]] = WeakKeyDictionary()

    async def wait(self, database: Database) -> None:
        """Raises what the look raises."""
        running = self._running.get(database)
        if running is None or running.done():
            running = self._running[database] = asyncio.create_task(self._look(database))
        await asyncio.shield(running)


async def _check(database: Database) -> None:
    async with database.transaction() as conn:
        await check_schema(conn)


async def _show_facts(database: Database) -> None:
    try:
        async with database.transaction() as conn:
            show_facts(*await facts.find_last(conn))
    except HeadwaterError:
        show_facts(None, {})


_SCHEMA, _FACTS = _SharedLook(_check), _SharedLook(_show_facts)


@get("/healthz", sync_to_thread=False)
def healthz() -> dict[str, str]:
    """The process responds. Does not check the database: a restart would not repair it."""
    return {"status": "ok"}


@get("/readyz")
async def readyz(database: NamedDependency[Database]) -> Response[dict[str, str]]:
    """The database responds, its schema is current, and its roles and policies are complete."""
    try:
        await _SCHEMA.wait(database)
    except RightsMissing as error:  # the statements name roles and tables, no secrets
        return Response({"status": "unavailable", "reason": "RightsMissing", "detail": str(error)}, status_code=503)
    except HeadwaterError as error:
        return Response({"status": "unavailable", "reason": type(error).__name__}, status_code=503)
    return Response({"status": "ready"})


@get("/metrics", media_type=MediaType.TEXT)
async def metrics(database: NamedDependency[Database]) -> Response[bytes]:
    """All metrics, for Prometheus. Without the database, only those of this process."""
    await _FACTS.wait(database)
    return Response(render_metrics(), media_type=CONTENT_TYPE)


health_routes = Router("/", route_handlers=[healthz, readyz, metrics], include_in_schema=False)
