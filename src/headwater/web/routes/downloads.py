"""Articles to take along: one as an EPUB book or as Markdown, the first of a list as a book."""

import asyncio
import re
from dataclasses import replace
from urllib.parse import quote
from uuid import UUID

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery

from headwater.accounts.preferences.types import PreferredText
from headwater.asgi.handlers import Call, CallContext
from headwater.errors import NotFound
from headwater.library import browse, markdown
from headwater.library.epub import MEDIA_TYPE, make_book
from headwater.library.store import lists
from headwater.library.types import ArticleFull, ArticlesQuery
from headwater.library.views.decide import listed_by
from headwater.library.views.operate import require_view
from headwater.types import ArticleId
from headwater.web.query import parse_id
from headwater.web.routes.read import QUERY, require_article
from headwater.web.search_box import read_box

_NAME_MAX = 80
_NOT_IN_NAMES = re.compile(r"[^\w -]+")


@get("/articles/{article_id:uuid}/epub")
async def article_book(call: Call, article_id: FromPath[UUID]) -> Response[bytes]:
    """Raises NotFound."""
    found = await _find(call, article_id)
    return await _book(call, [found], found.title or found.url)


@get("/articles/{article_id:uuid}/markdown")
async def article_markdown(call: Call, article_id: FromPath[UUID]) -> Response[bytes]:
    """Raises NotFound."""
    found = await _find(call, article_id)
    text = await asyncio.to_thread(markdown.to_markdown, found)
    headers = {"Content-Disposition": _attachment(found.title or found.url, "article", "md")}
    return Response(text.encode(), media_type=markdown.MEDIA_TYPE, headers=headers)


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
    headers = {"Content-Disposition": _attachment(title, "articles", "epub")}
    return Response(book, media_type=MEDIA_TYPE, headers=headers)


def _attachment(title: str, otherwise: str, ending: str) -> str:
    """A file that is named after its title."""
    name = quote((_NOT_IN_NAMES.sub("", title).strip() or otherwise)[:_NAME_MAX])
    return f"attachment; filename=\"{otherwise}.{ending}\"; filename*=UTF-8''{name}.{ending}"


async def _find(call: CallContext, article_id: UUID) -> ArticleFull:
    async with call.as_user() as conn:
        prefers_feed = call.preferences.article_text is PreferredText.FEED
        return await require_article(conn, ArticleId(article_id), prefers_feed=prefers_feed)
