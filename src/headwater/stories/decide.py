"""Who may group, and what is read of an article. Pure."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

import numpy as np

from headwater.ids import first_id_at, time_of
from headwater.reading.text import without_markup
from headwater.stories.types import ENGLISH, StoryArticle, StoryLease, StoryRow
from headwater.stories.words import words_of
from headwater.types import ArticleId, SourceId

DIMENSIONS: Final = 256
LONGEST_LEASE: Final = timedelta(hours=1)  # a later end was set by a clock that was ahead
REVIEWED_EVERY: Final = timedelta(hours=1)


class LeaseState(StrEnum):
    OURS = "ours"  # nobody else wrote since: what is in memory is right
    FREE = "free"
    TAKEN = "taken"


def lease_state(found: StoryLease, ours: UUID, now: datetime) -> LeaseState:
    if found.lease == ours:
        return LeaseState.OURS
    if found.lease is None or found.leased_until is None:
        return LeaseState.FREE
    is_over = found.leased_until <= now or found.leased_until > now + LONGEST_LEASE
    return LeaseState.FREE if is_over else LeaseState.TAKEN


def is_review_due(found: StoryLease, now: datetime) -> bool:
    """Also after a clock that was ahead."""
    at = found.reviewed_at
    return at is None or now - at >= REVIEWED_EVERY or at > now + REVIEWED_EVERY


def to_article(row: StoryRow) -> StoryArticle | None:
    """None for an article without a usable embedding or without words: it is in no story."""
    if row.embedding is None or len(row.embedding) != 2 * DIMENSIONS:
        return None
    vector, words = np.frombuffer(row.embedding, "<f2"), words_of(row.title, row.text or without_markup(row.html))
    if not words or not np.isfinite(vector).all() or not vector.any():
        return None
    return StoryArticle(
        id=ArticleId(row.id), seen_at=time_of(row.id).timestamp(), at=row.listed_at.timestamp(), words=words,
        vector=vector, sources=frozenset(map(SourceId, row.source_ids)), twins=tuple(map(ArticleId, row.twins)),
        language=row.language or ENGLISH,  # short texts have none; most are English
    )  # fmt: skip


def first_remembered(now: datetime, span: timedelta) -> UUID:
    """Articles that arrived before it are placed no more."""
    return first_id_at(now - span)
