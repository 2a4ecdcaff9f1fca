"""A feed that a reader suggests for everybody, what it held then, and what came of it. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from urllib.parse import urlsplit

from headwater.types import SourceId, UserId


class ModerationStatus(StrEnum):
    """Where a suggestion stands."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"


class Shown(StrEnum):
    """Which suggestions to list. unreviewed: live since their submitter is trusted, and nobody has looked at them."""

    PENDING = "pending"
    UNREVIEWED = "unreviewed"
    APPROVED = "approved"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A feed as a reader suggests it. No interval: as often as the settings say."""

    name: str
    url: str
    category: str | None = None
    interval_minutes: int | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """What a feed held when it was suggested: what a moderator judges by."""

    title: str
    format: str
    site_url: str | None
    entry_count: int
    latest_at: datetime | None
    titles: tuple[str, ...]

    @property
    def site_host(self) -> str:
        """The host of its site; empty where it names none."""
        return (urlsplit(self.site_url).hostname or "").rstrip(".") if self.site_url else ""


@dataclass(frozen=True, slots=True)
class Offer:
    """A feed that a page names."""

    url: str
    title: str


@dataclass(frozen=True, slots=True)
class Inspected:
    """A feed that was fetched and read. `url` is where it lives for good, `hops` all that its redirects led through."""

    url: str
    sample: Sample
    hops: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class NoFeed:
    """Why an address cannot be taken, in a sentence, and the feeds that it names."""

    reason: str
    offers: Sequence[Offer] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """A source that has the address already. No status: nobody has suggested it for everybody."""

    id: SourceId
    name: str
    is_system: bool
    status: ModerationStatus | None


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


@dataclass(frozen=True, slots=True)
class Submission:
    """A suggestion as a moderator sees it, with the record of whoever made it."""

    id: SourceId
    name: str
    url: str
    host: str
    category: str | None
    interval_minutes: int | None
    status: ModerationStatus
    is_active: bool
    sample: Sample
    submitted_at: datetime
    submitter_id: UserId
    submitter: str
    karma: int
    approved_count: int
    rejected_count: int
    subscriber_count: int
    decided_at: datetime | None
    decided_by_name: str | None
    reason: str | None

    @property
    def is_live_by_trust(self) -> bool:
        """Nobody has looked at it: its submitter is trusted."""
        return self.status is ModerationStatus.APPROVED and self.decided_at is None


@dataclass(frozen=True, slots=True)
class Likeness:
    """A source that a suggestion may be a duplicate of, and by what."""

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
    """The reputation of a domain: what was decided about suggestions of it and of what is below it."""

    domain: str
    approved: int = 0
    rejected: int = 0
    is_blocked: bool = False

    @property
    def reputation(self) -> str:
        """`blocked`, `good`, `bad`, `mixed` or, where nothing was decided yet, `unknown`."""
        if self.is_blocked:
            return "blocked"
        if not self.approved and not self.rejected:
            return "unknown"
        return "mixed" if self.approved and self.rejected else "good" if self.approved else "bad"


@dataclass(frozen=True, slots=True)
class SubmitterRecord:
    """What was decided about other suggestions of the same reader."""

    approved: int = 0
    rejected: int = 0


@dataclass(frozen=True, slots=True)
class SpamSignal:
    """What one rule found, and what it adds to the score."""

    points: int
    reason: str


@dataclass(frozen=True, slots=True)
class SpamScore:
    """From 0, nothing speaks against it, to 100; and why."""

    points: int
    signals: tuple[SpamSignal, ...] = ()


@dataclass(frozen=True, slots=True)
class QueueFilter:
    """Which suggestions to show. None: whichever."""

    text: str | None = None
    submitter_id: UserId | None = None
    host: str | None = None


@dataclass(frozen=True, slots=True)
class QueueCursor:
    """Where a page ends."""

    at: datetime
    id: SourceId


@dataclass(frozen=True, slots=True)
class QueuePage:
    """Some suggestions, and where the next ones begin."""

    submissions: list[Submission]
    next: QueueCursor | None


@dataclass(frozen=True, slots=True)
class BlockedDomain:
    """A domain that nothing is taken from, nor from what is below it."""

    domain: str
    reason: str
    blocked_by_name: str
    blocked_at: datetime


@dataclass(frozen=True, slots=True)
class PublicSource:
    """A source that everybody may find, as one reader sees it."""

    id: SourceId
    name: str
    url: str
    site_url: str | None
    category: str | None
    subscriber_count: int
    article_count: int
    is_followed: bool
    is_custom: bool
