"""What polling knows of a feed, what a poll ends in, and what is to be done next."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never
from uuid import UUID

from headwater.polling.parse.types import ParsedFeed
from headwater.types import SourceId


class FailureClass(StrEnum):
    """Why a poll failed: one vocabulary for the column, the metric's label and the log."""

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


@dataclass(frozen=True, slots=True)
class PollingOptions:
    """How feeds are polled; from settings."""

    interval: timedelta
    interval_max: timedelta
    concurrency: int
    timeout: timedelta
    max_bytes: int
    max_entries: int


@dataclass(frozen=True, slots=True)
class ClaimedFeed:
    """A due feed that this worker holds until its lease ends."""

    source_id: SourceId
    feed_url: str
    lease: UUID
    next_poll_at: datetime
    last_etag: str | None
    last_modified: str | None
    consecutive_errors: int


@dataclass(frozen=True, slots=True)
class Validators:
    """What a server gave to tell one version of a feed from the next; sent back word for word."""

    etag: str | None
    last_modified: str | None


@dataclass(frozen=True, slots=True)
class Polled:
    """The feed was read."""

    feed: ParsedFeed
    validators: Validators


@dataclass(frozen=True, slots=True)
class NotModified:
    """The feed is what it was. Validators are renewed where the answer carries them."""

    validators: Validators


@dataclass(frozen=True, slots=True)
class PollFailed:
    """The feed could not be read. `detail` is a sentence for a person."""

    kind: FailureClass
    detail: str
    status: int | None = None
    retry_after: timedelta | None = None


PollOutcome = Polled | NotModified | PollFailed


@dataclass(frozen=True, slots=True)
class PollReport:
    """One poll, told afterwards."""

    source_id: SourceId
    feed_url: str
    outcome: PollOutcome
    new_articles: int
    next_poll_at: datetime
    took: timedelta

    @property
    def outcome_name(self) -> str:
        """`polled`, `not_modified`, or the class of the failure."""
        match self.outcome:
            case Polled():
                return "polled"
            case NotModified():
                return "not_modified"
            case PollFailed():
                return self.outcome.kind.value
            case _:
                assert_never(self.outcome)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is written after a poll."""

    next_poll_at: datetime
    consecutive_errors: int
    last_error: str | None
    last_error_type: FailureClass | None
