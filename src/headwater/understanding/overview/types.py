"""Numbers about labels, and the reputation of a source. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headwater.labels.types import Method, Scheme
from headwater.types import SourceId


@dataclass(frozen=True, slots=True)
class LabelSample:
    """The articles that are counted: the newest of a period, from `first_id` on."""

    first_id: UUID
    articles: int
    is_whole: bool  # all articles of the period


@dataclass(frozen=True, slots=True)
class LabelCount:
    """How many articles of the sample show the label, which may be one of a range of qualities."""

    scheme: Scheme
    label: str
    articles: int


@dataclass(frozen=True, slots=True)
class MethodCount:
    """How many of the shown labels of the sample a method made."""

    method: Method
    labels: int


@dataclass(frozen=True, slots=True)
class ClassifyingProgress:
    """How many articles of the sample are classified and tagged; how many of all wait, counted up to a limit."""

    classified: int
    tagged: int
    waiting: int


@dataclass(frozen=True, slots=True)
class SourceReputation:
    source_id: SourceId
    name: str
    articles: int
    quality: float  # the mean, 0 to 100
    spam_share: float
    reputation: float  # 0 to 100
    computed_at: datetime


@dataclass(frozen=True, slots=True)
class LabelOverview:
    """The numbers of the page and of the API."""

    sample: LabelSample
    labels: Sequence[LabelCount]
    methods: Sequence[MethodCount]
    progress: ClassifyingProgress
    disputed: int  # articles; counted up to a limit
