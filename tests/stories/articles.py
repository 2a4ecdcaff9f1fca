"""Articles about made-up events: those of one event share four rare words, and have embeddings around one centre."""

import random
from itertools import count
from uuid import UUID

import numpy as np

from headwater.stories.cluster import StoryClusters
from headwater.stories.types import ClusterOptions, StoryArticle
from headwater.types import ArticleId, SourceId

HOUR = 3600.0
COMMON = [f"common{number}" for number in range(300)]


def an_id(number: int) -> ArticleId:
    return ArticleId(UUID(int=number))


def feeds(*numbers: int) -> frozenset[SourceId]:
    return frozenset(SourceId(UUID(int=number)) for number in numbers)


def an_article(number: int, event: int, *, feed: int | None = None, hour: float = 0, twin: int | None = None):
    """The same arguments always give the same article."""
    chance = random.Random(number)
    centre = np.random.default_rng(event).standard_normal(256)
    vector = centre + 0.5 * np.random.default_rng(10_000 + number).standard_normal(256)
    words = [f"event{event}word{n}" for n in range(4)] + chance.sample(COMMON, 6)
    return StoryArticle(
        id=an_id(number), seen_at=hour * HOUR, at=hour * HOUR, words=tuple(words),
        vector=(vector / np.linalg.norm(vector)).astype(np.float16),
        sources=feeds(number if feed is None else feed), twins=() if twin is None else (an_id(twin),),
    )  # fmt: skip


def new_clusters(**options: object) -> StoryClusters:
    numbers = count(1)
    return StoryClusters(lambda: UUID(int=next(numbers)), ClusterOptions(**options))  # pyright: ignore[reportArgumentType]


def a_stream(articles: int, *, events: int = 12, seed: int = 1, hours: float = 0.02) -> list[StoryArticle]:
    """Articles about several events, mixed, of twenty feeds."""
    chance = random.Random(seed)
    return [
        an_article(number, chance.randrange(events), feed=chance.randrange(20), hour=number * hours)
        for number in range(articles)
    ]


def grouped(clusters: StoryClusters) -> set[frozenset[int]]:
    return {frozenset(one.int for one in ids) for ids in clusters.groups()}
