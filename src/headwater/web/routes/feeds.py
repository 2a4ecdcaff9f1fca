"""The user's feeds (seed 002): list, add, change and delete. A change responds with 204 and `refreshFeedList`, an event
on which the list is loaded again with its filters, and with `added`, the feed that it shows and confirms."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from litestar import Response, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.exceptions import ValidationException
from litestar.params import FromPath, FromQuery, URLEncodedBody
from litestar.response import Template

from headwater.accounts.decide import Limit
from headwater.accounts.quotas import HOUR, Quotas, spend
from headwater.asgi.handlers import Call, CallContext
from headwater.errors import FeedNotFound
from headwater.library.decide import check_tags, page_count
from headwater.library.store import images, subscriptions
from headwater.library.types import FEEDS_PER_PAGE, FeedPage, FeedsQuery, FeedStatus, Subscription
from headwater.sources import operate
from headwater.sources.rediscovery import list_offered
from headwater.sources.store import sources
from headwater.sources.subscribe import add_feed, change_feed, drop_feed, leave_unwanted
from headwater.types import SourceId
from headwater.web.errors import fragment
from headwater.web.query import page_number, parse_id

SEARCH_MAX = 255
ADDED = "Headwater-Added"  # the header with the id of a new feed


@dataclass(frozen=True, slots=True)
class FeedForm:
    """A feed to add or change; a feed that was found on a web page has only a URL."""

    name: str = ""
    url: str = ""
    category: str = ""
    tags: str | None = None  # separated by commas; None keeps those it has


@fragment(get, "/feeds", "Failed to load feeds")
async def feeds(
    call: Call, search: FromQuery[str] = "", status: FromQuery[str] = "all", page: FromQuery[str] = "1",
    editing: FromQuery[list[str] | None] = None, closing: FromQuery[str] = "",
    added: FromQuery[list[str] | None] = None,
) -> Template:  # fmt: skip
    """A page of the list, at most the last one, or the one with the feed that was added. Lines that are being edited
    are not replaced."""
    query = read_query(search, status, page)
    added_id = parse_id(added[-1]) if added else None
    async with call.as_user() as conn:
        new = await subscriptions.find(conn, subscription_id=added_id) if added_id else None
        place = await subscriptions.find_position(conn, query=query, subscription_id=new.id) if new else None
        query = query if place is None else replace(query, page=place // FEEDS_PER_PAGE + 1)
        total = await subscriptions.count_feeds(conn, query=query)
        pages = page_count(total, FEEDS_PER_PAGE)
        query = replace(query, page=min(query.page, max(pages, 1)))
        items = await subscriptions.list_feeds(conn, query=query, limit=FEEDS_PER_PAGE)
        offers = await list_offered(conn, items, call.now)
        icons = await images.find_icon_digests(conn, feed_ids=[item.id for item in items])
    found = FeedPage(items, query.page, pages, total)
    edited = {item.id for item in items if str(item.id) in set(editing or ()) - {closing}}
    return call.page(
        "feeds/list.html", found=found, query=query, offers=offers, editing=edited, added=new, feed_icons=icons
    )


@fragment(get, "/feeds/changed", "Failed to load feeds")
async def changed(call: Call, watched: FromQuery[list[str] | None] = None) -> Template | Response[None]:
    """The lines that have changed since they were sent; 204 if there are none."""
    seen = read_watched(watched or [])
    async with call.as_user() as conn:
        items = await subscriptions.list_items(conn, subscription_ids=list(seen))
        offers = await list_offered(conn, items, call.now)
        icons = await images.find_icon_digests(conn, feed_ids=[item.id for item in items])
    news = [item for item in items if offers.face_of(item) != seen[item.id]]
    if not news:
        return Response(None, status_code=204)
    is_waiting = any(offers.face_of(item) for item in items)
    return call.page("feeds/changed.html", feeds=news, offers=offers, is_waiting=is_waiting, feed_icons=icons)


@fragment(post, "/feeds", "Failed to add feed. Please try again.", place="feed-add-form-errors", status_code=204)
async def add(call: Call, data: URLEncodedBody[FeedForm], quotas: NamedDependency[Quotas]) -> Response[None]:
    """Add a feed; it is polled at once."""
    return await subscribe(call, data, quotas)


@fragment(get, "/feeds/{feed_id:str}/edit", "Failed to load feed")
async def edit_form(call: Call, feed_id: FromPath[str]) -> Template:
    return call.page("feeds/edit.html", feed=await _find(call, feed_id))


@fragment(
    patch, "/feeds/{feed_id:str}", "Failed to update feed", place="feed-edit-form-errors-{feed_id}",
    taken="A feed with this URL already exists", status_code=204,
)  # fmt: skip
async def change(
    call: Call, feed_id: FromPath[str], data: URLEncodedBody[FeedForm], quotas: NamedDependency[Quotas]
) -> Response[None]:
    await _change(call, await _find(call, feed_id), data, quotas)
    return _changed()


@fragment(delete, "/feeds/{feed_id:str}", "Failed to delete feed", place="feed-item-{feed_id}-errors", status_code=204)
async def remove(call: Call, feed_id: FromPath[str]) -> Response[None]:
    async with call.database.transaction() as conn:
        source_id = await drop_feed(conn, user_id=call.user.id, subscription_id=_id(feed_id))
    await _leave(call, source_id)
    return _changed()


@fragment(post, "/feeds/{feed_id:str}/retry", "Failed to retry", place="feed-item-{feed_id}-errors", status_code=204)
async def retry(call: Call, feed_id: FromPath[str], quotas: NamedDependency[Quotas]) -> Response[None]:
    """Poll a feed at once ("Retry" or "Refresh"), unless an operator disabled it or its site asks us to wait."""
    subscription = await _find(call, feed_id)
    await spend_hourly(call, "retries", quotas.retries_per_hour)
    async with call.database.transaction() as conn:
        source = await sources.find_by_id(conn, source_id=subscription.source_id)
        await operate.retry(conn, source, actor=call.actor, now=call.now)
    return _changed()


@fragment(
    post, "/feeds/{feed_id:str}/switch", "Failed to update feed", place="feed-item-{feed_id}-errors", status_code=204
)
async def switch(
    call: Call, feed_id: FromPath[str], data: URLEncodedBody[FeedForm], quotas: NamedDependency[Quotas]
) -> Response[None]:
    """Replace a web page by a feed that was found on it."""
    before = await _find(call, feed_id)
    await _change(call, before, FeedForm(before.name, data.url, before.category or ""), quotas)
    return _changed()


async def subscribe(call: CallContext, form: FeedForm, quotas: Quotas) -> Response[None]:
    """Raises QuotaReached, InvalidFeed, AlreadySubscribed, TooManyFeeds."""
    await spend_hourly(call, "additions", quotas.additions_per_hour)
    async with call.database.transaction() as conn:
        added = await add_feed(
            conn, user_id=call.user.id, name=form.name, url=form.url, category=form.category, now=call.now,
            most=quotas.subscriptions,
        )  # fmt: skip
    return Response(None, status_code=204, headers={"HX-Trigger": "refreshFeedList", ADDED: str(added.id)})


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


async def spend_hourly(call: CallContext, what: str, most: int) -> None:
    """Raises QuotaReached."""
    await spend(call.database, user_id=call.user.id, what=what, limit=Limit(most, HOUR), now=call.now)


async def _change(call: CallContext, before: Subscription, form: FeedForm, quotas: Quotas) -> None:
    if form.url.strip() != before.url:  # another feed, which is polled at once
        await spend_hourly(call, "additions", quotas.additions_per_hour)
    tags = before.tags if form.tags is None else check_tags(form.tags, most=quotas.tags)
    async with call.database.transaction() as conn:
        await change_feed(
            conn, user_id=call.user.id, before=before, name=form.name, url=form.url, category=form.category,
            now=call.now,
        )  # fmt: skip
        await subscriptions.set_tags(conn, subscription_id=before.id, tags=tags)
    if form.url.strip() != before.url:
        await _leave(call, before.source_id)


async def _find(call: CallContext, feed_id: str) -> Subscription:
    async with call.as_user() as conn:
        found = await subscriptions.find(conn, subscription_id=_id(feed_id))
    if found is None:
        raise FeedNotFound
    return found


async def _leave(call: CallContext, source_id: SourceId) -> None:
    async with call.database.as_system() as conn:
        await leave_unwanted(conn, [source_id], call.now)


def _id(text: str) -> UUID:
    if (found := parse_id(text)) is None:
        raise FeedNotFound
    return found
