"""A rule as operators write and see it, and what a test of it found. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from headwater.labels.types import Scheme
from headwater.types import ArticleId, SourceId
from headwater.understanding.types import ClassificationRule


@dataclass(frozen=True, slots=True)
class RuleFields:
    """What an operator writes."""

    name: str
    scheme: Scheme
    label: str
    keywords: Sequence[str] = ()
    patterns: Sequence[str] = ()
    source_ids: Sequence[SourceId] = ()
    min_score: float = 0.5


@dataclass(frozen=True, slots=True)
class RuleDetails:
    """A stored rule. `tested_version`: the last version that an operator tested; None: none."""

    id: UUID
    name: str
    scheme: Scheme
    label: str
    keywords: Sequence[str]
    patterns: Sequence[str]
    source_ids: Sequence[SourceId]
    min_score: float
    is_enabled: bool
    version: int
    tested_version: int | None
    created_at: datetime
    updated_at: datetime

    @property
    def is_tested(self) -> bool:
        return self.tested_version == self.version

    @property
    def fields(self) -> RuleFields:
        return RuleFields(
            self.name, self.scheme, self.label, tuple(self.keywords), tuple(self.patterns), tuple(self.source_ids),
            round(self.min_score, 4),
        )  # fmt: skip


class RuleHit(NamedTuple):
    """An article of a batch that a rule matches, and by what."""

    number: int
    score: float
    keywords: list[str]
    patterns: list[str]
    source_ids: list[UUID]


@dataclass(frozen=True, slots=True)
class RuleExample:
    """An article that a rule would have matched: its shared record, the score, and by what."""

    article_id: ArticleId
    url: str
    title: str
    score: float
    keywords: Sequence[str]
    patterns: Sequence[str]
    source_ids: Sequence[SourceId]


@dataclass(frozen=True, slots=True)
class RuleTrial:
    """What a rule would have matched among the newest articles of the last days."""

    days: int
    tested: int
    matched: int
    unreadable: int  # exceeded a limit of the sandbox
    is_whole: bool  # all articles of these days
    is_out_of_time: bool
    examples: Sequence[RuleExample]


@dataclass(frozen=True, slots=True)
class PublicSourceName:
    id: SourceId
    name: str


def as_rule(fields: RuleFields, rule_id: UUID) -> ClassificationRule:
    return ClassificationRule(
        rule_id, fields.name, fields.scheme, fields.label, fields.keywords, fields.patterns, fields.source_ids,
        fields.min_score,
    )  # fmt: skip
