"""Reading: lists of articles, search, one article, marking as read and starring."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from litestar import Response, get, post
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, FromQuery, URLEncodedBody
from litestar.response import Redirect, Template

from headwater.analytics.types import ReaderAction
from headwater.asgi.guard import is_head
from headwater.asgi.handlers import Call, CallContext, decode_cursor, encode_cursor
from headwater.db import Connection
from headwater.errors import Invalid, NotFound
from headwater.library.search import page_of, search
from headwater.library.store import lists, marks, subscriptions
from headwater.library.types import ArticleFull, ArticleLine, ArticlePage, ArticlesQuery, FeedsQuery, Shelf
from headwater.types import ArticleId
from headwater.web.query import is_counted, parse_id, record

UNREAD_COUNTED = 100
FEEDS_AT_ONCE = 100
SEARCH_MAX = 200
BACK = re.compile(r"/read(\?[!-~]*)?")  # no other page
ACTIONS = {
    "read": {"is_read": True},
    "unread": {"is_read": False},
    "star": {"is_starred": True},
    "unstar": {"is_starred": False},
}
PERIODS = {"day": timedelta(days=1), "week": timedelta(days=7), "month": timedelta(days=30)}


@dataclass(frozen=True, slots=True)
class MarkRead:
    """What to mark as read: a feed, a category or everything; all of it, or down to the cursor `until`."""

    feed: str = ""
    category: str = ""
    until: str = ""
    back: str = "/read"


def read_query(
    shelf: FromQuery[str] = "unread", feed: FromQuery[str] = "", category: FromQuery[str] = "",
    after: FromQuery[str] = ""
) -> ArticlesQuery:  # fmt: skip
    """The list, filters and cursor. Raises Invalid."""
    if shelf not in set(Shelf):
        raise Invalid("Unknown list. Use unread, all or starred.")
    chosen = parse_id(feed)
    if feed and chosen is None:
        raise Invalid("Feed not found.")
    place = decode_cursor(after) if after else None
    return ArticlesQuery(Shelf(shelf), chosen, category.replace("\0", "") or None, place)


QUERY = {"wanted": Provide(read_query, sync_to_thread=False)}


@get("/read", dependencies=QUERY)
async def read(
    call: Call, wanted: NamedDependency[ArticlesQuery], q: FromQuery[str] = "", period: FromQuery[str] = ""
) -> Template:
    """A page of a list; through htmx only the lines after a cursor. Raises Invalid."""
    words = q.strip()[:SEARCH_MAX].replace("\0", "")
    since = call.now - PERIODS[period] if period in PERIODS else None
    is_part = call.is_htmx and wanted.after is not None
    async with call.as_user() as conn:
        found = await _find(conn, wanted, words, since)
        sidebar = {} if is_part else await _sidebar(conn, call, wanted)
    return call.page(
        "read/lines.html" if is_part else "read/page.html", lines=found.lines, words=words,
        next=encode_cursor(*found.then) if found.then else "", period=period if period in PERIODS else "",
        **_shown(wanted), **sidebar,
    )  # fmt: skip


@get("/read/feeds", dependencies=QUERY)
async def feed_list(call: Call, wanted: NamedDependency[ArticlesQuery]) -> Template:
    """The list of feeds beside the articles, with unread counts. Raises Invalid."""
    async with call.as_user() as conn:
        found = await subscriptions.list_unread_counts(conn, most=UNREAD_COUNTED)
    return Template("read/neighbours.html", context={"neighbours": found, **_shown(wanted)})


@get("/articles/{article_id:uuid}")
async def article(call: Call, article_id: FromPath[UUID]) -> Template:
    """Show an article and mark it as read, except for HEAD requests. Raises NotFound."""
    chosen = ArticleId(article_id)
    async with call.as_user() as conn:
        found = await _require(conn, chosen)
        is_opened = not is_head(call.request.scope)
        if is_opened and not found.is_read:
            await _mark(conn, call, chosen, is_read=True)
        counted = await is_counted(conn, call.request)
        if is_opened and counted:
            await record(conn, call, chosen, ReaderAction.OPEN)
    return call.page("read/article.html", article=found, is_counted=counted)


@post("/articles/{article_id:uuid}/click", status_code=204)
async def click(call: Call, article_id: FromPath[UUID]) -> None:
    """Record that the user opened the original, if they consented. Raises NotFound."""
    chosen = ArticleId(article_id)
    async with call.as_user() as conn:
        await _require(conn, chosen)
        await record(conn, call, chosen, ReaderAction.CLICK)


@post("/articles/{article_id:uuid}/{action:str}", status_code=200)
async def mark(call: Call, article_id: FromPath[UUID], action: FromPath[str]) -> Template | Redirect:
    """Mark as read or unread, star or unstar; responds with the buttons. Raises NotFound."""
    if action not in ACTIONS:
        raise NotFound("Unknown action.")
    chosen = ArticleId(article_id)
    async with call.as_user() as conn:
        await _require(conn, chosen)
        await _mark(conn, call, chosen, **ACTIONS[action])
        if action == "star":
            await record(conn, call, chosen, ReaderAction.STAR)
        found = await lists.find_article(conn, article_id=chosen)
    if found is None:  # unstarred, and its feed is no longer followed
        return Template("read/gone.html")
    if not call.is_htmx:
        return Redirect(f"/articles/{article_id}", status_code=303)
    return call.page("read/buttons.html", line=found)


@post("/read/all", status_code=303)
async def mark_all(call: Call, data: URLEncodedBody[MarkRead]) -> Redirect | Response[None]:
    """Mark a list as read, all of it or down to a cursor. Raises Invalid."""
    query = read_query("unread", data.feed, data.category, data.until)
    until = call.now
    async with call.as_user() as conn:
        if query.after is None:
            await marks.mark_all_read(conn, feed=query.feed, category=query.category, until=until)
        else:
            await marks.mark_above_read(
                conn, user_id=call.user.id, feed=query.feed, category=query.category, place=query.after, now=until
            )
    if call.is_htmx:
        return Response(None, status_code=204, headers={"HX-Refresh": "true"})
    return Redirect(data.back if BACK.fullmatch(data.back) else "/read", status_code=303)


def line_cursor(line: ArticleLine) -> str:
    return encode_cursor(line.listed_at, line.id)


async def _find(conn: Connection, query: ArticlesQuery, words: str, since: datetime | None) -> ArticlePage:
    if words:
        return await search(conn, words=words, query=query, since=since)
    if query.shelf is Shelf.STARRED:
        lines = await lists.list_starred(conn, query=query)
    else:
        lines = await lists.list_newest(conn, query=query, is_unread=query.shelf is Shelf.UNREAD)
    return page_of(lines, query.limit)


async def _sidebar(conn: Connection, call: CallContext, query: ArticlesQuery) -> dict[str, Any]:
    """The list of feeds and the name of the open one. A long list is loaded after the articles."""
    total = await subscriptions.count_feeds(conn, query=FeedsQuery())
    opened = await subscriptions.find(conn, subscription_id=query.feed) if query.feed else None
    is_short = total <= FEEDS_AT_ONCE
    neighbours = await subscriptions.list_unread_counts(conn, most=UNREAD_COUNTED) if is_short else None
    return {
        "has_feeds": total > 0, "neighbours": neighbours, "name": opened.name if opened else query.category,
        "is_counted": await is_counted(conn, call.request),
    }  # fmt: skip


async def _require(conn: Connection, article_id: ArticleId) -> ArticleFull:
    found = await lists.find_article(conn, article_id=article_id)
    if found is None:
        raise NotFound("Article not found.")
    return found


def _shown(query: ArticlesQuery) -> dict[str, Any]:
    return {"shelf": query.shelf, "feed": query.feed, "category": query.category, "most": UNREAD_COUNTED}


async def _mark(conn: Connection, call: CallContext, article_id: ArticleId, **marked: bool) -> None:
    await marks.mark(conn, user_id=call.user.id, article_id=article_id, **marked, now=call.now)
    if marked.get("is_read"):
        await marks.advance(conn, article_id=article_id)
