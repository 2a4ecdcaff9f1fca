"""Reading: lists of articles, one article, what was read and starred, and the search."""

import base64
import binascii
import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from litestar import Request, Response, get, post
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType
from litestar.params import Body, FromPath, FromQuery
from litestar.response import Redirect, Template

from headwater.analytics.types import Deed
from headwater.asgi.guard import is_head
from headwater.db import Connection, Database
from headwater.errors import Invalid, NotFound
from headwater.library.search import page_of, search
from headwater.library.store import lists, marks, subscriptions
from headwater.library.types import ARTICLES_PER_PAGE, ArticleLine, ArticlesQuery, FeedsQuery, Found, Place, Shelf
from headwater.types import ArticleId, Clock
from headwater.web.consent import count, is_counted
from headwater.web.forms import AllRead

AnyRequest = Request[Any, Any, Any]
Form = Body(media_type=RequestEncodingType.URL_ENCODED)

UNREAD_COUNTED = 100
FEEDS_AT_ONCE = 100
SEARCH_MAX = 200
BACK = re.compile(r"/read(\?[!-~]*)?")  # a list, and nothing that leads elsewhere
PERIODS = {"day": timedelta(days=1), "week": timedelta(days=7), "month": timedelta(days=30)}


@get("/read")
async def read(
    request: AnyRequest,
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
    shelf: FromQuery[str] = "unread",
    feed: FromQuery[str] = "",
    category: FromQuery[str] = "",
    q: FromQuery[str] = "",
    period: FromQuery[str] = "",
    after: FromQuery[str] = "",
) -> Template:
    """A page of a list; through htmx only what comes after a place. Raises Invalid."""
    query = read_query(shelf, feed, category, after)
    words = q.strip()[:SEARCH_MAX].replace("\0", "")
    since = clock() - PERIODS[period] if period in PERIODS else None
    is_part = "hx-request" in request.headers and bool(after)
    async with database.as_user(request.user.id) as conn:
        found = await _find(conn, query, words, since)
        beside = {} if is_part else await _beside(conn, query) | {"is_counted": await is_counted(conn, request)}
    context = {
        "user": request.user,
        "now": clock(),
        "lines": found.lines,
        "next": place_text(found.then) if found.then else "",
        "shelf": query.shelf,
        "feed": query.feed,
        "category": query.category,
        "words": words,
        "period": period if period in PERIODS else "",
        "most": UNREAD_COUNTED,
        **beside,
    }
    return Template("read/lines.html" if is_part else "read/page.html", context=context)


@get("/read/feeds")
async def neighbours(
    request: AnyRequest,
    database: NamedDependency[Database],
    shelf: FromQuery[str] = "unread",
    feed: FromQuery[str] = "",
    category: FromQuery[str] = "",
) -> Template:
    """The list of feeds beside the articles, with what is unread in each. Raises Invalid."""
    query = read_query(shelf, feed, category, "")
    async with database.as_user(request.user.id) as conn:
        found = await subscriptions.list_unread_counts(conn, most=UNREAD_COUNTED)
    context = {
        "neighbours": found,
        "shelf": query.shelf,
        "feed": query.feed,
        "category": query.category,
        "most": UNREAD_COUNTED,
    }
    return Template("read/neighbours.html", context=context)


@get("/articles/{article_id:uuid}")
async def article(
    request: AnyRequest, article_id: FromPath[UUID], database: NamedDependency[Database], clock: NamedDependency[Clock]
) -> Template:
    """One article; opening it is reading it, asking for its headers is not. Raises NotFound."""
    chosen = ArticleId(article_id)
    async with database.as_user(request.user.id) as conn:
        found = await lists.find_article(conn, article_id=chosen)
        if found is None:
            raise NotFound("Article not found.")
        is_opened = not is_head(request.scope)
        if is_opened and not found.is_read:
            await _mark(conn, request, chosen, clock(), is_read=True)
        counted = await is_counted(conn, request)
        if is_opened and counted:
            await count(conn, request, chosen, Deed.OPEN, clock)
    context = {"user": request.user, "article": found, "now": clock(), "is_counted": counted}
    return Template("read/article.html", context=context)


@post("/articles/{article_id:uuid}/click", status_code=204)
async def click(
    request: AnyRequest, article_id: FromPath[UUID], database: NamedDependency[Database], clock: NamedDependency[Clock]
) -> None:
    """Somebody goes to read an article where it was published, and agreed that this is counted. Raises NotFound."""
    chosen = ArticleId(article_id)
    async with database.as_user(request.user.id) as conn:
        if await lists.find_article(conn, article_id=chosen) is None:
            raise NotFound("Article not found.")
        await count(conn, request, chosen, Deed.CLICK, clock)


@post("/articles/{article_id:uuid}/{deed:str}", status_code=200)
async def mark(
    request: AnyRequest,
    article_id: FromPath[UUID],
    deed: FromPath[str],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Template | Redirect:
    """Read, unread, star or unstar; the buttons come back as they are now. Raises NotFound."""
    deeds: dict[str, dict[str, bool]] = {
        "read": {"is_read": True},
        "unread": {"is_read": False},
        "star": {"is_starred": True},
        "unstar": {"is_starred": False},
    }
    if deed not in deeds:
        raise NotFound("Unknown action.")
    chosen = ArticleId(article_id)
    async with database.as_user(request.user.id) as conn:
        if await lists.find_article(conn, article_id=chosen) is None:
            raise NotFound("Article not found.")
        await _mark(conn, request, chosen, clock(), **deeds[deed])
        if deed == "star":
            await count(conn, request, chosen, Deed.STAR, clock)
        found = await lists.find_article(conn, article_id=chosen)
    if found is None:  # unstarred, and of a feed that is followed no more
        return Template("read/gone.html")
    if "hx-request" not in request.headers:
        return Redirect(f"/articles/{article_id}", status_code=303)
    return Template("read/buttons.html", context={"line": found})


@post("/read/all", status_code=303)
async def mark_all(
    request: AnyRequest,
    data: Annotated[AllRead, Form],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Redirect | Response[None]:
    """All of a list, or what stands above a place in it and that place. Raises Invalid."""
    query = read_query("unread", data.feed, data.category, data.until)
    until = clock()
    async with database.as_user(request.user.id) as conn:
        if query.after is None:
            await marks.mark_all_read(conn, feed=query.feed, category=query.category, until=until)
        else:
            await marks.mark_above_read(
                conn, user_id=request.user.id, feed=query.feed, category=query.category, place=query.after, now=until
            )
    if "hx-request" in request.headers:
        return Response(None, status_code=204, headers={"HX-Refresh": "true"})
    return Redirect(data.back if BACK.fullmatch(data.back) else "/read", status_code=303)


def read_query(shelf: str, feed: str, category: str, after: str) -> ArticlesQuery:
    """What the address says. Raises Invalid."""
    if shelf not in set(Shelf):
        raise Invalid("Unknown list. Use unread, all or starred.")
    try:
        chosen = UUID(feed) if feed else None
    except ValueError as error:
        raise Invalid("Feed not found.") from error
    return ArticlesQuery(Shelf(shelf), chosen, category.replace("\0", "") or None, _place(after), ARTICLES_PER_PAGE)


def place_of(line: ArticleLine) -> str:
    """Where a line stands, as it is written in an address."""
    return place_text(Place(line.listed_at, line.id))


def place_text(place: Place) -> str:
    """Where the next page begins, as it stands in an address."""
    text = f"{place.listed_at.astimezone(UTC).isoformat()}|{place.article_id}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _place(text: str) -> Place | None:
    if not text:
        return None
    try:
        at, _, article_id = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode().partition("|")
        place = Place(datetime.fromisoformat(at), ArticleId(UUID(article_id)))
    except (ValueError, binascii.Error) as error:
        raise Invalid("Invalid cursor. Start at the first page.") from error
    if place.listed_at.tzinfo is None:
        raise Invalid("Invalid cursor. Start at the first page.")
    return place


async def _find(conn: Connection, query: ArticlesQuery, words: str, since: datetime | None) -> Found:
    if words:
        return await search(conn, words=words, query=query, since=since)
    match query.shelf:
        case Shelf.STARRED:
            lines = await lists.list_starred(conn, query=query)
        case Shelf.UNREAD:
            lines = await lists.list_unread(conn, query=query)
        case Shelf.ALL:
            lines = await lists.list_newest(conn, query=query)
    return page_of(lines, query.limit)


async def _beside(conn: Connection, query: ArticlesQuery) -> dict[str, object]:
    """The list of feeds, and the name of the one that is open. A long list asks for itself, after the articles."""
    total = await subscriptions.count_feeds(conn, query=FeedsQuery())
    opened = await subscriptions.find(conn, subscription_id=query.feed) if query.feed else None
    return {
        "has_feeds": total > 0,
        "neighbours": await subscriptions.list_unread_counts(conn, most=UNREAD_COUNTED)
        if total <= FEEDS_AT_ONCE
        else None,
        "name": opened.name if opened else query.category,
    }


async def _mark(
    conn: Connection,
    request: AnyRequest,
    article_id: ArticleId,
    now: datetime,
    *,
    is_read: bool | None = None,
    is_starred: bool | None = None,
) -> None:
    await marks.mark(
        conn, user_id=request.user.id, article_id=article_id, is_read=is_read, is_starred=is_starred, now=now
    )
    if is_read:
        await marks.advance(conn, article_id=article_id)


read_pages = [read, neighbours, article, click, mark, mark_all]
