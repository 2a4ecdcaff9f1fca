"""What programs talk to: JSON under /api, for whoever brings a token, described by OpenAPI."""

from litestar import Router
from litestar.datastructures import CacheControlHeader

from headwater.accounts.bearers import Bearers
from headwater.api.auth import require_bearer, require_json, require_known_query
from headwater.api.routes.description import describing
from headwater.api.routes.frontier import frontier_routes
from headwater.asgi.errors import refuse_depth
from headwater.asgi.problems import API

MAX_BODY = 1_000_000  # bytes; a bulk of URLs may have more


def api_routes(bearers: Bearers) -> list[Router]:
    """Everything under /api. Without a token that is known it answers nothing but what it would take to open it."""
    v1 = Router(
        f"{API}/v1",
        route_handlers=[frontier_routes],
        guards=[require_bearer(bearers), require_json, require_known_query],
        cache_control=CacheControlHeader(no_store=True),
        exception_handlers={RecursionError: refuse_depth},
        request_max_body_size=MAX_BODY,
    )
    return [v1, describing([v1])]
