"""Subscriptions: a feed URL becomes a source, shared by its subscribers, and a subscription of the user. Shared rows
are written first; then `set_user` applies row-level security to the rest of the transaction."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from headwater.accounts.quotas import Quotas
from headwater.accounts.store.events import record
from headwater.accounts.types import EventType
from headwater.db import Connection, set_user
from headwater.errors import (
    AlreadySubscribed,
    FeedNotFound,
    InvalidUrl,
    SourceExists,
    SourceNotFound,
    TooManyFeeds,
)
from headwater.ids import new_id
from headwater.library.decide import NAME_MAX, check_category, check_feed
from headwater.library.store import subscriptions
from headwater.library.types import Subscription
from headwater.polling.store import holds as feed_holds
from headwater.sources import follow as following
from headwater.sources.page_links import READER_SCHEME
from headwater.sources.store import custom, sources
from headwater.sources.types import Source
from headwater.text import as_name
from headwater.types import SourceId, UserId
from headwater.urls import complete_url, host_of

FEEDS_MOST = Quotas().subscriptions


def check_address(text: str) -> str:
    """What a user typed as the address of a site or feed, as a URL: `example.com/feed`, `feed:https://…`. Raises
    InvalidFeed, with seed 002's words."""
    text = READER_SCHEME.sub("", text.strip())
    try:
        url = complete_url(text)
    except InvalidUrl:
        url = text
    return check_feed("-", url)[1]


def name_of(title: str, url: str) -> str:
    """The name of a feed with this title; without one, its host."""
    return as_name(title, most=NAME_MAX) or host_of(url)


async def add_feed(
    conn: Connection, *, user_id: UserId, name: str, url: str, category: str = "", now: datetime,
    most: int = FEEDS_MOST, known: SourceId | None = None,
) -> Subscription:  # fmt: skip
    """Subscribe to a feed; a new one is polled at once. `known`: its source, which the URL does not find after a move
    to another site. Raises InvalidFeed, AlreadySubscribed, TooManyFeeds, SourceNotFound."""
    name, url = check_feed(name, url)
    chosen = check_category(category)
    source = await (sources.lock_by_id(conn, source_id=known) if known else _source_of(conn, url, user_id, now))
    subscription = Subscription(new_id(), source.id, name, url, chosen, ())
    await set_user(conn, user_id)
    await subscriptions.lock(conn, user_id=user_id)
    if await subscriptions.is_followed(conn, url=url):
        raise AlreadySubscribed
    await subscriptions.add(
        conn, subscription_id=subscription.id, user_id=user_id, source_id=source.id, name=name, category=chosen, now=now
    )
    if await subscriptions.count(conn) > most:
        raise TooManyFeeds(most)
    await record(conn, user_id, EventType.FEED_ADDED, now, feed_id=str(subscription.id))
    return subscription


async def change_feed(
    conn: Connection, *, user_id: UserId, before: Subscription, name: str, url: str, category: str, now: datetime
) -> None:
    """Another name, or another address: then it is another source, polled at once. Raises InvalidFeed,
    AlreadySubscribed, FeedNotFound."""
    name, url = check_feed(name, url)
    chosen = check_category(category)
    is_same = url == before.url
    source_id = before.source_id if is_same else (await _source_of(conn, url, user_id, now)).id
    await set_user(conn, user_id)
    if not is_same and await subscriptions.is_followed(conn, url=url):
        raise AlreadySubscribed
    if not await subscriptions.change(conn, subscription_id=before.id, source_id=source_id, name=name, category=chosen):
        raise FeedNotFound  # deleted meanwhile: the new source is rolled back


async def drop_feed(conn: Connection, *, user_id: UserId, subscription_id: UUID) -> SourceId:
    """Unsubscribe; returns the source, for `leave_unwanted` in another transaction. Raises FeedNotFound."""
    await set_user(conn, user_id)
    source_id = await subscriptions.remove(conn, subscription_id=subscription_id)
    if source_id is None:
        raise FeedNotFound
    return source_id


async def leave_unwanted(conn: Connection, source_ids: Sequence[SourceId], now: datetime) -> None:
    """Delete those of these sources that users added and that have no subscription. Suggested sources stay as long as
    their submitter, and rejected ones for good, disabled without subscribers. Each source is locked before its
    subscriptions are counted: a transaction that adds one is waited for, and a later one finds the source deleted.
    Decisions of an operator or the site about a deleted source are kept, for when it is added again."""
    held = await custom.lock(conn, source_ids=source_ids)
    if not held:
        return
    await custom.clear_withdrawn(conn, source_ids=held)
    for source_id in await custom.list_unwanted(conn, source_ids=held):
        await feed_holds.keep_hold(conn, source_id=source_id, now=now)
        await sources.remove(conn, source_id=source_id)
    for source in await custom.list_unapproved(conn, source_ids=held):
        await following.disable_source(conn, source, now)


async def _source_of(conn: Connection, url: str, user_id: UserId, now: datetime) -> Source:
    """The source with this URL, locked against deletion until the transaction ends; added if there is none."""
    for is_last in (False, False, True):
        try:
            source = await sources.lock_by_url(conn, url=url)
        except SourceNotFound:
            pass
        else:
            if not source.enabled and await custom.is_only_unfollowed(conn, source_id=source.id):
                return await following.enable_source(conn, source, now)  # for its subscribers; it is not public
            return source
        try:
            async with conn.transaction():
                source = await following.follow(conn, url=url, name=None, now=now)
                await custom.set_submitter(conn, source_id=source.id, user_id=user_id)
                source = await following.apply_hold(conn, source, now)
        except SourceExists:  # added by another transaction meanwhile
            if is_last:
                raise
        else:
            return source
    raise AssertionError("unreachable")
