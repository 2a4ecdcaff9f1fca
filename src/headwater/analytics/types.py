"""Analytics of readers who agreed, as operators see them. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from headwater.types import SourceId

START = datetime(2000, 1, 1, tzinfo=UTC)
FEWEST = 3
"""No number is shown for fewer readers: each of two readers would know what the other read."""


class ReaderAction(StrEnum):
    OPEN = "open"  # read it here
    CLICK = "click"  # went to read it where it was published
    STAR = "star"


class PopularityPeriod(StrEnum):
    DAY = "day"
    WEEK = "week"
    MONTH = "month"

    @property
    def length(self) -> timedelta:
        return timedelta(days={"day": 1, "week": 7, "month": 30}[self])

    @property
    def step(self) -> timedelta:
        """The length of one bar of its plot."""
        return timedelta(hours=1) if self is PopularityPeriod.DAY else timedelta(days=1)

    def end(self, now: datetime) -> datetime:
        """The end of the step that contains a time, in UTC."""
        return START + ((now - START) // self.step + 1) * self.step


class PopularityOrder(StrEnum):
    FOLLOWERS = "followers"
    READS = "reads"
    OPENS = "opens"
    CLICKS = "clicks"
    RATE = "rate"
    STARS = "stars"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Popularity:
    """How much a source was read. None: by too few readers to show."""

    source_id: SourceId
    name: str
    followers: int | None
    reads: int | None  # articles that a reader opened here or went to: each once per reader
    opens: int | None
    clicks: int | None
    stars: int | None

    @property
    def rate(self) -> float | None:
        """Share of reads that were clicks to the original; 0 to 1."""
        return None if self.clicks is None or not self.reads else self.clicks / self.reads


@dataclass(frozen=True, slots=True)
class Ranking:
    """Sources, the most popular first; `shown` is their number, `hidden` that of sources with too few readers."""

    sources: Sequence[Popularity]
    shown: int
    hidden: int


@dataclass(frozen=True, slots=True)
class PopularityStep:
    """Reads in one step of a period. None: by too few readers to show."""

    at: datetime
    reads: int | None
    clicks: int | None


@dataclass(frozen=True, slots=True)
class Readers:
    consenting: int
    total: int
