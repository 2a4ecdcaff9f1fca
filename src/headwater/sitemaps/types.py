"""Sitemaps as they are read and stored. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from headwater.types import SourceId


class SitemapFormat(StrEnum):
    URLSET = "urlset"
    INDEX = "index"
    TEXT = "text"
    FEED = "feed"  # RSS or Atom, which the protocol allows


class UnreadableSitemap(Exception):
    """The body is not a sitemap. `reason` is stored in the frontier."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail


@dataclass(frozen=True, slots=True)
class ListedUrl:
    """One line of a sitemap. `lastmod` is when it changed, or in a news sitemap when it was published."""

    url: str
    lastmod: datetime | None


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The URLs of a file that are worth a request: the newest first, then those without a date. `url_count` and
    `newest` are of all lines; `is_cut`: there were more."""

    format: SitemapFormat
    pages: Sequence[ListedUrl]
    children: Sequence[ListedUrl]
    url_count: int
    newest: datetime | None
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Limits:
    max_age: timedelta  # older URLs are left out; those without a date are not
    max_pages: int
    max_children: int
    max_bytes: int  # unpacked


@dataclass(frozen=True, slots=True)
class SitemapOptions:
    limits: Limits
    max_depth: int = 3  # of sitemaps in sitemaps
    budget: int = 500  # requests for sitemaps of a source per day
    retire_after: timedelta = timedelta(days=30)  # without new URLs
    concurrency: int = 4
    lease: timedelta = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Reading:
    url: str
    source_id: SourceId | None
    last_read_at: datetime
    url_count: int
    new_count: int
    newest_lastmod: datetime | None
    idle_since: datetime  # when it last had a new URL, or was first read
    unproductive_reads: int
    retired_at: datetime | None
