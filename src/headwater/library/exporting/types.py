"""What a person takes along, row by row. Pure data; its fields are the names in the files."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from headwater.library.types import FeedStatus


@dataclass(frozen=True, slots=True)
class Profile:
    """Who they are."""

    id: UUID
    email: str
    role: str
    karma: int
    confirmed_at: datetime | None
    privacy_accepted_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ExportedCustomFeed:
    """A feed that they suggested for everybody, and what came of it."""

    id: UUID
    name: str
    url: str
    category: str | None
    created_at: datetime
    is_active: bool
    moderation_status: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class ExportedSession:
    """Where they are logged in."""

    id: UUID
    started_at: datetime
    seen_at: datetime
    address: str
    user_agent: str


@dataclass(frozen=True, slots=True)
class ExportedToken:
    """A token for programs; of the token itself nobody keeps more than a digest."""

    id: UUID
    name: str
    scopes: Sequence[str]
    created_at: datetime
    used_at: datetime | None


@dataclass(frozen=True, slots=True)
class ExportedIdentity:
    """Who they are to somebody else's log-in."""

    issuer: str
    subject: str


@dataclass(frozen=True, slots=True)
class ExportedSubscription:
    """A feed they follow."""

    id: UUID
    name: str
    url: str
    site: str | None
    category: str | None
    status: FeedStatus
    read_until: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ExportedSource:
    """A source that is here because they named it."""

    id: UUID
    name: str
    feed_url: str | None
    url: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ExportedMark:
    """An article they read, kept unread or starred."""

    id: UUID
    url: str
    title: str
    published_at: datetime | None
    is_read: bool | None
    read_at: datetime | None
    starred_at: datetime | None


@dataclass(frozen=True, slots=True)
class ExportedSummary:
    """A summary made for them."""

    id: UUID
    status: str
    content: str
    model: str
    article_count: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: Decimal | None
    error: str | None
    created_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class ExportedEvent:
    """Something they did."""

    id: UUID
    event_type: str
    metadata: dict[str, Any]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ExportedImportLine:
    """A line of a file they brought."""

    id: UUID
    file_name: str
    imported_at: datetime
    number: int
    name: str
    url: str
    category: str
    outcome: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class ExportedCounting:
    """Whether they agreed to be counted, and when they said so. Neither: they have not answered."""

    given_at: datetime | None
    refused_at: datetime | None


@dataclass(frozen=True, slots=True)
class ExportedClick:
    """What was counted of them. The article may be gone by now."""

    id: UUID
    kind: str
    clicked_at: datetime
    article_id: UUID
    url: str | None
    source: str
