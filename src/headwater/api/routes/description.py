"""/api/openapi.json and /api/docs: the documentation of the API, public."""

from collections.abc import Sequence
from functools import cache

from litestar import MediaType, Response, Router, get
from litestar.response import Template

from headwater.api.openapi import OpenApi, describe
from headwater.api.page import page_of
from headwater.asgi.errors import API


def documentation_routes(routes: Sequence[Router]) -> Router:
    """Routes that document these routes."""

    @cache
    def document() -> OpenApi:
        return describe(routes)

    @get("/openapi.json", sync_to_thread=False)
    def as_json() -> Response[OpenApi]:
        """The OpenAPI document."""
        return Response(document(), media_type=MediaType.JSON)

    @get(["/", "/docs"], sync_to_thread=False)
    def as_page() -> Template:
        """The same, as a page."""
        return Template("api.html", context=page_of(document()))

    return Router(API, route_handlers=[as_json, as_page], include_in_schema=False)
