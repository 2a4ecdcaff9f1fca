"""What a source is, and how it looks to a person."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from headwater.types import SourceId


class SourceStatus(StrEnum):
    """How a source does, in the words a reader sees."""

    PENDING = "pending"
    WORKING = "working"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Source:
    """Something we follow: one per feed URL."""

    id: SourceId
    name: str
    feed_url: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SourceHealth:
    """A source with the state of its feed, for lists."""

    id: SourceId
    name: str
    feed_url: str
    created_at: datetime
    next_poll_at: datetime
    last_polled_at: datetime | None
    last_succeeded_at: datetime | None
    last_error: str | None
    last_error_type: str | None
    consecutive_errors: int
    article_count: int
    feed_disabled_at: datetime | None
    off_until: datetime | None

    @property
    def status(self) -> SourceStatus:
        """Pending until the first poll ends; then how the last one ended."""
        if self.last_polled_at is None:
            return SourceStatus.PENDING
        return SourceStatus.ERROR if self.last_error else SourceStatus.WORKING

    @property
    def is_off_for_good(self) -> bool:
        """Off, and only a person can enable it."""
        return self.feed_disabled_at is not None and self.off_until is None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Where a source's feed may have gone. A person confirms it."""

    source_id: SourceId
    source_name: str
    feed_url: str
    title: str
    entry_count: int
