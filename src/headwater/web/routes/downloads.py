"""Articles as an EPUB book: one, or the first of a list."""

import asyncio
import re
from dataclasses import replace
from urllib.parse import quote
from uuid import UUID

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery

from headwater.asgi.handlers import Call
from headwater.errors import NotFound
from headwater.library import browse
from headwater.library.epub import MEDIA_TYPE, make_book
from headwater.library.store import lists
from headwater.library.types import ArticleFull, ArticlesQuery
from headwater.library.views.decide import listed_by
from headwater.library.views.operate import require_view
from headwater.types import ArticleId
from headwater.web.query import parse_id
from headwater.web.routes.read import QUERY
from headwater.web.search_box import read_box

_NAME_MAX = 80
_NOT_IN_NAMES = re.compile(r"[^\w -]+")


@get("/articles/{article_id:uuid}/epub")
async def article_book(call: Call, article_id: FromPath[UUID]) -> Response[bytes]:
    """Raises NotFound."""
    async with call.as_user() as conn:
        found = await lists.find_article(conn, article_id=ArticleId(article_id))
    if found is None:
        raise NotFound("Article not found.")
    return await _book(call, [found], found.title or found.url)


@get("/read/epub", dependencies=QUERY)
async def list_book(call: Call, wanted: NamedDependency[ArticlesQuery], view: FromQuery[str] = "") -> Response[bytes]:
    """The first page of a list, view or search. Raises Invalid, NotFound."""
    box, view_id = read_box(call.request.query_params), parse_id(view)
    async with call.as_user() as conn:
        opened = await require_view(conn, view_id) if view_id else None
        query, tree = listed_by(replace(wanted, after=None), box.tree, view=opened.query if opened else "")
        page = await browse.browse(conn, query=query, tree=tree, now=call.now, groups_stories=False)
        found = [await lists.find_article(conn, article_id=line.line.id) for line in page.lines]
    articles = [one for one in found if one is not None]
    if box.misread is not None or not articles:
        raise NotFound("There are no articles in this list.")
    name = opened.name if opened else box.text or query.category or query.shelf.value.capitalize()
    return await _book(call, articles, f"{name}, {call.now:%Y-%m-%d}")


async def _book(call: Call, articles: list[ArticleFull], title: str) -> Response[bytes]:
    book = await asyncio.to_thread(make_book, articles, title=title, made_at=call.now)
    name = quote((_NOT_IN_NAMES.sub("", title).strip() or "articles")[:_NAME_MAX])
    headers = {"Content-Disposition": f"attachment; filename=\"articles.epub\"; filename*=UTF-8''{name}.epub"}
    return Response(book, media_type=MEDIA_TYPE, headers=headers)
