"""Rediscovery: finds the new address of feeds that are gone. An operator or a subscriber confirms what was found."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from headwater.db import Database
from headwater.errors import HostBusy
from headwater.hosts.turns import Turns
from headwater.net import Client
from headwater.observability.log import get_logger
from headwater.polling.store import moves as feed_moves
from headwater.polling.store import results as feed_results
from headwater.polling.types import LostFeed
from headwater.sandbox import Sandbox
from headwater.sources.discovery import Discovery, discover
from headwater.sources.store import suggestions as suggestions_store
from headwater.sources.types import Suggestion
from headwater.types import Clock, SourceId
from headwater.urls import url_key

log = get_logger()

TIMEOUT = timedelta(minutes=1)
WAIT = timedelta(seconds=30)
RETRY_AFTER = timedelta(minutes=5)
SUGGESTIONS_MAX = 5


class RediscoveryWorker:
    """The rediscovery stage."""

    name = "rediscovery"
    concurrency = 1

    def __init__(
        self, database: Database, client: Client, sandbox: Sandbox, clock: Clock, turns: Turns, *, max_bytes: int
    ) -> None:
        self._database = database
        self._client = client
        self._sandbox = sandbox
        self._clock = clock
        self._turns = turns
        self._max_bytes = max_bytes
        self._busy: dict[SourceId, datetime] = {}  # feeds whose host was busy, and when to retry them

    async def claim(self, limit: int) -> Sequence[LostFeed]:
        """Lost feeds. Without a lease: two workers may take the same one and find the same. Raises Unavailable."""
        now = self._clock()
        self._busy = {source_id: until for source_id, until in self._busy.items() if until > now}
        async with self._database.transaction() as conn:
            lost = await feed_moves.list_lost(conn, limit=limit + len(self._busy))
        return [one for one in lost if one.source_id not in self._busy][:limit]

    async def work(self, lost: LostFeed) -> None:
        """Discover the feeds of its site and store them as suggestions. Raises Unavailable, HostBusy (retried)."""
        try:
            async with self._turns.borrow(wait=WAIT) as turn:
                discovery = await discover(
                    self._client, self._sandbox, lost.feed_url, within=TIMEOUT, max_bytes=self._max_bytes, turn=turn
                )
        except HostBusy as busy:
            self._busy[lost.source_id] = max(busy.until or self._clock(), self._clock() + RETRY_AFTER)
            raise
        found = _suggestions(lost, discovery)
        async with self._database.transaction() as conn:
            if not await feed_results.still_followed(conn, source_ids=[lost.source_id]):
                return
            await suggestions_store.replace(conn, source_id=lost.source_id, suggestions=found, found_at=self._clock())
            await feed_moves.found_or_not(conn, source_id=lost.source_id)
        log.info("rediscovery finished", source_id=str(lost.source_id), url=lost.feed_url, found=len(found))

    async def lag(self) -> timedelta:
        """Always 0: no user waits for this stage."""
        return timedelta(0)


def _suggestions(lost: LostFeed, discovery: Discovery) -> list[Suggestion]:
    own = url_key(lost.feed_url)
    found = [feed for feed in discovery.found if url_key(feed.url) != own][:SUGGESTIONS_MAX]
    return [Suggestion(lost.source_id, "", feed.url, feed.title, feed.entry_count) for feed in found]
