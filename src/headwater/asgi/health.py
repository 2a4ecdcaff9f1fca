"""/healthz, /readyz and /metrics."""

from litestar import MediaType, Response, Router, get
from litestar.di import NamedDependency

from headwater.alerts.show import show_facts
from headwater.alerts.store import facts
from headwater.db import Database
from headwater.db.migrate import check_schema
from headwater.errors import HeadwaterError, RightsMissing
from headwater.observability.metrics import CONTENT_TYPE, render_metrics


@get("/healthz", sync_to_thread=False)
def healthz() -> dict[str, str]:
    """The process responds. Does not check the database: a restart would not repair it."""
    return {"status": "ok"}


@get("/readyz")
async def readyz(database: NamedDependency[Database]) -> Response[dict[str, str]]:
    """The database responds, its schema is current, and its roles and policies are complete."""
    try:
        async with database.transaction() as conn:
            await check_schema(conn)
    except RightsMissing as error:  # the statements name roles and tables, no secrets
        return Response({"status": "unavailable", "reason": "RightsMissing", "detail": str(error)}, status_code=503)
    except HeadwaterError as error:
        return Response({"status": "unavailable", "reason": type(error).__name__}, status_code=503)
    return Response({"status": "ready"})


@get("/metrics", media_type=MediaType.TEXT)
async def metrics(database: NamedDependency[Database]) -> Response[bytes]:
    """All metrics, for Prometheus. Without the database, only those of this process."""
    try:
        async with database.transaction() as conn:
            show_facts(*await facts.find_last(conn))
    except HeadwaterError:
        show_facts(None, {})
    return Response(render_metrics(), media_type=CONTENT_TYPE)


health_routes = Router("/", route_handlers=[healthz, readyz, metrics], include_in_schema=False)
