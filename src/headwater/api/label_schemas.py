"""Request and response models of labels, rules and stories."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Self
from uuid import UUID

from pydantic import BeforeValidator, Field
from pydantic.config import JsonDict

from headwater.api.schemas import Flag, RequestModel, ResponseModel, Text, WholeNumber, with_example
from headwater.labels.decide import LABEL_MAX_CHARS, LABELS_MOST
from headwater.labels.types import Method, Scheme
from headwater.types import SourceId
from headwater.understanding.overview.types import LabelOverview
from headwater.understanding.rulebook import decide
from headwater.understanding.rulebook.trial import DAYS, DAYS_MOST
from headwater.understanding.rulebook.types import RuleDetails, RuleFields


class GivenScheme(StrEnum):
    """The schemes in which a person or a rule gives labels; a quality is computed."""

    LANGUAGE = "language"
    TYPE = "type"
    TOPIC = "topic"
    CATEGORY = "category"
    SENTIMENT = "sentiment"
    KEYWORD = "keyword"


def _require_number(value: object) -> object:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError("Input should be a number")  # noqa: TRY004  pydantic expects ValueError
    return value


Label = Annotated[Text, Field(max_length=LABEL_MAX_CHARS, description="A label of the scheme.")]
Share = Annotated[float, BeforeValidator(_require_number), Field(ge=0, le=1)]
RuleName = Annotated[Text, Field(max_length=decide.NAME_MAX, description="Its name; unique.")]
RuleScheme = Annotated[GivenScheme, Field(description="The scheme of the label.")]
Keyword = Annotated[Text, Field(max_length=decide.KEYWORD_MAX)]
Keywords = Annotated[list[Keyword], Field(max_length=decide.KEYWORDS_MOST, description="Words or phrases.")]
UrlPattern = Annotated[Text, Field(max_length=decide.PATTERN_MAX)]
UrlPatterns = Annotated[
    list[UrlPattern],
    Field(max_length=decide.PATTERNS_MOST, description="Of the whole URL or title; * stands for any text."),
]
RuleSources = Annotated[list[UUID], Field(max_length=decide.SOURCES_MOST, description="Ids of public sources.")]
MinScore = Annotated[Share, Field(description="The score from which the label is given.")]
Days = Annotated[WholeNumber, Field(ge=1, le=DAYS_MOST, description="Only articles of the last days.")]
SPORT: JsonDict = {
    "name": "Sport",
    "scheme": "topic",
    "label": "sport",
    "keywords": ["league table"],
    "patterns": ["*/sport/*"],
}


class PersonLabelsRequest(RequestModel):
    """What a person says about an article in one scheme."""

    model_config = with_example({"labels": ["sport"]})

    labels: Annotated[list[Label], Field(min_length=1, max_length=LABELS_MOST)]


class LabelResponse(ResponseModel):
    """What a method says about an article."""

    scheme: Scheme
    label: str
    method: Method = Field(description="rule, model (on this machine), ai (a language model), or person.")
    score: Annotated[float, Field(description="How sure it is, 0 to 1; of a quality, the quality.")]
    version: Annotated[str, Field(description="Of the rule, model or prompt.")]
    detail: Annotated[Mapping[str, float] | None, Field(description="The parts of a quality.")]
    made_at: datetime
    is_shown: Annotated[bool, Field(description="Whether readers see it.")]
    is_disputed: Annotated[bool, Field(description="Another method says otherwise, and no person has decided.")]


class ArticleLabelsResponse(ResponseModel):
    """An article and all its labels, the surest of each scheme first."""

    article_id: UUID
    url: str
    title: str
    labels: list[LabelResponse]


class QueuedArticle(ResponseModel):
    """An article that will be classified again."""

    article_id: UUID
    classify_at: datetime


class _RuleBody(RequestModel):
    name: RuleName
    scheme: RuleScheme
    label: Label
    keywords: Keywords = Field(default_factory=list[str])
    patterns: UrlPatterns = Field(default_factory=list[str])
    source_ids: RuleSources = Field(default_factory=list[UUID])
    min_score: MinScore = 0.5

    @property
    def fields(self) -> RuleFields:
        return RuleFields(
            self.name, Scheme(self.scheme.value), self.label, self.keywords, self.patterns,
            [SourceId(one) for one in self.source_ids], self.min_score,
        )  # fmt: skip


class NewRule(_RuleBody):
    """A new rule, disabled at first. It needs keywords, patterns or sources."""

    model_config = with_example(SPORT)


class RuleToTest(_RuleBody):
    """A rule to be tested; it is not saved."""

    model_config = with_example({**SPORT, "days": 7})

    days: Days = DAYS


class RuleChanges(RequestModel):
    """Changes to a rule. Fields that are not sent, or null, are unchanged."""

    model_config = with_example({"min_score": 0.75, "is_enabled": True})

    name: RuleName | None = None
    scheme: RuleScheme | None = None
    label: Label | None = None
    keywords: Keywords | None = None
    patterns: UrlPatterns | None = None
    source_ids: RuleSources | None = None
    min_score: MinScore | None = None
    is_enabled: Annotated[Flag, Field(description="Whether it gives labels.")] | None = None

    def applied_to(self, rule: RuleDetails) -> RuleFields:
        old = rule.fields
        sources = old.source_ids if self.source_ids is None else [SourceId(one) for one in self.source_ids]
        return RuleFields(
            self.name or old.name, Scheme(self.scheme.value) if self.scheme else old.scheme, self.label or old.label,
            old.keywords if self.keywords is None else self.keywords,
            old.patterns if self.patterns is None else self.patterns, sources,
            old.min_score if self.min_score is None else self.min_score,
        )  # fmt: skip


class RuleResponse(ResponseModel):
    """A rule."""

    id: UUID
    name: str
    scheme: Scheme
    label: str
    keywords: Sequence[str]
    patterns: Sequence[str]
    source_ids: Sequence[UUID]
    min_score: float
    is_enabled: bool
    version: Annotated[int, Field(description="Grows with each change, except of the name.")]
    is_tested: Annotated[bool, Field(description="Whether this version was tested.")]
    created_at: datetime
    updated_at: datetime


class ChangedRule(RuleResponse):
    """A rule after a change."""

    requeued: Annotated[int, Field(description="How many articles will be classified again.")]

    @classmethod
    def of(cls, rule: RuleDetails, requeued: int) -> Self:
        return cls.model_validate(RuleResponse.model_validate(rule).model_dump() | {"requeued": requeued})


class RuleListResponse(ResponseModel):
    """All rules, by name."""

    rules: list[RuleResponse]


class RuleExampleResponse(ResponseModel):
    """An article that the rule matches, and by what."""

    article_id: UUID
    url: str
    title: str
    score: float
    keywords: Sequence[str]
    patterns: Sequence[str]
    source_ids: Sequence[UUID]


class RuleTrialResponse(ResponseModel):
    """What a rule would have matched."""

    days: int
    tested: Annotated[int, Field(description="How many articles were tested, the newest first.")]
    matched: int
    unreadable: Annotated[int, Field(description="How many exceeded a limit of the sandbox.")]
    is_whole: Annotated[bool, Field(description="Whether all articles of these days were tested.")]
    is_out_of_time: bool
    examples: Annotated[list[RuleExampleResponse], Field(description="The newest matches, 50 at most.")]


class LabelCountResponse(ResponseModel):
    """How many articles show a label; a quality is counted by its fifth."""

    scheme: Scheme
    label: str
    articles: int


class MethodCountResponse(ResponseModel):
    """How many of the shown labels a method made."""

    method: Method
    labels: int


class LabelStatsResponse(ResponseModel):
    """Numbers of the newest articles of the last 7 days, 5,000 at most."""

    articles: Annotated[int, Field(description="How many articles were counted.")]
    is_whole: Annotated[bool, Field(description="Whether these are all of the last 7 days.")]
    classified: int
    tagged: Annotated[int, Field(description="How many were tagged by a language model.")]
    waiting: Annotated[int, Field(description="How many articles of any age wait; 10,000: or more.")]
    disputed: Annotated[int, Field(description="About how many, of any age, methods disagree; 10,000: or more.")]
    labels: list[LabelCountResponse]
    methods: list[MethodCountResponse]

    @classmethod
    def of(cls, counted: LabelOverview) -> Self:
        progress = counted.progress
        return cls.model_validate({
            "articles": counted.sample.articles, "is_whole": counted.sample.is_whole,
            "classified": progress.classified, "tagged": progress.tagged, "waiting": progress.waiting,
            "disputed": counted.disputed, "labels": counted.labels, "methods": counted.methods,
        })  # fmt: skip


class StoryResponse(ResponseModel):
    """Articles of several sources about one event."""

    id: UUID
    title: str
    first_at: Annotated[datetime, Field(description="When its first article was listed.")]
    last_at: datetime
    article_count: int
    source_count: int


class StoryListResponse(ResponseModel):
    """The largest stories, those of most sources first."""

    stories: list[StoryResponse]


class StoryArticleResponse(ResponseModel):
    """An article of a story."""

    id: UUID
    url: str
    title: str
    published_at: datetime | None


class StoryWithArticles(StoryResponse):
    """A story with its newest articles, 500 at most."""

    articles: list[StoryArticleResponse]


REQUESTS = (PersonLabelsRequest, NewRule, RuleToTest, RuleChanges)
RESPONSES = (
    ArticleLabelsResponse, QueuedArticle, ChangedRule, RuleListResponse, RuleTrialResponse, LabelStatsResponse,
    StoryListResponse, StoryWithArticles,
)  # fmt: skip
