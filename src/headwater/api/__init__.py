"""What programs talk to: JSON under /api, closed unless a token is set, described by OpenAPI."""

from litestar import Router
from litestar.datastructures import CacheControlHeader
from pydantic import SecretStr

from headwater.api.auth import require_json, require_known_query, require_token
from headwater.api.routes.description import describing
from headwater.api.routes.frontier import frontier_routes
from headwater.asgi.errors import refuse_depth
from headwater.asgi.problems import API

MAX_BODY = 1_000_000  # bytes; a bulk of URLs may have more


def api_routes(token: SecretStr | None) -> list[Router]:
    """Everything under /api. Without a token it answers nothing but what it would take to open it."""
    v1 = Router(
        f"{API}/v1",
        route_handlers=[frontier_routes],
        guards=[require_token(token), require_json, require_known_query],
        cache_control=CacheControlHeader(no_store=True),
        exception_handlers={RecursionError: refuse_depth},
        request_max_body_size=MAX_BODY,
    )
    return [v1, describing([v1])]
