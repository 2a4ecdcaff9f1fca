"""A sitemap, as it is read, remembered and dealt with. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from headwater.types import SourceId


class SitemapFormat(StrEnum):
    """What a file turned out to be."""

    URLSET = "urlset"
    INDEX = "index"
    TEXT = "text"
    FEED = "feed"  # RSS or Atom, which the protocol allows


class UnreadableSitemap(Exception):
    """The bytes are no sitemap. `reason` is a word for the frontier."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of a sitemap. `lastmod` is when it changed, or in a news sitemap when it was published."""

    url: str
    lastmod: datetime | None


@dataclass(frozen=True, slots=True)
class Sitemap:
    """What a file lists, as far as it is worth a request: the newest first, then what has no date.

    `url_count` and `newest` are of all that was read, `is_cut` says that there was more.
    """

    format: SitemapFormat
    pages: Sequence[Listed]
    children: Sequence[Listed]
    url_count: int
    newest: datetime | None
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of one sitemap is taken."""

    max_age: timedelta  # what has not changed for longer is left out; what has no date is not
    max_pages: int
    max_children: int
    max_bytes: int  # unpacked


@dataclass(frozen=True, slots=True)
class SitemapOptions:
    """How sitemaps are read; from settings."""

    limits: Limits
    max_depth: int = 3  # sitemaps inside of sitemaps
    budget: int = 500  # requests for sitemaps, of a source and day
    retire_after: timedelta = timedelta(days=30)  # without anything new
    concurrency: int = 4
    lease: timedelta = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class SitemapSource:
    """What reading a sitemap needs to know of the source that it belongs to."""

    id: SourceId
    addresses: Sequence[str]  # of feed, site and sitemap: whose pages we take
    article_url_patterns: Sequence[str]
    priority: int
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Reading:
    """What is remembered of a sitemap."""

    url: str
    source_id: SourceId | None
    last_read_at: datetime
    url_count: int
    new_count: int
    newest_lastmod: datetime | None
    idle_since: datetime  # when it last brought something new, or was first read
    unproductive_reads: int
    retired_at: datetime | None
