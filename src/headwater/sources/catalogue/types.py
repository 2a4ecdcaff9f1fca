"""A line of a file of feeds, and what came of it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from headwater.types import SourceId


class LineFate(StrEnum):
    """What came of a line."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CatalogueFeed:
    """A system feed as a file names it. None: not said."""

    name: str
    url: str
    category: str | None = None
    refresh_interval_minutes: int | None = None
    is_critical: bool | None = None


@dataclass(frozen=True, slots=True)
class CatalogueLine:
    """One feed of a file, or why it is none."""

    number: int
    feed: CatalogueFeed | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a line."""

    line: int
    name: str
    url: str
    fate: LineFate
    id: SourceId | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a file, line by line."""

    lines: Sequence[Outcome]

    def count(self, fate: LineFate) -> int:
        """How many lines came to this."""
        return self.counts[fate]

    @property
    def counts(self) -> Counter[LineFate]:
        """How many lines came to what."""
        return Counter(one.fate for one in self.lines)
