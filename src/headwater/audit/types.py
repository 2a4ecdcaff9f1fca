"""Entries of the audit log. Pure data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from headwater.types import SortPlace, UserId


class AuditAction(StrEnum):
    SOURCE_CREATED = "source.created"
    SOURCE_CHANGED = "source.changed"
    SOURCE_DELETED = "source.deleted"
    SOURCE_DISABLED = "source.disabled"
    SOURCE_ENABLED = "source.enabled"
    SOURCE_REFRESHED = "source.refreshed"
    SOURCE_RESET = "source.reset"
    SOURCES_IMPORTED = "sources.imported"
    FEED_SUBMITTED = "feed.submitted"
    FEED_APPROVED = "feed.approved"
    FEED_REJECTED = "feed.rejected"
    FEED_WITHDRAWN = "feed.withdrawn"
    DOMAIN_BLOCKED = "domain.blocked"
    DOMAIN_UNBLOCKED = "domain.unblocked"
    RULE_CREATED = "rule.created"
    RULE_CHANGED = "rule.changed"
    RULE_DELETED = "rule.deleted"
    RULE_ENABLED = "rule.enabled"
    RULE_DISABLED = "rule.disabled"
    ARTICLE_REQUEUED = "article.requeued"
    LABELS_SET = "labels.set"
    LABELS_WITHDRAWN = "labels.withdrawn"
    URLS_RETRIED = "urls.retried"
    URL_DELETED = "url.deleted"
    URLS_DELETED = "urls.deleted"
    ROLE_CHANGED = "role.changed"
    ACCOUNT_SIGNED_OUT = "account.signed_out"
    RETENTION_RUN = "retention.run"
    AI_BUDGET_CHANGED = "ai_budget.changed"
    MODEL_TRAINED = "model.trained"
    CHANNEL_CREATED = "channel.created"
    CHANNEL_CHANGED = "channel.changed"
    CHANNEL_DELETED = "channel.deleted"
    CHANNEL_PAUSED = "channel.paused"
    CHANNEL_RESUMED = "channel.resumed"
    CHANNEL_REPLAYED = "channel.replayed"
    CHANNEL_RETRIED = "channel.retried"
    CHANNEL_SECRET_CHANGED = "channel.secret_changed"  # noqa: S105
    CHANNEL_FEED_CHANGED = "channel.feed_changed"


@dataclass(frozen=True, slots=True)
class Actor:
    """A user, or something that acts without one, such as the command line."""

    user_id: UserId | None
    name: str


COMMAND_LINE = Actor(None, "command line")
API_TOKEN = Actor(None, "the operator's API token")
HEADWATER = Actor(None, "Headwater itself")


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One entry. `detail` is small, plain JSON without secrets."""

    id: UUID
    at: datetime
    actor_id: UserId | None
    actor_name: str
    action: AuditAction
    subject_id: UUID | None
    subject_name: str
    detail: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class AuditFilter:
    action: AuditAction | None = None
    actor_id: UserId | None = None
    subject_id: UUID | None = None
    actor: str = ""  # part of the name
    subject: str = ""
    since: datetime | None = None
    before: datetime | None = None


class AuditSort(StrEnum):
    """By which column the log is sorted."""

    TIME = "time"
    ACTION = "action"
    TARGET = "target"


@dataclass(frozen=True, slots=True)
class AuditPage:
    entries: list[AuditEntry]
    next: SortPlace | None
