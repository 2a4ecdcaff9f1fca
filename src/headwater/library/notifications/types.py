"""Where readers are notified, and of what. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headwater.library.rules.types import NotificationKind
from headwater.types import ArticleId, UserId


@dataclass(frozen=True, slots=True)
class NotificationTarget:
    """Where a reader is notified, as their page shows it."""

    id: UUID
    kind: NotificationKind
    name: str  # of a browser
    url: str
    is_enabled: bool
    failures: int  # in a row
    reason: str | None  # of the last failure
    sent_at: datetime | None


@dataclass(frozen=True, slots=True)
class DueTarget:
    """A target that is claimed to send what waits."""

    id: UUID
    user_id: UserId
    kind: NotificationKind
    url: str
    secret: str | None
    push_key: str | None
    push_auth: str | None
    failures: int
    lease: UUID


@dataclass(frozen=True, slots=True)
class NotifiedArticle:
    """An article of a notification, as its reader sees it, and the name of the rule."""

    id: ArticleId
    url: str
    title: str
    feed_name: str
    rule_name: str
    listed_at: datetime


@dataclass(frozen=True, slots=True)
class WaitingNotifications:
    """The articles of which a reader is to be notified, and the oldest in full. One that was deleted, or whose feed the
    reader has left, is neither shown nor counted in `total`."""

    ids: Sequence[ArticleId]
    articles: Sequence[NotifiedArticle]
    total: int


@dataclass(frozen=True, slots=True)
class WantedNotification:
    user_id: UserId
    kind: NotificationKind
    article_id: ArticleId
    rule_id: UUID
