"""Rules of readers, what they do, and the log of what they did. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from headwater.types import ArticleId, UserId

RESTORABLE = timedelta(days=1)  # how long a deleted rule can be restored
ARRIVED_WITHIN = timedelta(days=7)  # rules act on articles that the reader's feeds first listed so long ago, at most
LOG_KEPT = timedelta(days=30)  # longer than ARRIVED_WITHIN: a rule acts on an article once
PREVIEWED = timedelta(days=7)


class NotificationKind(StrEnum):
    EMAIL = "email"  # one digest a day
    WEBHOOK = "webhook"
    PUSH = "push"  # to browsers


class MuteKind(StrEnum):
    """What Mute hides the articles of."""

    WORD = "word"
    AUTHOR = "author"
    SOURCE = "source"


@dataclass(frozen=True, slots=True)
class RuleActions:
    """What happens to an article."""

    marks_read: bool = False
    stars: bool = False
    hides: bool = False
    tags: Sequence[str] = ()
    notify: Sequence[NotificationKind] = ()

    @property
    def names(self) -> list[str]:
        """As the log says it: `read`, `star`, `hide`, `tag:` and `notify:`."""
        plain = {"read": self.marks_read, "star": self.stars, "hide": self.hides}
        return [
            *(name for name, is_done in plain.items() if is_done),
            *(f"tag:{tag}" for tag in self.tags),
            *(f"notify:{kind.value}" for kind in self.notify),
        ]


@dataclass(frozen=True, slots=True)
class ReaderRuleFields:
    """A rule as its reader writes it."""

    name: str
    query: str
    actions: RuleActions
    is_enabled: bool = True
    mute: MuteKind | None = None


@dataclass(frozen=True, slots=True)
class ReaderRule:
    """A rule as lists show it."""

    id: UUID
    name: str
    query: str
    mute: MuteKind | None
    actions: RuleActions
    is_enabled: bool
    created_at: datetime
    updated_at: datetime
    matched: int  # articles in the log, up to a limit
    matched_at: datetime | None  # the last


@dataclass(frozen=True, slots=True)
class RuleInUse:
    """A rule as the stage applies it."""

    id: UUID
    version: UUID
    user_id: UserId
    query: str
    actions: RuleActions


@dataclass(frozen=True, slots=True)
class ReaderRuleHit:
    """A rule and an article that it matches."""

    rule: RuleInUse
    article_id: ArticleId


@dataclass(frozen=True, slots=True)
class RuleLogLine:
    """What a rule did to an article. The title is empty if the article no longer exists."""

    article_id: ArticleId
    title: str
    applied_at: datetime
    actions: Sequence[str]


@dataclass(frozen=True, slots=True)
class RulePreview:
    """What a rule would have matched lately: the newest articles, and how many in all of those that were examined."""

    lines: Sequence["PreviewLine"]
    matched: int
    examined: int
    is_complete: bool  # False: the reader has more articles than were examined


@dataclass(frozen=True, slots=True)
class MutableSource:
    """A feed of the user that lists an article."""

    id: UUID
    name: str


@dataclass(frozen=True, slots=True)
class PreviewLine:
    id: ArticleId
    title: str
    feed_name: str
    listed_at: datetime


@dataclass(frozen=True, slots=True)
class RulesTurn:
    """A claimed batch of revisions after `done_to`."""

    lease: UUID
    done_to: int


@dataclass(frozen=True, slots=True)
class RevisionBatch:
    """Articles in the order of their revisions, and the revision up to which they are all."""

    article_ids: Sequence[ArticleId]
    done_to: int


@dataclass(slots=True)
class MarkChange:
    """What all rules of a reader together do to an article."""

    user_id: UserId
    article_id: ArticleId
    marks_read: bool = False
    stars: bool = False
    hides: bool = False
    tags: list[str] = field(default_factory=list[str])
