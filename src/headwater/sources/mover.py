"""Moving: a feed with a confirmed permanent redirect gets its new URL, or is merged into the source that has it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from headwater.analytics import store as analytics
from headwater.articles.decide import is_private_feed
from headwater.articles.store import links
from headwater.db import Connection, Database
from headwater.errors import InvalidUrl, SourceExists, SourceNotFound
from headwater.library.store import subscriptions
from headwater.observability.log import get_logger
from headwater.polling.store import moves as feed_moves
from headwater.polling.store import results as feed_results
from headwater.polling.types import MovedFeed
from headwater.sources.decide import key_after_move, may_merge
from headwater.sources.follow import route_again, route_moved
from headwater.sources.store import merging, sources
from headwater.types import Clock, SourceId
from headwater.urls import host_of, parse_url, url_key

log = get_logger()


@dataclass(frozen=True, slots=True)
class Mover:
    database: Database
    clock: Clock
    name = "moving"
    concurrency = 1

    async def claim(self, limit: int) -> Sequence[MovedFeed]:
        """Feeds that have moved. Without a lease: the second worker on one finds nothing to do. Raises Unavailable."""
        async with self.database.transaction() as conn:
            return await feed_moves.list_moved(conn, limit=limit)

    async def work(self, moved: MovedFeed) -> None:
        """Give the feed its new URL, or merge it into the source that has it. Raises Unavailable."""
        source_id = moved.source_id
        try:
            url = parse_url(moved.url)
        except InvalidUrl:
            url = None
        async with self.database.as_system() as conn:
            if not await feed_moves.is_moving(conn, moved=moved):
                return  # moved by another worker, or changed by an operator
            if url is None or await feed_results.find_blocked_domain(conn, source_id=source_id, host=host_of(url)):
                await feed_moves.stay(conn, source_id=source_id)
            elif not await self._rename(conn, source_id, url):
                await self._merge_or_stay(conn, source_id, url)

    async def lag(self) -> timedelta:
        """Always 0: until it is moved, a feed is polled through its redirect."""
        return timedelta(0)

    async def _rename(self, conn: Connection, source_id: SourceId, url: str) -> bool:
        address = await merging.find_address(conn, source_id=source_id)
        key = key_after_move(address, url) if address else url_key(url)
        was_private = address is not None and is_private_feed(address.feed_url, is_public=address.is_system)
        try:
            async with conn.transaction():
                await sources.change_url(
                    conn, source_id=source_id, feed_url=url, feed_url_key=key, was_private=was_private
                )
        except SourceExists:
            return False
        await feed_moves.adopt(conn, source_id=source_id, feed_url=url, host=host_of(url), now=self.clock())
        if address:
            before, is_system = address.feed_url, address.is_system
            await route_moved(conn, source_id, before=before, after=url, is_public=is_system, now=self.clock())
        log.info("source moved", source_id=str(source_id), to=url)
        return True

    async def _merge_or_stay(self, conn: Connection, source_id: SourceId, url: str) -> None:
        """Merge it, or poll it through its redirect until that has been confirmed again."""
        try:
            other = await sources.find_by_url(conn, url=url)
        except SourceNotFound:
            return  # deleted meanwhile: the next round takes the URL
        if await merge(conn, source_id=source_id, into=other.id):
            await route_again(conn, other.id, self.clock())  # it may have become a system source
            log.info("source merged", source_id=str(source_id), into=str(other.id), url=url)
        else:
            await feed_moves.stay(conn, source_id=source_id)


async def merge(conn: Connection, *, source_id: SourceId, into: SourceId) -> bool:
    """Merge a source into another, if allowed: subscriptions, articles and settings move, the polling history and
    suggestions are deleted. Returns whether it was merged."""
    pair = await merging.lock_pair(conn, source_id=source_id, other_id=into)
    if pair is None or not may_merge(pair):
        return False
    await subscriptions.keep_read_state(conn, source_id=source_id, to=into)  # before unread articles are linked
    await feed_results.add_count(conn, source_id=into, articles=await links.relink(conn, source_id=source_id, to=into))
    await analytics.count_for(conn, source_id=source_id, to=into)
    await subscriptions.drop_duplicates(conn, source_id=source_id, of=into)
    await subscriptions.move(conn, source_id=source_id, to=into)
    await merging.inherit(conn, source_id=source_id, to=into)
    await sources.remove(conn, source_id=source_id)
    return True
