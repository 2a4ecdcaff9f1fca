"""Reading: lists of articles, search, one article, marking as read and starring."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from litestar import Response, get, post
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, FromQuery, URLEncodedBody
from litestar.response import Redirect, Template

from headwater.accounts.preferences import store as preferences
from headwater.accounts.preferences.types import Density, PreferredText, SortOrder
from headwater.analytics.types import ReaderAction
from headwater.asgi.guard import is_head
from headwater.asgi.handlers import Call, CallContext, decode_cursor, encode_cursor
from headwater.db import Connection
from headwater.errors import Invalid, NotFound
from headwater.labels import store as labels
from headwater.library import browse
from headwater.library.counts import count_in_time, list_counts_in_time
from headwater.library.decide import nest_feeds
from headwater.library.marking import mark_list_read
from headwater.library.saved.operate import explain_missing
from headwater.library.saved.types import MissingText
from headwater.library.store import images, lists, marks, stories, subscriptions, suggestions, tags, undo, unread
from headwater.library.store.enclosures import find_enclosures
from headwater.library.types import (
    ArticleFull,
    ArticleLine,
    ArticlesQuery,
    FeedsQuery,
    Shelf,
    StoryMember,
    StoryPage,
    UnreadFeed,
)
from headwater.library.views import store as views
from headwater.library.views.operate import require_view
from headwater.library.views.types import SavedView
from headwater.query.complete import MOST, Completion, Completions, at_cursor, complete
from headwater.query.grammar import CHARACTERS_MAX
from headwater.query.types import Audience, LabelField
from headwater.types import ArticleId, PageCursor
from headwater.web.label_filters import FILTERS, LANGUAGES, by_scheme
from headwater.web.opened_list import open_list, read_page
from headwater.web.query import is_counted, parse_id, parse_number, record
from headwater.web.search_box import read_box

UNREAD_COUNTED = 100  # of a feed, before the page is sent; all are counted after that
SOME_MAX = 100  # articles that are marked at once by scrolling
NOBODY = UUID(int=0)
IN_ARTICLE = "article-"  # ids of the buttons there begin with it: the list beside has the same
FEEDS_AT_ONCE = 100
BACK = re.compile(r"/read(\?[!-~]*)?")  # no other page
SHELVES = {Shelf.UNREAD: "Unread", Shelf.ALL: "All articles", Shelf.STARRED: "Starred", Shelf.LATER: "Read later"}
SUGGESTED = {
    "source": suggestions.find_names, "category": suggestions.find_categories, "tag": suggestions.find_tags,
}  # fmt: skip
ACTIONS = {
    "read": {"is_read": True},
    "unread": {"is_read": False},
    "star": {"is_starred": True},
    "unstar": {"is_starred": False},
    "unsave": {"is_saved": False},
}


@dataclass(frozen=True, slots=True)
class MarkRead:
    """What to mark as read: a feed, a category or everything; all of it, or down to the cursor `until`."""

    feed: str = ""
    category: str = ""
    until: str = ""
    back: str = "/read"


@dataclass(frozen=True, slots=True)
class UndoMarkRead:
    """Which marking of a list is undone, and the list to return to."""

    marked: str = ""
    back: str = "/read"


@dataclass(frozen=True, slots=True)
class ScrolledPast:
    """Ids of articles, separated by commas."""

    articles: str = ""


@dataclass(frozen=True, slots=True)
class GroupStories:
    """Whether lists show a story as one line, and the list to return to."""

    grouped: str = ""
    back: str = "/read"


@dataclass(frozen=True, slots=True)
class StoryUndo:
    """The articles that were unread before, separated by commas."""

    articles: str = ""


def read_query(
    shelf: FromQuery[str] = "unread", feed: FromQuery[str] = "", category: FromQuery[str] = "",
    after: FromQuery[str] = ""
) -> ArticlesQuery:  # fmt: skip
    """The list, filters and cursor. Raises Invalid."""
    if shelf not in set(Shelf):
        raise Invalid("Unknown list. Use unread, all, starred or later.")
    chosen = parse_id(feed)
    if feed and chosen is None:
        raise Invalid("Feed not found.")
    place = decode_cursor(after) if after else None
    return ArticlesQuery(Shelf(shelf), chosen, category.replace("\0", "") or None, place)


QUERY = {"wanted": Provide(read_query, sync_to_thread=False)}


@get("/read", dependencies=QUERY)
async def read(
    call: Call,
    wanted: NamedDependency[ArticlesQuery],
    view: FromQuery[str] = "",
    marked: FromQuery[str] = "",
    saved: FromQuery[str] = "",
) -> Template:
    """A page of a list or view; through htmx only the lines after a cursor. Raises Invalid, NotFound."""
    is_part, is_grouped = call.is_htmx and wanted.after is not None, call.preferences.groups_stories
    async with call.as_user() as conn:
        opened = await open_list(conn, call, wanted, view)
        found = await read_page(conn, call, opened, groups_stories=is_grouped)
        sidebar = {} if is_part else await _sidebar(conn, call, opened.query, opened.view)
        pictures = await _pictures(conn, call, found, sidebar.get("neighbours") or ())
        marked_id = parse_id(marked)
        undone = await undo.find(conn, undo_id=marked_id) if marked_id and not is_part else None
    return call.page(
        "read/lines.html" if is_part else "read/page.html", status_code=400 if opened.box.misread else 200,
        lines=found.lines, box=opened.box, next=encode_cursor(*found.then) if found.then else "",
        params=_params(opened.query, opened.view_id, opened.box.text), filters=FILTERS, is_grouped=is_grouped,
        view=opened.view_id, marked=undone, saved=saved, shown_at=encode_cursor(call.now, NOBODY),
        **_shown(opened.query), **sidebar, **pictures,
    )  # fmt: skip


@get("/read/complete")
async def complete_query(call: Call, q: FromQuery[str] = "", at: FromQuery[str] = "") -> Completions:
    """What may be meant where a query is being written, as JSON."""
    text = q[:CHARACTERS_MAX]
    number = parse_number(at)
    cursor = len(text) if number is None else number
    here = at_cursor(text, cursor)
    known: dict[str, list[Completion]] = {}
    if here is not None and here.field == LabelField.LANGUAGE:
        known["lang"] = [Completion(code, name) for code, name in LANGUAGES.items()]
    elif here is not None and here.field in SUGGESTED:
        async with call.as_user() as conn:
            found = await SUGGESTED[here.field](conn, part=here.part, most=MOST)
        known[here.field] = [Completion(one) for one in found]
    return complete(text, cursor, Audience.READER, known)


@post("/read/stories", status_code=303)
async def group_stories(call: Call, data: URLEncodedBody[GroupStories]) -> Redirect:
    """Show stories as one line in lists, or every article."""
    async with call.as_user() as conn:
        await preferences.set_groups_stories(conn, user_id=call.user.id, groups_stories=data.grouped == "yes")
    return Redirect(_back(data.back), status_code=303)


@get("/read/feeds", dependencies=QUERY)
async def feed_list(call: Call, wanted: NamedDependency[ArticlesQuery]) -> Template:
    """The list of feeds beside the articles, with unread counts. Raises Invalid."""
    async with call.as_user() as conn:
        found, most = await list_counts_in_time(conn, least=UNREAD_COUNTED)
        feed_icons = await images.find_icon_digests(conn, feed_ids=[one.id for one in found])
    context = {
        "neighbours": found,
        "feed_icons": feed_icons,
        "categories": nest_feeds(found, most=most),
        **_shown(wanted),
        "most": most,
    }
    return Template("read/neighbours.html", context=context)


@get("/articles/{article_id:uuid}", dependencies=QUERY)
async def article(
    call: Call, article_id: FromPath[UUID], wanted: NamedDependency[ArticlesQuery], view: FromQuery[str] = ""
) -> Template:
    """Show an article and mark it as read, except for HEAD requests. The query is that of the list it was opened from.
    Raises Invalid, NotFound."""
    chosen = ArticleId(article_id)
    async with call.as_user() as conn:
        found = await require_article(conn, chosen, prefers_feed=call.preferences.article_text is PreferredText.FEED)
        is_opened = not is_head(call.request.scope)
        if is_opened and not found.is_read:
            await _mark(conn, call, chosen, is_read=True)
        counted = await is_counted(conn, call.request)
        if is_opened and counted:
            await record(conn, call, chosen, ReaderAction.OPEN)
        given = (await labels.find_labels(conn, article_ids=[chosen], only_shown=True)).get(chosen, [])
        others = await browse.find_others(conn, article_id=chosen)
        files = await find_enclosures(conn, article_id=chosen)
        names = await tags.list_names(conn)
        feed_icons = await images.find_icon_digests(conn, feed_ids=found.feed_ids)
        box, view_id = read_box(call.request.query_params), parse_id(view)
        back = await _list_name(conn, wanted, box.text, view_id)
    missing = None if found.html or not found.is_saved else await explain(call, found.url)
    shown = list(by_scheme(given))
    is_part = call.request.headers.get("hx-target") == "pane"
    return call.page(
        "read/article_part.html" if is_part else "read/article.html", article=found, labels=shown, others=others,
        files=files, feed_icons=feed_icons, is_counted=counted, tag_names=names, back=back,
        params=_params(wanted, view_id, box.text), is_part=is_part, missing=missing,
    )  # fmt: skip


@get("/articles/{article_id:uuid}/beside", dependencies=QUERY)
async def beside(
    call: Call, article_id: FromPath[UUID], wanted: NamedDependency[ArticlesQuery], view: FromQuery[str] = ""
) -> Template:
    """Links to the articles before and after one in a list. Raises Invalid, NotFound."""
    async with call.as_user() as conn:
        found = await require_article(conn, ArticleId(article_id))
        opened = await open_list(conn, call, wanted, view)
        query = opened.query
        chosen_at = {Shelf.STARRED: found.starred_at, Shelf.LATER: found.saved_at}.get(query.shelf)
        before, then = await browse.find_beside(
            conn, query=query, tree=opened.tree,
            place=PageCursor(chosen_at or found.listed_at, found.id), now=call.now,
            groups_stories=call.preferences.groups_stories,
        )  # fmt: skip
    params = _params(query, opened.view_id, opened.box.text)
    return call.page("read/beside.html", before=before, then=then, params=params)


@post("/read/some", status_code=200)
async def mark_some(call: Call, data: URLEncodedBody[ScrolledPast]) -> Template:
    """Mark articles as read that were scrolled past; responds with their buttons."""
    ids = [ArticleId(one) for one in map(parse_id, data.articles.split(",")[:SOME_MAX]) if one]
    async with call.as_user() as conn:
        found = [one for one in [await lists.find_article(conn, article_id=chosen) for chosen in ids] if one]
        waiting = [one.id for one in found if not one.is_read]
        await marks.mark_some(conn, user_id=call.user.id, article_ids=waiting, is_read=True, now=call.now)
        for one in waiting:
            await marks.advance(conn, article_id=one)
    return call.page("read/marked.html", lines=[replace(one, is_read=True) for one in found])


@post("/articles/{article_id:uuid}/click", status_code=204)
async def click(call: Call, article_id: FromPath[UUID]) -> None:
    """Record that the user opened the original, if they consented. Raises NotFound."""
    chosen = ArticleId(article_id)
    async with call.as_user() as conn:
        await require_article(conn, chosen)
        await record(conn, call, chosen, ReaderAction.CLICK)


@post("/articles/{article_id:uuid}/read-story", status_code=200)
async def read_story(call: Call, article_id: FromPath[UUID]) -> Template:
    """Mark an article and the others of its story as read; responds with the story, and a way back. Raises NotFound."""
    chosen = ArticleId(article_id)
    async with call.as_user() as conn:
        found = await require_article(conn, chosen)
        unread = [one.id for one in await _story(conn, chosen) if not one.is_read]
        if not found.is_read and chosen not in unread:  # of a large story only the newest are known
            unread.append(chosen)
        await marks.mark_some(conn, user_id=call.user.id, article_ids=unread, is_read=True, now=call.now)
        for one in unread:
            await marks.advance(conn, article_id=one)
        return await _render_story(conn, call, chosen, undo=",".join(map(str, unread)))


@post("/articles/{article_id:uuid}/unread-story", status_code=200)
async def unread_story(call: Call, article_id: FromPath[UUID], data: URLEncodedBody[StoryUndo]) -> Template:
    """Mark those articles of a story as unread that were unread before. Raises NotFound."""
    chosen = ArticleId(article_id)
    before = {parse_id(one) for one in data.articles.split(",")[: stories.MEMBERS_MAX + 1]}
    async with call.as_user() as conn:
        await require_article(conn, chosen)
        unread = [one for one in {chosen, *(one.id for one in await _story(conn, chosen))} if one in before]
        await marks.mark_some(conn, user_id=call.user.id, article_ids=unread, is_read=False, now=call.now)
        return await _render_story(conn, call, chosen)


@post("/articles/{article_id:uuid}/{action:str}", status_code=200)
async def mark(call: Call, article_id: FromPath[UUID], action: FromPath[str]) -> Template | Redirect:
    """Mark as read or unread, star or unstar, remove from Read later; responds with the buttons. Raises NotFound."""
    if action not in ACTIONS:
        raise NotFound("Unknown action.")
    chosen = ArticleId(article_id)
    async with call.as_user() as conn:
        await require_article(conn, chosen)
        await _mark(conn, call, chosen, **ACTIONS[action])
        if action == "star":
            await record(conn, call, chosen, ReaderAction.STAR)
        found = await lists.find_article(conn, article_id=chosen)
    if found is None:  # unstarred or removed, and its feed is not followed
        return call.page("read/gone.html", article_id=chosen, is_unsaved=action == "unsave")
    return buttons_of(call, found)


@post("/read/all", status_code=303)
async def mark_all(call: Call, data: URLEncodedBody[MarkRead]) -> Redirect | Response[None]:
    """Mark a list as read, all of it or down to a cursor. Raises Invalid."""
    query = read_query("unread", data.feed, data.category, data.until)
    is_oldest_first = call.preferences.sort_order is SortOrder.OLDEST
    async with call.as_user() as conn:
        marked = await mark_list_read(
            conn, user_id=call.user.id, query=replace(query, is_oldest_first=is_oldest_first), now=call.now
        )
    back = _back(data.back)
    back += f"{'&' if '?' in back else '?'}marked={marked}"
    if call.is_htmx:
        return Response(None, status_code=204, headers={"HX-Redirect": back})
    return Redirect(back, status_code=303)


@post("/read/undo", status_code=303)
async def undo_mark_all(call: Call, data: URLEncodedBody[UndoMarkRead]) -> Redirect:
    """Make unread again what was marked as read with a list. Raises NotFound."""
    async with call.as_user() as conn:
        chosen = parse_id(data.marked)
        if chosen is None or not await undo.restore(conn, undo_id=chosen):
            raise NotFound("This can no longer be undone.")
    return Redirect(_back(data.back), status_code=303)


@get("/read/news", dependencies=QUERY)
async def news(call: Call, wanted: NamedDependency[ArticlesQuery], since: FromQuery[str] = "") -> Template:
    """How many articles came into a list since it was shown, and how many are unread in all feeds. Raises Invalid."""
    shown_at = decode_cursor(since).at
    async with call.as_user() as conn:
        new = await unread.count(conn, feed=wanted.feed, category=wanted.category, since=shown_at)
        total = await count_in_time(conn)
    return call.page("read/news.html", new=new, total=total, **_shown(wanted))


def _params(query: ArticlesQuery, view: UUID | None, text: str) -> dict[str, str]:
    """The parameters of a list, in its URL and those of its articles."""
    return {
        "shelf": query.shelf.value, "feed": str(query.feed or ""), "category": query.category or "",
        "view": str(view or ""), "q": text,
    }  # fmt: skip


async def _list_name(conn: Connection, query: ArticlesQuery, text: str, view: UUID | None) -> str:
    """What the list is called to which an article leads back."""
    if text:
        return "Search results"
    if view:
        return (await require_view(conn, view)).name
    found = await subscriptions.find(conn, subscription_id=query.feed) if query.feed else None
    return found.name if found else query.category or SHELVES[query.shelf]


def article_url(article_id: ArticleId, params: Mapping[str, str]) -> str:
    """The URL of an article in a list. Unread, which most are opened from, is the default."""
    left = {name: value for name, value in params.items() if value and (name, value) != ("shelf", "unread")}
    return f"/articles/{article_id}?{urlencode(left)}" if left else f"/articles/{article_id}"


def _back(path: str) -> str:
    return path if BACK.fullmatch(path) else "/read"


def line_cursor(line: ArticleLine) -> str:
    return encode_cursor(line.listed_at, line.id)


async def _story(conn: Connection, article_id: ArticleId) -> list[StoryMember]:
    """The articles of its story in the user's feeds, itself among them."""
    told = await stories.find_stories(conn, article_ids=[article_id])
    return await stories.list_members(conn, told=told, query=ArticlesQuery())


async def _render_story(conn: Connection, call: CallContext, article_id: ArticleId, undo: str = "") -> Template:
    """The other articles of a story, as they are now, and the buttons of the article itself."""
    line = await require_article(conn, article_id)
    others = [one for one in await _story(conn, article_id) if one.id != article_id]
    unread = (not line.is_read) + sum(not one.is_read for one in others)
    return call.page("read/story_marked.html", line=line, others=others, unread=unread, undo=undo)


async def _sidebar(conn: Connection, call: CallContext, query: ArticlesQuery, view: SavedView | None) -> dict[str, Any]:
    """The lists of views, tags and feeds, and the name of the open one. A long list of feeds, and the numbers of views,
    are loaded after the articles."""
    total = await subscriptions.count_feeds(conn, query=FeedsQuery())
    opened = await subscriptions.find(conn, subscription_id=query.feed) if query.feed else None
    polled = await subscriptions.list_items(conn, subscription_ids=[opened.id]) if opened else []
    is_short = total <= FEEDS_AT_ONCE
    neighbours = await subscriptions.list_unread_counts(conn, most=UNREAD_COUNTED) if is_short else None
    return {
        "has_feeds": total > 0, "neighbours": neighbours,
        "categories": nest_feeds(neighbours or [], most=UNREAD_COUNTED),
        "views": await views.list_views(conn), "tags": await tags.list_names(conn),
        "name": view.name if view else opened.name if opened else query.category,
        "is_counted": await is_counted(conn, call.request), "opened": polled[0] if polled else None,
        "is_capped": any(one.unread >= UNREAD_COUNTED for one in neighbours or []),
    }  # fmt: skip


async def _pictures(
    conn: Connection, call: CallContext, page: StoryPage, neighbours: Sequence[UnreadFeed]
) -> dict[str, Any]:
    """Digests of the icons of the feeds on a page, and of its lead images where they are shown."""
    lines = [entry.line for entry in page.lines]
    feeds = {line.feed_id for line in lines if line.feed_id} | {one.id for one in neighbours}
    has_leads = call.preferences.density is Density.CARDS
    leads = await images.find_lead_digests(conn, article_ids=[line.id for line in lines]) if has_leads else {}
    return {"feed_icons": await images.find_icon_digests(conn, feed_ids=feeds), "leads": leads}


def buttons_of(call: CallContext, article: ArticleFull) -> Template | Redirect:
    """The buttons of an article, after one of them was pressed."""
    if not call.is_htmx:
        return Redirect(f"/articles/{article.id}", status_code=303)
    is_in_article = call.request.headers.get("hx-target", "").startswith(IN_ARTICLE)
    return call.page("read/buttons.html", line=article, place=IN_ARTICLE if is_in_article else "")


async def explain(call: CallContext, url: str) -> MissingText:
    """Why a saved page has no text."""
    async with call.database.transaction() as conn:
        return await explain_missing(conn, url, call.now)


async def require_article(conn: Connection, article_id: ArticleId, *, prefers_feed: bool = False) -> ArticleFull:
    """An article that the user may read. Raises NotFound."""
    found = await lists.find_article(conn, article_id=article_id, prefers_feed=prefers_feed)
    if found is None:
        raise NotFound("Article not found.")
    return found


def _shown(query: ArticlesQuery) -> dict[str, Any]:
    return {"shelf": query.shelf, "feed": query.feed, "category": query.category, "most": UNREAD_COUNTED}


async def _mark(conn: Connection, call: CallContext, article_id: ArticleId, **marked: bool) -> None:
    await marks.mark(conn, user_id=call.user.id, article_id=article_id, **marked, now=call.now)
    if marked.get("is_read"):
        await marks.advance(conn, article_id=article_id)
