"""Types that all folders share."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, NewType, TypeVar, dataclass_transform
from uuid import UUID

T = TypeVar("T")

SourceId = NewType("SourceId", UUID)
ArticleId = NewType("ArticleId", UUID)
UserId = NewType("UserId", UUID)


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """A dataclass that is frozen for the type checker only, since freezing at run time takes longer than filling it.

    For values of which a poll makes many; all others are frozen dataclasses.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)


class PageCursor(NamedTuple):
    """The last row of a page, in a list that is ordered by a time: the next page begins after it."""

    at: datetime
    id: UUID


@dataclass(frozen=True, slots=True)
class SortPlace:
    """The last row of a page of a table that is sorted by a column: its value in the column, by type, and its id."""

    id: UUID
    name: str = ""
    number: float = 0
    at: datetime | None = None  # None: never


class FailureClass(StrEnum):
    """Why a poll failed, in the database, the metrics and the log."""

    RATE_LIMITED = "rate_limited"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    GONE = "gone"
    BAD_REQUEST = "bad_request"
    UPSTREAM_FAILURE = "upstream_failure"
    NETWORK = "network"
    DNS = "dns"
    PARSE_ERROR = "parse_error"
    NOT_A_FEED = "not_a_feed"
    TOO_LARGE = "too_large"
    REDIRECT_LOOP = "redirect_loop"
    BOT_CHALLENGE = "bot_challenge"
    SSRF_BLOCKED = "ssrf_blocked"
    UNEXPECTED = "unexpected"


class SourceState(StrEnum):
    """The state of a source in the API, the metrics, the commands and the pages.

    The SQL function `source_state` decides which.
    """

    WORKING = "working"  # its last poll succeeded
    PENDING = "pending"  # not read yet
    FAILING = "failing"  # its last poll failed; it is retried
    AUTO_DISABLED = "auto_disabled"  # for a class of failure, until its cooldown ends or for good
    DISABLED = "disabled"  # an operator disabled its feed, or the whole source
    IN_REVIEW = "in_review"  # a reader suggested it, and no moderator has decided yet
    REJECTED = "rejected"  # a moderator rejected it


class PageKind(StrEnum):
    """What a URL is fetched for."""

    ARTICLE = "article"
    SITEMAP = "sitemap"
    LIST = "list"  # a page that links to articles, such as a front page


Clock = Callable[[], datetime]
"""Returns the time, aware and in UTC. An argument, so that tests can move it."""
