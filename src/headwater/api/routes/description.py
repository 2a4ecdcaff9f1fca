"""/api/openapi.json and /api/docs: what the API is. Open to everyone: it holds no data."""

from collections.abc import Sequence
from functools import cache

from litestar import MediaType, Response, Router, get
from litestar.response import Template

from headwater.api.openapi import Document, describe
from headwater.api.page import page_of
from headwater.asgi.problems import API


def describing(routes: Sequence[Router]) -> Router:
    """What tells of these routes."""

    @cache
    def document() -> Document:
        return describe(routes)

    @get("/openapi.json", sync_to_thread=False)
    def as_json() -> Response[Document]:
        """The description, for programs."""
        return Response(document(), media_type=MediaType.JSON)

    @get(["/", "/docs"], sync_to_thread=False)
    def as_page() -> Template:
        """The same, as a page."""
        return Template("api.html", context=page_of(document()))

    return Router(API, route_handlers=[as_json, as_page], include_in_schema=False)
