"""What stories are made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias
from uuid import UUID

import numpy as np
import numpy.typing as npt

from headwater.types import ArticleId, SourceId

ENGLISH: Final = "en"

Vector: TypeAlias = npt.NDArray[np.floating]


@dataclass(frozen=True, slots=True, eq=False)
class StoryArticle:
    """An article, as far as it decides which story it is in. Times are seconds since 1970."""

    id: ArticleId
    seen_at: float  # when it arrived: it is forgotten 72 hours later
    at: float  # when it was published
    words: tuple[str, ...]
    vector: Vector
    sources: frozenset[SourceId]  # the feeds of its own site; those of other sites if there are none
    twins: tuple[ArticleId, ...] = ()  # articles with nearly the same text
    language: str = ENGLISH

    @property
    def is_english(self) -> bool:
        return self.language == ENGLISH


@dataclass(frozen=True, slots=True)
class Placement:
    """An article whose story has changed."""

    article_id: ArticleId
    story_id: UUID | None


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Chosen on a corpus of headlines; benchmarks/stories.py chooses `join` on half of it and measures on the other."""

    join: float = 0.22  # least likeness of an article and a story, or of two stories
    leave: float = 0.05  # an article that is less like the rest of its story leaves it
    words_share: float = 0.5  # of the likeness; the rest is that of the embeddings
    fading: timedelta = timedelta(hours=18)  # likeness falls to 37 % over such a gap
    span: timedelta = timedelta(hours=72)  # of a story, and of what is remembered
    most_articles: int = 100_000  # remembered; then the oldest are forgotten earlier
    most_candidates: int = 24  # stories that an article is compared with
    most_listed: int = 64  # stories that are found by one word
    most_searched: int = 16  # words of an article by which stories are found, the rarest


@dataclass(slots=True)
class ReviewReport:
    """What an hourly review changed."""

    merged: int = 0
    left: int = 0
    stories: int = 0
    articles: int = 0


@dataclass(frozen=True, slots=True)
class StoryRow:
    """The shared record of an article, as far as stories need it."""

    id: UUID
    listed_at: datetime
    embedding: bytes | None
    story_id: UUID | None
    story_first_at: datetime | None
    title: str
    text: str
    html: str  # where there is no text
    source_ids: Sequence[UUID]
    twins: Sequence[UUID]
    language: str


@dataclass(frozen=True, slots=True)
class StoryLease:
    """Which worker has the stories in memory, until when, and how far its hourly work is."""

    lease: UUID | None
    leased_until: datetime | None
    reviewed_at: datetime | None
    swept_at: datetime | None


@dataclass(frozen=True, slots=True)
class StoryTurn:
    """Articles to place, and whether the stories are to be reviewed."""

    article_ids: Sequence[ArticleId]
    is_review_due: bool
