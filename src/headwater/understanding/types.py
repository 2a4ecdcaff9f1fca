"""An article to be classified, what its text shows, the rules of operators, and options. Pure data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from headwater.labels.types import Scheme
from headwater.types import ArticleId, SourceId, record

ENGLISH = "en"


@record
class ArticleText:
    """The shared record of an article: what its own site and its page say. Never what another feed says of it."""

    url: str
    title: str
    text: str = ""  # of the page; without one, `html`
    html: str = ""  # what the feed says, sanitised
    description: str = ""
    author: str = ""
    language: str = ""  # as declared: en or pt-BR
    section: str = ""
    keywords: Sequence[str] = ()
    has_date: bool = False
    has_image: bool = False
    has_page: bool = False  # whether the page was read
    links: int = 0  # in the text of the page
    open_graph: Mapping[str, str] = field(default_factory=dict[str, str])
    linked_data: Sequence[object] = ()
    source_ids: Sequence[SourceId] = ()


@dataclass(frozen=True, slots=True)
class ClassificationRule:
    """An operator's rule: an article that has the keywords, fits a pattern or is of a source gets the label."""

    id: UUID
    name: str
    scheme: Scheme
    label: str
    keywords: Sequence[str] = ()
    patterns: Sequence[str] = ()  # of URL or title, with * for any text
    source_ids: Sequence[SourceId] = ()
    min_score: float = 0.5
    is_enabled: bool = True
    version: int = 1


class RuleMatch(NamedTuple):
    rule_id: UUID
    score: float


class Guess(NamedTuple):
    """A label, and how sure it is: 0 to 1."""

    label: str
    score: float


@record
class ArticleFeatures:
    """What the text of an article shows. None: the text does not say."""

    language: Guess | None
    type: Guess
    quality: Mapping[str, float]  # its four parts, each 0 to 25
    sentiment: Guess | None
    keywords: Sequence[Guess]
    embedding: bytes | None  # as `embedding.pack` stores it
    word_counts: Mapping[int, int]
    matches: Sequence[RuleMatch]
    words: int


@dataclass(frozen=True, slots=True)
class ClassifyingOptions:
    concurrency: int
    lease: timedelta
    batch: int = 20  # articles in one call of the sandbox
    is_enabled: bool = True


@dataclass(frozen=True, slots=True)
class DueArticle:
    """An article whose turn it is. A lost lease: the process that classified it ended without a result."""

    article_id: ArticleId
    lease: UUID
    lost_leases: int


@dataclass(frozen=True, slots=True)
class SourceQuality:
    """What the newest articles of a source are."""

    source_id: SourceId
    articles: int  # with labels
    quality: float  # the mean, 0 to 100
    spam_share: float  # 0 to 1


@dataclass(frozen=True, slots=True)
class ComputedReputation:
    of: SourceQuality
    reputation: float  # 0 to 100
