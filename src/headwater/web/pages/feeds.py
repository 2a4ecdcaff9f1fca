"""The feeds a reader follows, as seed 002 lays them down: a list, and what adds, changes and drops one.

A change answers 204 and the event `refreshFeedList`; the list then asks for itself again, with the filters as they are.
While something is under way (a first poll, a search for feeds where a page was named) the list asks after those lines,
and only those that have changed come back. A line that is being edited does not ask.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from litestar import Request, Response, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType
from litestar.exceptions import ValidationException
from litestar.params import Body, FromPath, FromQuery
from litestar.response import Template

from headwater.accounts.decide import Limit
from headwater.accounts.quotas import HOUR, Quotas, spend
from headwater.asgi.actor import actor_of
from headwater.db import Database
from headwater.errors import FeedNotFound
from headwater.library.decide import page_count
from headwater.library.store import subscriptions
from headwater.library.types import FEEDS_PER_PAGE, FeedPage, FeedsQuery, FeedStatus, Subscription
from headwater.sources import operate
from headwater.sources.offers import list_offered
from headwater.sources.store import sources
from headwater.sources.subscribe import add_feed, change_feed, drop_feed, leave_unwanted
from headwater.types import Clock, SourceId, UserId
from headwater.web.forms import FeedForm
from headwater.web.refusals import refusals

AnyRequest = Request[Any, Any, Any]
Form = Body(media_type=RequestEncodingType.URL_ENCODED)
SEARCH_MAX = 255
REFRESH = {"HX-Trigger": "refreshFeedList"}


@dataclass(frozen=True, slots=True)
class FeedChoice:
    """One of the feeds that were found on a page."""

    url: str = ""


@get("/feeds", exception_handlers=refusals("Failed to load feeds"))
async def feeds(
    request: AnyRequest,
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
    search: FromQuery[str] = "",
    status: FromQuery[str] = "all",
    page: FromQuery[str] = "1",
    editing: FromQuery[list[str] | None] = None,
    closing: FromQuery[str] = "",
) -> Template:
    """A page of the list; past the last one, the last one. Lines that are being edited stay as they are."""
    query = read_query(search, status, page)
    async with database.as_user(request.user.id) as conn:
        total = await subscriptions.count_feeds(conn, query=query)
        pages = page_count(total, FEEDS_PER_PAGE)
        query = replace(query, page=min(query.page, max(pages, 1)))
        items = await subscriptions.list_feeds(conn, query=query, limit=FEEDS_PER_PAGE)
        offers = await list_offered(conn, items)
    found = FeedPage(items, query.page, pages, total)
    edited = {item.id for item in items if str(item.id) in set(editing or ()) - {closing}}
    context = {"found": found, "query": query, "now": clock(), "offers": offers, "editing": edited}
    return Template("feeds/list.html", context=context)


@get("/feeds/changed", exception_handlers=refusals("Failed to load feeds"))
async def changed(
    request: AnyRequest,
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
    watched: FromQuery[list[str] | None] = None,
) -> Template | Response[None]:
    """Those lines that are not any more as they were seen; 204 when all are."""
    seen = read_watched(watched or [])
    async with database.as_user(request.user.id) as conn:
        items = await subscriptions.list_items(conn, subscription_ids=list(seen))
        offers = await list_offered(conn, items)
    news = [item for item in items if offers.face_of(item) != seen[item.id]]
    if not news:
        return Response(None, status_code=204)
    is_waiting = any(offers.face_of(item) for item in items)
    context = {"feeds": news, "now": clock(), "offers": offers, "is_waiting": is_waiting}
    return Template("feeds/changed.html", context=context)


@post(
    "/feeds",
    status_code=204,
    exception_handlers=refusals("Failed to add feed. Please try again.", place="feed-add-form-errors"),
)
async def add(
    request: AnyRequest,
    data: Annotated[FeedForm, Form],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
    quotas: NamedDependency[Quotas],
) -> Response[None]:
    """Follow a feed; it is polled at once."""
    async with database.transaction() as conn:
        await add_feed(
            conn,
            user_id=request.user.id,
            name=data.name,
            url=data.url,
            category=data.category,
            now=clock(),
            most=quotas.subscriptions,
        )
    return Response(None, status_code=204, headers=REFRESH)


@get("/feeds/{feed_id:str}/edit", exception_handlers=refusals("Failed to load feed"))
async def edit_form(request: AnyRequest, feed_id: FromPath[str], database: NamedDependency[Database]) -> Template:
    """The form in which a feed is changed."""
    subscription = await _find(database, request.user.id, feed_id)
    return Template("feeds/edit.html", context={"feed": subscription})


@patch(
    "/feeds/{feed_id:str}",
    status_code=204,
    exception_handlers=refusals(
        "Failed to update feed",
        place="feed-edit-form-errors-{feed_id}",
        taken="A feed with this URL already exists",
    ),
)
async def change(
    request: AnyRequest,
    feed_id: FromPath[str],
    data: Annotated[FeedForm, Form],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Response[None]:
    """Another name or address."""
    await _change(database, request.user.id, await _find(database, request.user.id, feed_id), data, clock())
    return Response(None, status_code=204, headers=REFRESH)


@delete(
    "/feeds/{feed_id:str}",
    status_code=204,
    exception_handlers=refusals("Failed to delete feed", place="feed-item-{feed_id}-errors"),
)
async def drop(
    request: AnyRequest, feed_id: FromPath[str], database: NamedDependency[Database], clock: NamedDependency[Clock]
) -> Response[None]:
    """Stop following."""
    async with database.transaction() as conn:
        source_id = await drop_feed(conn, user_id=request.user.id, subscription_id=_id(feed_id))
    await _leave(database, source_id, clock())
    return Response(None, status_code=204, headers=REFRESH)


@post(
    "/feeds/{feed_id:str}/retry",
    status_code=204,
    exception_handlers=refusals("Failed to retry", place="feed-item-{feed_id}-errors"),
)
async def retry(
    request: AnyRequest,
    feed_id: FromPath[str],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
    quotas: NamedDependency[Quotas],
) -> Response[None]:
    """Poll a feed at once, unless an operator disabled it or its site asks us to wait."""
    subscription = await _find(database, request.user.id, feed_id)
    limit = Limit(quotas.retries_per_hour, HOUR)
    await spend(database, user_id=request.user.id, what="retries", limit=limit, now=clock())
    async with database.transaction() as conn:
        source = await sources.find_by_id(conn, source_id=subscription.source_id)
        await operate.retry(conn, source, actor=actor_of(request), now=clock())
    return Response(None, status_code=204, headers=REFRESH)


@post(
    "/feeds/{feed_id:str}/switch",
    status_code=204,
    exception_handlers=refusals("Failed to update feed", place="feed-item-{feed_id}-errors"),
)
async def switch(
    request: AnyRequest,
    feed_id: FromPath[str],
    data: Annotated[FeedChoice, Form],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
) -> Response[None]:
    """Follow a feed that was found on a page, in place of the page."""
    before = await _find(database, request.user.id, feed_id)
    chosen = FeedForm(before.name, data.url, before.category or "")
    await _change(database, request.user.id, before, chosen, clock())
    return Response(None, status_code=204, headers=REFRESH)


def read_watched(watched: Sequence[str]) -> dict[UUID, str]:
    """Which lines are asked after, each with the face it had: `id:face`. Raises ValidationException."""
    if len(watched) > FEEDS_PER_PAGE:
        raise ValidationException("Invalid query parameters")
    try:
        return {UUID(feed_id): face for feed_id, _, face in (one.partition(":") for one in watched)}
    except ValueError as error:
        raise ValidationException("Invalid query parameters") from error


def read_query(search: str, status: str, page: str) -> FeedsQuery:
    """What the filters say. Raises ValidationException."""
    number = int(page) if page.isascii() and page.isdigit() and len(page) <= 6 else 0
    if number < 1 or status not in set(FeedStatus) or len(search) > SEARCH_MAX or "\0" in search:
        raise ValidationException("Invalid query parameters")
    return FeedsQuery(search.strip(), FeedStatus(status), number)


async def _change(database: Database, user_id: UserId, before: Subscription, form: FeedForm, now: datetime) -> None:
    async with database.transaction() as conn:
        await change_feed(
            conn, user_id=user_id, before=before, name=form.name, url=form.url, category=form.category, now=now
        )
    if form.url.strip() != before.url:
        await _leave(database, before.source_id, now)


async def _find(database: Database, user_id: UserId, feed_id: str) -> Subscription:
    async with database.as_user(user_id) as conn:
        found = await subscriptions.find(conn, subscription_id=_id(feed_id))
    if found is None:
        raise FeedNotFound
    return found


async def _leave(database: Database, source_id: SourceId, now: datetime) -> None:
    async with database.as_system() as conn:
        await leave_unwanted(conn, [source_id], now)


def _id(text: str) -> UUID:
    """Raises FeedNotFound: what is no id is nobody's feed."""
    try:
        return UUID(text)
    except ValueError as error:
        raise FeedNotFound from error


feed_pages = [feeds, changed, add, edit_form, change, drop, retry, switch]
