"""Moving: feeds whose permanent redirect polling believes get their new URL, or join the source that holds it."""

from collections.abc import Sequence
from datetime import timedelta

from headwater.db import Connection, Database
from headwater.errors import InvalidUrl, SourceExists, SourceNotFound
from headwater.observability.log import get_logger
from headwater.polling.store import moves as feed_moves
from headwater.polling.store import results as feed_results
from headwater.polling.types import MovedFeed
from headwater.sources.decide import key_after_move
from headwater.sources.merge import merge
from headwater.sources.store import merging, sources
from headwater.types import Clock
from headwater.urls import host_of, parse_url, url_key

log = get_logger()


class Mover:
    """The moving stage."""

    name = "moving"
    concurrency = 1

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def claim(self, limit: int) -> Sequence[MovedFeed]:
        """Feeds that have moved. Two workers may see one; the second finds nothing left. Raises Unavailable."""
        async with self._database.transaction() as conn:
            return await feed_moves.list_moved(conn, limit=limit)

    async def work(self, moved: MovedFeed) -> None:
        """Give the feed its new URL, or merge it into the source that has it. Raises Unavailable."""
        try:
            url = parse_url(moved.url)
        except InvalidUrl:
            url = None
        async with self._database.as_system() as conn:
            if not await feed_moves.is_moving(conn, moved=moved):
                return  # somebody said otherwise meanwhile
            if url is not None and await feed_results.find_blocked_domain(
                conn, source_id=moved.source_id, host=host_of(url)
            ):
                await feed_moves.stay(conn, source_id=moved.source_id)
            elif url is None or not await self._rename(conn, moved, url):
                await self._merge_or_stay(conn, moved, url)

    async def lag(self) -> timedelta:
        """Nothing waits for a feed to move: it is read at its old address meanwhile."""
        return timedelta(0)

    async def _rename(self, conn: Connection, moved: MovedFeed, url: str) -> bool:
        place = await merging.find_place(conn, source_id=moved.source_id)
        key = key_after_move(place, url) if place else url_key(url)
        try:
            async with conn.transaction():
                await sources.change_url(conn, source_id=moved.source_id, feed_url=url, feed_url_key=key)
        except SourceExists:
            return False
        await feed_moves.adopt(conn, source_id=moved.source_id, feed_url=url, host=host_of(url), now=self._clock())
        log.info("source moved", source_id=str(moved.source_id), to=url)
        return True

    async def _merge_or_stay(self, conn: Connection, moved: MovedFeed, url: str | None) -> None:
        """A feed that stays is polled through its redirect, and asks again when that has held for another while."""
        try:
            other = await sources.find_by_url(conn, url=url) if url is not None else None
        except SourceNotFound:
            return  # it was deleted meanwhile: the next turn takes the address
        if other is not None and await merge(conn, source_id=moved.source_id, into=other.id):
            log.info("source merged", source_id=str(moved.source_id), into=str(other.id), url=url)
        else:
            await feed_moves.stay(conn, source_id=moved.source_id)
