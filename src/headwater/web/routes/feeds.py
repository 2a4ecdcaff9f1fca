"""The user's feeds (seed 002): list, add, change and delete.

A change responds with 204 and the event `refreshFeedList`, on which the list is loaded again with its filters. While a
first poll or a search for feeds is in progress, the list requests those lines, and only changed ones are sent. A line
that is being edited is not requested.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from litestar import Response, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.exceptions import ValidationException
from litestar.params import FromPath, FromQuery, URLEncodedBody
from litestar.response import Template

from headwater.accounts.decide import Limit
from headwater.accounts.quotas import HOUR, Quotas, spend
from headwater.asgi.handlers import AnyRequest, Db, Now, actor_of
from headwater.db import Database
from headwater.errors import FeedNotFound
from headwater.library.decide import page_count
from headwater.library.store import subscriptions
from headwater.library.types import FEEDS_PER_PAGE, FeedPage, FeedsQuery, FeedStatus, Subscription
from headwater.sources import operate
from headwater.sources.rediscovery import list_offered
from headwater.sources.store import sources
from headwater.sources.subscribe import add_feed, change_feed, drop_feed, leave_unwanted
from headwater.types import SourceId, UserId
from headwater.web.errors import fragment
from headwater.web.query import page_number, parse_id

SEARCH_MAX = 255


@dataclass(frozen=True, slots=True)
class FeedForm:
    """A feed to add or change; a feed that was found on a web page has only a URL."""

    name: str = ""
    url: str = ""
    category: str = ""


@fragment(get, "/feeds", "Failed to load feeds")
async def feeds(
    request: AnyRequest,
    database: Db,
    clock: Now,
    search: FromQuery[str] = "",
    status: FromQuery[str] = "all",
    page: FromQuery[str] = "1",
    editing: FromQuery[list[str] | None] = None,
    closing: FromQuery[str] = "",
) -> Template:
    """A page of the list, at most the last one. Lines that are being edited are not replaced."""
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


@fragment(get, "/feeds/changed", "Failed to load feeds")
async def changed(
    request: AnyRequest, database: Db, clock: Now, watched: FromQuery[list[str] | None] = None
) -> Template | Response[None]:
    """The lines that have changed since they were sent; 204 if there are none."""
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


@fragment(post, "/feeds", "Failed to add feed. Please try again.", place="feed-add-form-errors", status_code=204)
async def add(
    request: AnyRequest, data: URLEncodedBody[FeedForm], database: Db, clock: Now, quotas: NamedDependency[Quotas]
) -> Response[None]:
    """Add a feed; it is polled at once."""
    async with database.transaction() as conn:
        await add_feed(
            conn, user_id=request.user.id, name=data.name, url=data.url, category=data.category, now=clock(),
            most=quotas.subscriptions,
        )  # fmt: skip
    return _changed()


@fragment(get, "/feeds/{feed_id:str}/edit", "Failed to load feed")
async def edit_form(request: AnyRequest, feed_id: FromPath[str], database: Db) -> Template:
    subscription = await _find(database, request.user.id, feed_id)
    return Template("feeds/edit.html", context={"feed": subscription})


@fragment(
    patch,
    "/feeds/{feed_id:str}",
    "Failed to update feed",
    place="feed-edit-form-errors-{feed_id}",
    taken="A feed with this URL already exists",
    status_code=204,
)
async def change(
    request: AnyRequest, feed_id: FromPath[str], data: URLEncodedBody[FeedForm], database: Db, clock: Now
) -> Response[None]:
    await _change(database, request.user.id, await _find(database, request.user.id, feed_id), data, clock())
    return _changed()


@fragment(delete, "/feeds/{feed_id:str}", "Failed to delete feed", place="feed-item-{feed_id}-errors", status_code=204)
async def remove(request: AnyRequest, feed_id: FromPath[str], database: Db, clock: Now) -> Response[None]:
    async with database.transaction() as conn:
        source_id = await drop_feed(conn, user_id=request.user.id, subscription_id=_id(feed_id))
    await _leave(database, source_id, clock())
    return _changed()


@fragment(post, "/feeds/{feed_id:str}/retry", "Failed to retry", place="feed-item-{feed_id}-errors", status_code=204)
async def retry(
    request: AnyRequest, feed_id: FromPath[str], database: Db, clock: Now, quotas: NamedDependency[Quotas]
) -> Response[None]:
    """Poll a feed at once, unless an operator disabled it or its site asks us to wait."""
    subscription = await _find(database, request.user.id, feed_id)
    limit = Limit(quotas.retries_per_hour, HOUR)
    await spend(database, user_id=request.user.id, what="retries", limit=limit, now=clock())
    async with database.transaction() as conn:
        source = await sources.find_by_id(conn, source_id=subscription.source_id)
        await operate.retry(conn, source, actor=actor_of(request), now=clock())
    return _changed()


@fragment(
    post, "/feeds/{feed_id:str}/switch", "Failed to update feed", place="feed-item-{feed_id}-errors", status_code=204
)
async def switch(
    request: AnyRequest, feed_id: FromPath[str], data: URLEncodedBody[FeedForm], database: Db, clock: Now
) -> Response[None]:
    """Replace a web page by a feed that was found on it."""
    before = await _find(database, request.user.id, feed_id)
    chosen = FeedForm(before.name, data.url, before.category or "")
    await _change(database, request.user.id, before, chosen, clock())
    return _changed()


def read_watched(watched: Sequence[str]) -> dict[UUID, str]:
    """The requested lines with the state they were sent in: `id:state`. Raises ValidationException."""
    seen = {parse_id(feed_id): face for feed_id, _, face in (one.partition(":") for one in watched)}
    if len(watched) > FEEDS_PER_PAGE or None in seen:
        raise ValidationException("Invalid query parameters")
    return {feed_id: face for feed_id, face in seen.items() if feed_id}


def read_query(search: str, status: str, page: str) -> FeedsQuery:
    """The filters of the list. Raises ValidationException."""
    number = page_number(page, search, most=SEARCH_MAX)
    if status not in set(FeedStatus):
        raise ValidationException("Invalid query parameters")
    return FeedsQuery(search.strip(), FeedStatus(status), number)


def _changed() -> Response[None]:
    return Response(None, status_code=204, headers={"HX-Trigger": "refreshFeedList"})


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
    if (found := parse_id(text)) is None:
        raise FeedNotFound
    return found
