"""What a reader follows: the feed they name becomes a source, shared with all who name it, and a subscription.

Each step that touches what is shared comes first; then the transaction speaks for the reader, and row-level security
holds for the rest of it.
"""

from datetime import datetime
from uuid import UUID

from headwater.accounts.access import record
from headwater.accounts.types import EventType
from headwater.db import Connection, speak_for
from headwater.errors import FeedNotFound, SourceNotFound
from headwater.ids import new_id
from headwater.library import store as library
from headwater.library.decide import check_category, check_feed
from headwater.library.types import Subscription
from headwater.sources import follow as following
from headwater.sources import store
from headwater.sources.types import Source
from headwater.types import UserId


async def add_feed(
    conn: Connection, *, user_id: UserId, name: str, url: str, category: str = "", now: datetime
) -> Subscription:
    """Follow a feed; it is polled at once unless it is already. Raises InvalidFeed, AlreadySubscribed."""
    name, url = check_feed(name, url)
    chosen = check_category(category)
    source = await _source_of(conn, url, user_id, now)
    subscription = Subscription(new_id(), source.id, name, url, chosen)
    await speak_for(conn, user_id)
    await library.subscribe(
        conn,
        subscription_id=subscription.id,
        user_id=user_id,
        source_id=source.id,
        name=name,
        category=chosen,
        now=now,
    )
    await record(conn, user_id, EventType.FEED_ADDED, now, feed_id=str(subscription.id))
    return subscription


async def change_feed(
    conn: Connection, *, user_id: UserId, before: Subscription, name: str, url: str, category: str, now: datetime
) -> None:
    """Another name, or another address: then it is another source, polled at once. Raises InvalidFeed,
    AlreadySubscribed."""
    name, url = check_feed(name, url)
    chosen = check_category(category)
    source_id = before.source_id if url == before.url else (await _source_of(conn, url, user_id, now)).id
    await speak_for(conn, user_id)
    await library.change_subscription(conn, subscription_id=before.id, source_id=source_id, name=name, category=chosen)


async def drop_feed(conn: Connection, *, user_id: UserId, subscription_id: UUID) -> None:
    """Stop following. Raises FeedNotFound."""
    await speak_for(conn, user_id)
    if await library.unsubscribe(conn, subscription_id=subscription_id) is None:
        raise FeedNotFound


async def leave_all_unwanted(conn: Connection, now: datetime) -> None:
    """Sources that readers brought and that nobody follows any more are left, and their articles with them.

    What was suggested for everybody stays as long as whoever suggested it, and what was refused for good; but what
    waits or was refused is read for nobody.
    """
    await store.forget_withdrawn(conn)
    for source in await store.list_unwanted(conn):
        await following.leave(conn, source, now)
    for source in await store.list_held_back(conn):
        await following.switch_off(conn, source, now)


async def _source_of(conn: Connection, url: str, user_id: UserId, now: datetime) -> Source:
    """The source with this address; made when there is none."""
    try:
        source = await store.find_by_url(conn, url=url)
        if not source.enabled and await store.is_held_back(conn, source_id=source.id):
            return await following.switch_on(conn, source, now)  # for themselves, whatever becomes of it for others
    except SourceNotFound:
        source = await following.follow(conn, url=url, name=None, now=now)
        await store.set_submitter(conn, source_id=source.id, user_id=user_id)
    return source
