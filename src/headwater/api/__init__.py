"""The JSON API under /api and /admin/api: token authentication, documented by OpenAPI."""

from litestar import Router
from litestar.datastructures import CacheControlHeader

from headwater.accounts.bearers import Bearers
from headwater.api.auth import require_bearer, require_json, require_known_query
from headwater.api.documentation import documentation_routes
from headwater.api.limits import RateLimits, limit_rate
from headwater.api.routes.admin_sources import admin_source_routes
from headwater.api.routes.ai_usage import ai_usage_routes
from headwater.api.routes.articles import article_routes
from headwater.api.routes.channels import channel_routes
from headwater.api.routes.classification import classification_routes
from headwater.api.routes.custom import custom_routes
from headwater.api.routes.frontier import frontier_routes
from headwater.api.routes.labels import label_routes
from headwater.api.routes.moderation import moderation_routes
from headwater.api.routes.rules import rule_routes
from headwater.api.routes.saved import saved_routes
from headwater.api.routes.sources import source_routes
from headwater.api.routes.stories import story_routes
from headwater.asgi.errors import ADMIN_API, API, respond_to_deep_json, respond_to_wrong_encoding
from headwater.types import Clock

MAX_BODY = 1_000_000  # bytes; bulk submission has its own limit


def api_routes(bearers: Bearers, clock: Clock, limits: RateLimits) -> list[Router]:
    limited = limit_rate(limits, clock)

    def with_token(path: str, *routes: Router) -> Router:
        return Router(
            path,
            route_handlers=routes,
            guards=[require_bearer(bearers), require_json, require_known_query],
            middleware=[limited],
            cache_control=CacheControlHeader(no_store=True),
            exception_handlers={RecursionError: respond_to_deep_json, UnicodeDecodeError: respond_to_wrong_encoding},
            request_max_body_size=MAX_BODY,
        )

    routes = [
        with_token(
            f"{API}/v1",
            frontier_routes,
            source_routes,
            article_routes,
            label_routes,
            classification_routes,
            story_routes,
            channel_routes,
            rule_routes,
            saved_routes,
        ),
        with_token(f"{API}/feeds", custom_routes),
        with_token(f"{ADMIN_API}/feeds", admin_source_routes, moderation_routes),
        with_token(f"{ADMIN_API}/ai-usage", ai_usage_routes),
    ]
    return [*routes, documentation_routes(routes)]
