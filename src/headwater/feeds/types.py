"""A parsed feed, the same for every format. Pure data."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from headwater.types import record


class UnreadableBody(Exception):
    """A body from which no feed can be read; `reason` says why, in plain words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NotAFeed(UnreadableBody):
    """The body is something else: a web page, a picture, an archive, other XML or JSON."""


class FeedParseError(UnreadableBody):
    """The body is empty, or begins like a feed and cannot be read."""


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A file that comes with an entry: a podcast's audio, a video. Pictures are `Entry.image_url`."""

    url: str
    type: str | None = None
    length: int | None = None
    duration: timedelta | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class GeoPoint:
    latitude: float
    longitude: float


@record
class Entry:
    """One entry of a feed. URLs are absolute http(s); times are aware, in UTC; summary and content are safe HTML."""

    id: str
    url: str | None = None
    title: str = ""
    authors: tuple[str, ...] = ()
    published_at: datetime | None = None
    updated_at: datetime | None = None
    summary: str | None = None
    content: str | None = None
    language: str | None = None
    categories: tuple[str, ...] = ()
    enclosures: tuple[Enclosure, ...] = ()
    image_url: str | None = None
    comments_url: str | None = None
    comment_count: int | None = None
    place: GeoPoint | None = None

    @property
    def is_empty(self) -> bool:
        shown = (self.url, self.title, self.summary, self.content, self.enclosures, self.image_url, self.comments_url)
        return not any(shown)


@dataclass(frozen=True, slots=True)
class ParsedFeed:
    """A feed and its entries. `description` is safe HTML, `title` plain text; weekdays count from Monday = 0."""

    format: str
    title: str = ""
    site_url: str | None = None
    description: str | None = None
    language: str | None = None
    authors: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    updated_at: datetime | None = None
    icon_url: str | None = None
    image_url: str | None = None
    ttl: timedelta | None = None
    update_period: timedelta | None = None
    skip_hours: frozenset[int] = frozenset()
    skip_days: frozenset[int] = frozenset()
    hub_urls: tuple[str, ...] = ()
    self_url: str | None = None
    next_url: str | None = None
    generator: str | None = None
    entries: tuple[Entry, ...] = ()
