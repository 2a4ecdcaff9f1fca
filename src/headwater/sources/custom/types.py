"""Suggestions of feeds for all users, decisions on them, and blocked domains. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from urllib.parse import urlsplit

from headwater.types import PageCursor, SourceId, UserId


class ModerationStatus(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"


class Shown(StrEnum):
    PENDING = "pending"
    UNREVIEWED = "unreviewed"  # approved by karma, without a moderator's decision
    APPROVED = "approved"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A feed as a user suggests it. No interval: adaptive."""

    name: str
    url: str
    category: str | None = None
    interval_minutes: int | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    title: str
    format: str
    site_url: str | None
    entry_count: int
    latest_at: datetime | None
    titles: tuple[str, ...]

    @property
    def site_host(self) -> str:
        return (urlsplit(self.site_url).hostname or "").rstrip(".") if self.site_url else ""


@dataclass(frozen=True, slots=True)
class Inspected:
    """A feed that was fetched and parsed. `url` is its permanent URL, `hops` are all URLs of its redirects."""

    url: str
    sample: Sample
    hops: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class NoFeed:
    """Why a URL cannot be suggested, as a sentence, and the feeds that its page links to, by URL and title."""

    reason: str
    offers: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class ExistingSource:
    """A source that has the URL already. No status: it was never suggested for all users."""

    id: SourceId
    name: str
    is_system: bool
    status: ModerationStatus | None

    @property
    def is_public(self) -> bool:
        return self.is_system or self.status is ModerationStatus.APPROVED


@dataclass(frozen=True, slots=True)
class CustomFeed:
    """A suggestion as its submitter sees it."""

    id: SourceId
    name: str
    url: str
    category: str | None
    interval_minutes: int | None
    status: ModerationStatus
    is_active: bool
    sample: Sample
    created_at: datetime
    decided_at: datetime | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedSubmission(CustomFeed):
    """A suggestion as a moderator sees it, with the record of its submitter."""

    host: str
    submitter_id: UserId
    submitter: str
    karma: int
    approved_count: int
    rejected_count: int
    subscriber_count: int
    decided_by_name: str | None

    @property
    def is_live_by_trust(self) -> bool:
        """Approved by karma, without a moderator's decision."""
        return self.status is ModerationStatus.APPROVED and self.decided_at is None


@dataclass(frozen=True, slots=True)
class PossibleDuplicate:
    suggestion_id: SourceId
    id: SourceId
    name: str
    url: str
    status: ModerationStatus | None
    is_system: bool
    is_same_host: bool
    is_same_name: bool


@dataclass(frozen=True, slots=True)
class DomainRecord:
    """Decisions on the suggestions of a domain and its subdomains."""

    domain: str
    approved: int = 0
    rejected: int = 0
    is_blocked: bool = False

    @property
    def reputation(self) -> str:
        """`blocked`, `good`, `bad`, `mixed`, or `unknown` without decisions."""
        if self.is_blocked:
            return "blocked"
        if not self.approved and not self.rejected:
            return "unknown"
        return "mixed" if self.approved and self.rejected else "good" if self.approved else "bad"


@dataclass(frozen=True, slots=True)
class SubmitterRecord:
    approved: int = 0
    rejected: int = 0


@dataclass(frozen=True, slots=True)
class QueueFilter:
    text: str | None = None
    submitter_id: UserId | None = None
    host: str | None = None


@dataclass(frozen=True, slots=True)
class QueuePage:
    submissions: list[FeedSubmission]
    next: PageCursor | None


@dataclass(frozen=True, slots=True)
class BlockedDomain:
    """A domain whose feeds, and those of its subdomains, are refused."""

    domain: str
    reason: str
    blocked_by_name: str
    blocked_at: datetime


@dataclass(frozen=True, slots=True)
class PublicSource:
    id: SourceId
    name: str
    url: str
    site_url: str | None
    category: str | None
    subscriber_count: int
    article_count: int
    is_followed: bool
    is_custom: bool
