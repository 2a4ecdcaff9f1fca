"""Rediscovery: finds the new address of feeds that are gone. An operator or a subscriber confirms what was found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from headwater.db import Connection, Database
from headwater.errors import HostBusy
from headwater.hosts.robots_cache import PageRequests
from headwater.hosts.turns import Turns
from headwater.library.types import FeedItem, FeedStatus
from headwater.observability.log import get_logger
from headwater.polling.store import moves as feed_moves
from headwater.polling.store import results as feed_results
from headwater.polling.types import FailureClass, LostFeed
from headwater.sandbox import Sandbox
from headwater.sources.discovery import discover
from headwater.sources.store import suggestions
from headwater.sources.types import Suggestion
from headwater.types import Clock, SourceId
from headwater.urls import url_key

log = get_logger()

TIMEOUT = timedelta(minutes=1)
WAIT = timedelta(seconds=30)
RETRY_AFTER = timedelta(minutes=5)
SUGGESTIONS_MAX = 5
DUE_SOON = timedelta(seconds=10)  # a poll that the delay of its host holds back


@dataclass(slots=True)
class RediscoveryWorker:
    """The rediscovery stage. `busy`: feeds whose host was busy, and when to retry them."""

    database: Database
    pages: PageRequests
    sandbox: Sandbox
    clock: Clock
    turns: Turns
    max_bytes: int
    busy: dict[SourceId, datetime] = field(default_factory=dict[SourceId, datetime])
    name = "rediscovery"
    concurrency = 1

    async def claim(self, limit: int) -> Sequence[LostFeed]:
        """Lost feeds. Without a lease: two workers may take the same one and find the same. Raises Unavailable."""
        now = self.clock()
        self.busy = {source_id: until for source_id, until in self.busy.items() if until > now}
        async with self.database.transaction() as conn:
            lost = await feed_moves.list_lost(conn, limit=limit + len(self.busy))
        return [one for one in lost if one.source_id not in self.busy][:limit]

    async def work(self, lost: LostFeed) -> None:
        """Discover the feeds of its site and store them as suggestions. Raises Unavailable, HostBusy (retried)."""
        try:
            async with self.turns.borrow(wait=WAIT) as turn:
                discovery = await discover(
                    self.pages, self.sandbox, lost.feed_url, within=TIMEOUT, max_bytes=self.max_bytes, turn=turn
                )
        except HostBusy as busy:
            self.busy[lost.source_id] = max(busy.until or self.clock(), self.clock() + RETRY_AFTER)
            raise
        own = url_key(lost.feed_url)
        feeds = [feed for feed in discovery.found if url_key(feed.url) != own][:SUGGESTIONS_MAX]
        found = [Suggestion(lost.source_id, "", feed.url, feed.title, feed.entry_count) for feed in feeds]
        async with self.database.transaction() as conn:
            if not await feed_results.find_existing(conn, source_ids=[lost.source_id]):
                return
            await suggestions.replace(conn, source_id=lost.source_id, suggestions=found, found_at=self.clock())
            await feed_moves.end_rediscovery(conn, source_id=lost.source_id)
        log.info("rediscovery finished", source_id=str(lost.source_id), url=lost.feed_url, found=len(found))

    async def lag(self) -> timedelta:
        """Always 0: no user waits for this stage."""
        return timedelta(0)


@dataclass(frozen=True, slots=True)
class Offers:
    now: datetime
    found: Mapping[SourceId, Sequence[Suggestion]] = field(default_factory=dict[SourceId, Sequence[Suggestion]])
    sought: frozenset[SourceId] = frozenset()

    def of(self, item: FeedItem) -> Sequence[Suggestion]:
        return self.found.get(item.source_id, ()) if item.status is FeedStatus.ERROR else ()

    def is_page(self, item: FeedItem) -> bool:
        return item.status is FeedStatus.ERROR and item.last_error_type == FailureClass.NOT_A_FEED

    def face_of(self, item: FeedItem) -> str:
        """`pending`, `due` or `sought` while the line must be refreshed, else empty."""
        if item.status is FeedStatus.PENDING:
            return "pending"
        if item.next_poll_at is not None and not item.is_disabled and item.next_poll_at <= self.now + DUE_SOON:
            return "due"
        return "sought" if item.source_id in self.sought and item.status is FeedStatus.ERROR else ""


async def list_offered(conn: Connection, items: Sequence[FeedItem], now: datetime) -> Offers:
    failing = [item.source_id for item in items if item.status is FeedStatus.ERROR]
    if not failing:
        return Offers(now)
    found: dict[SourceId, list[Suggestion]] = {}
    for one in await suggestions.list_for(conn, source_ids=failing):
        found.setdefault(one.source_id, []).append(one)
    return Offers(now, found, frozenset(await suggestions.list_pending(conn, source_ids=failing)))
