"""/healthz, /readyz and /metrics.

Anybody can ask, as often as they like: those who ask at the same time share one look at the database, so that they do
not take its connections from users.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from litestar import MediaType, Response, Router, get
from litestar.di import NamedDependency

from headwater.alerts.show import show_facts
from headwater.alerts.store import facts
from headwater.db import Database
from headwater.db.migrate import check_schema
from headwater.errors import HeadwaterError, RightsMissing
from headwater.observability.metrics import CONTENT_TYPE, render_metrics

T = TypeVar("T")


class _SharedLook(Generic[T]):
    """What one look at a database finds, for all who ask until it ends."""

    def __init__(self, look: Callable[[Database], Coroutine[Any, Any, T]]) -> None:
        self._look = look
        self._running: WeakKeyDictionary[Database, asyncio.Task[T]] = WeakKeyDictionary()

    async def wait(self, database: Database) -> T:
        """Raises what the look raises."""
        running = self._running.get(database)
        if running is None or running.done():
            running = self._running[database] = asyncio.create_task(self._look(database))
        return await asyncio.shield(running)


async def _check(database: Database) -> None:
    async with database.transaction() as conn:
        await check_schema(conn)


async def _render(database: Database) -> bytes:
    """All metrics, with the facts that alerting has found."""
    try:
        async with database.transaction() as conn:
            show_facts(*await facts.find_last(conn))
    except HeadwaterError:
        show_facts(None, {})
    return render_metrics()


_SCHEMA, _METRICS = _SharedLook(_check), _SharedLook(_render)


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
    return Response(await _METRICS.wait(database), media_type=CONTENT_TYPE)


health_routes = Router("/", route_handlers=[healthz, readyz, metrics], include_in_schema=False)
