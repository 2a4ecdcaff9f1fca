"""Feeds found for failing subscriptions, and whether rediscovery is pending."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headwater.db import Connection
from headwater.library.types import FeedItem, FeedStatus
from headwater.polling.types import FailureClass
from headwater.sources.store import suggestions
from headwater.sources.types import Suggestion
from headwater.types import SourceId

NO_OFFERS: Sequence[Suggestion] = ()


@dataclass(frozen=True, slots=True)
class Offers:
    """Suggestions for the feeds of one list."""

    found: Mapping[SourceId, Sequence[Suggestion]] = field(default_factory=dict[SourceId, Sequence[Suggestion]])
    sought: frozenset[SourceId] = frozenset()

    def of(self, item: FeedItem) -> Sequence[Suggestion]:
        return self.found.get(item.source_id, NO_OFFERS) if item.status is FeedStatus.ERROR else NO_OFFERS

    def is_page(self, item: FeedItem) -> bool:
        return item.status is FeedStatus.ERROR and item.last_error_type == FailureClass.NOT_A_FEED

    def face_of(self, item: FeedItem) -> str:
        """`pending` or `sought` while the line must be refreshed, else empty."""
        if item.status is FeedStatus.PENDING:
            return "pending"
        return "sought" if item.source_id in self.sought and item.status is FeedStatus.ERROR else ""


async def list_offered(conn: Connection, items: Sequence[FeedItem]) -> Offers:
    """The suggestions for those of these feeds that fail."""
    failing = [item.source_id for item in items if item.status is FeedStatus.ERROR]
    if not failing:
        return Offers()
    found: dict[SourceId, list[Suggestion]] = {}
    for one in await suggestions.list_for(conn, source_ids=failing):
        found.setdefault(one.source_id, []).append(one)
    return Offers(found, frozenset(await suggestions.list_pending(conn, source_ids=failing)))
