"""Articles to take along: one as an EPUB book or as Markdown, the first of a list as a book."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote
from uuid import UUID

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery

from headwater.accounts.preferences.types import PreferredText
from headwater.asgi.handlers import Call, CallContext
from headwater.db import Connection
from headwater.errors import NotFound
from headwater.library import markdown
from headwater.library.epub import MEDIA_TYPE, make_book
from headwater.library.store import lists
from headwater.library.types import ArticleFull, ArticlesQuery
from headwater.types import ArticleId
from headwater.web.opened_list import open_list, read_page
from headwater.web.routes.read import QUERY, require_article

BOOK_CHARACTERS = 5_000_000  # of HTML; to convert them takes a second
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
    async with call.as_user() as conn:
        opened = await open_list(conn, call, replace(wanted, after=None), view)
        page = await read_page(conn, call, opened, groups_stories=False)
        articles = await _read(conn, [line.line.id for line in page.lines])
    if not articles:
        raise NotFound("There are no articles in this list.")
    query = opened.query
    name = opened.view.name if opened.view else opened.box.text or query.category or query.shelf.value.capitalize()
    return await _book(call, articles, f"{name}, {call.now:%Y-%m-%d}")


async def _read(conn: Connection, ids: Sequence[ArticleId]) -> list[ArticleFull]:
    """The first of these articles, as many as a book has room for."""
    found: list[ArticleFull] = []
    for one in ids:
        article = await lists.find_article(conn, article_id=one)
        if article is not None:
            found.append(article)
        if sum(len(one.html or "") for one in found) > BOOK_CHARACTERS:
            break
    return found


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
