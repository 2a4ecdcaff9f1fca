"""Lines of a file of feeds, and their results."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from headwater.types import SourceId


class LineFate(StrEnum):
    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CatalogueFeed:
    """A system feed of a file. None: not given."""

    name: str
    url: str
    category: str | None = None
    refresh_interval_minutes: int | None = None
    is_critical: bool | None = None


@dataclass(frozen=True, slots=True)
class CatalogueLine:
    """One feed of a file, or why it is invalid."""

    number: int
    feed: CatalogueFeed | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    line: int
    name: str
    url: str
    fate: LineFate
    id: SourceId | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    lines: Sequence[Outcome]

    def count(self, fate: LineFate) -> int:
        return self.counts[fate]

    @property
    def counts(self) -> Counter[LineFate]:
        return Counter(one.fate for one in self.lines)
