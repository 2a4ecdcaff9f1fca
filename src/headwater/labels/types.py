"""A label, its scheme and its method. Pure data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from headwater.types import ArticleId


class Scheme(StrEnum):
    LANGUAGE = "language"  # as in en or pt
    TYPE = "type"
    QUALITY = "quality"
    TOPIC = "topic"  # IPTC Media Topics, the top level
    CATEGORY = "category"  # the eight of seed 003
    SENTIMENT = "sentiment"
    KEYWORD = "keyword"


class Method(StrEnum):
    RULE = "rule"
    MODEL = "model"  # on this machine
    AI = "ai"  # a language model
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class NewLabel:
    scheme: Scheme
    label: str
    score: float  # how sure it is, 0 to 1; of a quality, the quality
    version: str  # of the rule, model or prompt
    detail: Mapping[str, float] | None = None  # the parts of a quality


@dataclass(frozen=True, slots=True)
class ArticleLabel:
    """What a method says. Disputed: another method says otherwise, and no person has decided."""

    scheme: Scheme
    label: str
    method: Method
    score: float
    version: str
    detail: Mapping[str, float] | None
    made_at: datetime
    is_shown: bool = False
    is_disputed: bool = False


@dataclass(frozen=True, slots=True)
class TitledArticle:
    """The shared record of an article, as far as pages about labels show it."""

    id: ArticleId
    url: str
    title: str


@dataclass(frozen=True, slots=True)
class PersonsLabels:
    """What a person says about an article in one scheme, now and before. Empty: nothing."""

    article: TitledArticle
    scheme: Scheme
    labels: Sequence[str]
    before: Sequence[str]
