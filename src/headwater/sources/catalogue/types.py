"""Lines of a file of feeds, and their results."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field, Strict

from headwater.types import SourceId

Text = Annotated[str, Field(min_length=1, pattern=r"^[^\x00-\x1f\x7f]*$")]


class LineFate(StrEnum):
    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CatalogueFeed:
    """A system feed of a file, which is checked by these types when it is read. None: not given."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    name: Annotated[Text, Field(max_length=255)]
    url: Text
    category: Annotated[Text, Field(max_length=100)] | None = None
    refresh_interval_minutes: Annotated[int, Strict(), Field(ge=15, le=1440)] | None = None
    is_critical: Annotated[bool, Strict()] | None = None


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

    @property
    def counts(self) -> Counter[LineFate]:
        return Counter(one.fate for one in self.lines)
