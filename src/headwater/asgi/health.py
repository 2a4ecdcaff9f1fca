"""Is it alive, is it ready, and how does it do: /healthz, /readyz, /metrics."""

from litestar import MediaType, Response, Router, get
from litestar.di import NamedDependency

from headwater.alerts import store as alerts
from headwater.alerts.show import show_facts
from headwater.db import Database
from headwater.db.migrate import check_schema
from headwater.errors import HeadwaterError, RightsMissing
from headwater.observability.metrics import CONTENT_TYPE, render_metrics


@get("/healthz", sync_to_thread=False)
def healthz() -> dict[str, str]:
    """The process answers. Says nothing about the database: restarting us would not mend that."""
    return {"status": "ok"}


@get("/readyz")
async def readyz(database: NamedDependency[Database]) -> Response[dict[str, str]]:
    """The database answers too, its schema is ours, and its roles and policies keep users' rows apart."""
    try:
        async with database.transaction() as conn:
            await check_schema(conn)
    except RightsMissing as error:  # the statements name roles and tables, and no secret
        return Response({"status": "unavailable", "reason": "RightsMissing", "detail": str(error)}, status_code=503)
    except HeadwaterError as error:
        return Response({"status": "unavailable", "reason": type(error).__name__}, status_code=503)
    return Response({"status": "ready"})


@get("/metrics", media_type=MediaType.TEXT)
async def metrics(database: NamedDependency[Database]) -> Response[bytes]:
    """Everything we count, for Prometheus. Without the database, only what this process counts itself."""
    try:
        async with database.transaction() as conn:
            show_facts(*await alerts.last_facts(conn))
    except HeadwaterError:
        show_facts(None, {})
    return Response(render_metrics(), media_type=CONTENT_TYPE)


health_routes = Router("/", route_handlers=[healthz, readyz, metrics], include_in_schema=False)
