"""Options of extraction, selectors of sources, and outcomes. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from headwater.articles.types import Extracted, Saved
from headwater.bodies.types import ClaimedBody


class UnreadablePage(Exception):
    """A page that cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Selectors:
    """A source's CSS selectors: of each list the first that matches counts, of `remove` all."""

    title: tuple[str, ...] = ()
    body: tuple[str, ...] = ()
    author: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


NO_SELECTORS = Selectors()


@dataclass(frozen=True, slots=True)
class SourceSelectors:
    """A source's selectors, and the URLs of its site, feed and sitemap: they apply to pages of these sites only."""

    selectors: Selectors
    urls: Sequence[str]


@dataclass(frozen=True, slots=True)
class ExtractionOptions:
    concurrency: int
    lease: timedelta


@dataclass(frozen=True, slots=True)
class ClaimedPage:
    page: ClaimedBody
    selectors: Selectors


class Failure(StrEnum):
    """Why a page gave no article; the frontier keeps it as the reason of a dead URL."""

    OVERRUN = "extraction_overrun"  # it exceeded a limit of time or memory
    UNREADABLE = "unreadable"
    NO_TEXT = "no_text"
    BROKE = "extraction_broke"  # a bug of ours


@dataclass(frozen=True, slots=True)
class Failed:
    failure: Failure
    detail: str


@dataclass(frozen=True, slots=True)
class ExtractionReport:
    """The outcome of one page. `saved` is None if nothing was stored."""

    url: str
    found: Extracted | Failed
    saved: Saved | None
