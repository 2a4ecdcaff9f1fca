"""Request and response models of a reader's rules."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import Field
from pydantic.config import JsonDict

from headwater.api.schemas import Flag, RequestModel, ResponseModel, Text, with_example
from headwater.library.rules.decide import NAME_MAX, TAGS_MAX
from headwater.library.rules.types import (
    NotificationKind,
    ReaderRule,
    ReaderRuleFields,
    RuleActions,
    RulePreview,
)
from headwater.query.grammar import CHARACTERS_MAX

_OTTERS: JsonDict = {"name": "Otters", "query": "otter -zoo", "star": True, "tags": ["rivers"], "notify": ["email"]}
OwnRuleName = Annotated[str, Field(max_length=NAME_MAX, description="Its name. Empty: its query.")]
OwnRuleQuery = Annotated[Text, Field(max_length=CHARACTERS_MAX, description="Which articles, as in the search.")]
OwnRuleTags = Annotated[list[Text], Field(max_length=TAGS_MAX, description="Tags that it adds.")]
OwnRuleNotify = Annotated[list[NotificationKind], Field(max_length=3, description="How it notifies.")]
Enabled = Annotated[Flag, Field(description="Whether it acts on articles.")]
MarksRead = Annotated[Flag, Field(description="Whether it marks articles as read.")]
Stars = Annotated[Flag, Field(description="Whether it stars articles.")]
Hides = Annotated[Flag, Field(description="Whether it hides articles from lists.")]


class NewOwnRule(RequestModel):
    """A new rule of the token's user. It acts on articles that arrive from now on."""

    model_config = with_example(_OTTERS)

    query: OwnRuleQuery
    name: OwnRuleName = ""
    read: MarksRead = False
    star: Stars = False
    hide: Hides = False
    tags: OwnRuleTags = Field(default_factory=list[str])
    notify: OwnRuleNotify = Field(default_factory=list[NotificationKind])
    enabled: Enabled = True

    @property
    def fields(self) -> ReaderRuleFields:
        actions = RuleActions(self.read, self.star, self.hide, self.tags, self.notify)
        return ReaderRuleFields(self.name, self.query, actions, self.enabled)


class OwnRuleChanges(RequestModel):
    """Changes to a rule. Fields that are not sent, or null, are unchanged."""

    model_config = with_example({"enabled": False})

    query: OwnRuleQuery | None = None
    name: OwnRuleName | None = None
    read: MarksRead | None = None
    star: Stars | None = None
    hide: Hides | None = None
    tags: OwnRuleTags | None = None
    notify: OwnRuleNotify | None = None
    enabled: Enabled | None = None

    def applied_to(self, rule: ReaderRule) -> ReaderRuleFields:
        before = rule.actions
        actions = RuleActions(
            marks_read=before.marks_read if self.read is None else self.read,
            stars=before.stars if self.star is None else self.star,
            hides=before.hides if self.hide is None else self.hide,
            tags=before.tags if self.tags is None else self.tags,
            notify=before.notify if self.notify is None else self.notify,
        )
        name = rule.name if self.name is None else self.name
        is_enabled = rule.is_enabled if self.enabled is None else self.enabled
        return ReaderRuleFields(name, self.query or rule.query, actions, is_enabled, rule.mute)


class OwnRuleQueryToPreview(RequestModel):
    """A query to preview."""

    model_config = with_example({"query": "otter -zoo"})

    query: OwnRuleQuery


class OwnRuleResponse(ResponseModel):
    """A rule of the token's user."""

    id: UUID
    name: str
    query: str
    mute: Annotated[str | None, Field(description="word, author or source, if Mute made it.")]
    read: bool
    star: bool
    hide: bool
    tags: Sequence[str]
    notify: Sequence[NotificationKind]
    enabled: bool
    created_at: datetime
    updated_at: datetime
    matched: Annotated[int, Field(description="Articles in the last 30 days; 1,000 means as many or more.")]
    matched_at: Annotated[datetime | None, Field(description="The last one.")]

    @classmethod
    def of(cls, rule: ReaderRule) -> Self:
        actions = rule.actions
        return cls(
            id=rule.id, name=rule.name, query=rule.query, mute=rule.mute, read=actions.marks_read, star=actions.stars,
            hide=actions.hides, tags=actions.tags, notify=actions.notify, enabled=rule.is_enabled,
            created_at=rule.created_at, updated_at=rule.updated_at, matched=rule.matched, matched_at=rule.matched_at,
        )  # fmt: skip


class OwnRulesResponse(ResponseModel):
    """The rules of the token's user, the oldest first."""

    rules: list[OwnRuleResponse]


class RulePreviewArticle(ResponseModel):
    """An article that a rule would have matched."""

    id: UUID
    title: str
    feed_name: str
    listed_at: datetime


class OwnRulePreviewResponse(ResponseModel):
    """What a query finds among the user's articles of the last 7 days."""

    matched: int
    examined: Annotated[int, Field(description="Articles that were looked at, the newest first, 2,000 at most.")]
    articles: Annotated[list[RulePreviewArticle], Field(description="The newest 50 that match.")]

    @classmethod
    def of(cls, preview: RulePreview) -> Self:
        articles = [
            RulePreviewArticle(id=one.id, title=one.title, feed_name=one.feed_name, listed_at=one.listed_at)
            for one in preview.lines
        ]
        return cls(matched=preview.matched, examined=preview.examined, articles=articles)


class OwnRuleAction(ResponseModel):
    """What a rule did to an article."""

    article_id: UUID
    title: Annotated[str, Field(description="Empty if the article was deleted.")]
    applied_at: datetime
    actions: Annotated[Sequence[str], Field(description="read, star, hide, `tag:` with a tag, `notify:` with a kind.")]


class OwnRuleLogResponse(ResponseModel):
    """What a rule did in the last 30 days, the newest first."""

    log: list[OwnRuleAction]


REQUESTS = (NewOwnRule, OwnRuleChanges, OwnRuleQueryToPreview)
RESPONSES = (OwnRuleResponse, OwnRulesResponse, OwnRulePreviewResponse, OwnRuleLogResponse)
