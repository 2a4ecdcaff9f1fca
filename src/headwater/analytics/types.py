"""What is counted of readers who agreed, and how it looks to an operator. Pure data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from headwater.types import SourceId

START = datetime(2000, 1, 1, tzinfo=UTC)
FEWEST = 3
"""Of fewer readers than this no number is told: what two people read is known to each of them of the other."""


class Deed(StrEnum):
    """What a reader did with an article."""

    OPEN = "open"  # read it here
    CLICK = "click"  # went to read it where it was published
    STAR = "star"


class Answer(StrEnum):
    """What a reader said when asked whether they may be counted."""

    YES = "yes"
    NO = "no"


class Period(StrEnum):
    """How far back to count."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"

    @property
    def length(self) -> timedelta:
        """As a duration."""
        return {Period.DAY: timedelta(days=1), Period.WEEK: timedelta(days=7), Period.MONTH: timedelta(days=30)}[self]

    @property
    def step(self) -> timedelta:
        """How much one bar of its plot tells of."""
        return timedelta(hours=1) if self is Period.DAY else timedelta(days=1)

    def end(self, now: datetime) -> datetime:
        """When the step that a moment lies in is over, by the clock in UTC."""
        return START + ((now - START) // self.step + 1) * self.step


class Order(StrEnum):
    """What the most popular have most of."""

    FOLLOWERS = "followers"
    READS = "reads"
    OPENS = "opens"
    CLICKS = "clicks"
    RATE = "rate"
    STARS = "stars"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Popularity:
    """How much a source was read. None: by fewer than may be told of."""

    source_id: SourceId
    name: str
    followers: int | None
    reads: int | None  # articles that a reader opened here or went to: each once per reader
    opens: int | None
    clicks: int | None
    stars: int | None

    @property
    def rate(self) -> float | None:
        """Of what was read, how much was read where it was published; 0 to 1."""
        return None if self.clicks is None or not self.reads else self.clicks / self.reads


@dataclass(frozen=True, slots=True)
class Ranking:
    """The sources that may be told of, the most popular first; `untold` are those with too few readers."""

    sources: Sequence[Popularity]
    told: int
    untold: int


@dataclass(frozen=True, slots=True)
class Moment:
    """What was read in one step of a period. None: by fewer than may be told of."""

    at: datetime
    reads: int | None
    clicks: int | None


@dataclass(frozen=True, slots=True)
class Readers:
    """How many people there are, and how many of them agreed."""

    consenting: int
    total: int
