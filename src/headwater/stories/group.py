"""Articles that belong together, and what is summed up of them. Most groups are of one article and sum up nothing."""

from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID

import numpy as np

from headwater.stories.types import StoryArticle, Vector
from headwater.types import ArticleId, SourceId

MOST_COMPARED: Final = 200  # articles of one group that are compared with its centre, the newest
_NEVER: Final = float("inf")


class Group:
    """`story_id` is None while it has one article."""

    __slots__ = ("_counts", "_sum", "first_at", "last_at", "length", "length_at", "members", "number", "story_id")

    def __init__(self, number: int, story_id: UUID | None = None) -> None:
        self.number, self.story_id = number, story_id
        self.members: dict[ArticleId, StoryArticle] = {}
        self.first_at, self.last_at = _NEVER, -_NEVER
        self.length, self.length_at = 0.0, (0, 0)  # a cache of the caller's
        self._counts: dict[str, int] | None = None
        self._sum: Vector | None = None

    @classmethod
    def of(cls, *articles: StoryArticle) -> "Group":
        """A group to compare with others."""
        group = cls(-1)
        for article in articles:
            group.add(article)
        return group

    @property
    def language(self) -> str:
        """Of its first article: near-duplicates may be labelled with another."""
        return next(iter(self.members.values())).language

    @property
    def is_english(self) -> bool:
        return next(iter(self.members.values())).is_english

    @property
    def size(self) -> int:
        return len(self.members)

    def add(self, article: StoryArticle) -> None:
        if self.members:
            counts, total = self._summed()
            for word in article.words:
                counts[word] = counts.get(word, 0) + 1
            total += article.vector
        self.members[article.id] = article
        self.first_at, self.last_at = min(self.first_at, article.at), max(self.last_at, article.at)

    def remove(self, article_id: ArticleId) -> StoryArticle:
        """Its times stay: a story spans what it has spanned."""
        article = self.members.pop(article_id)
        if self.size <= 1:
            self._counts = self._sum = None
        elif self._counts is not None and self._sum is not None:
            self._sum -= article.vector
            for word in article.words:
                if self._counts[word] == 1:
                    del self._counts[word]
                else:
                    self._counts[word] -= 1
        return article

    def without(self, article: StoryArticle) -> "Group":
        """The rest of the group, to compare the article with."""
        rest = Group(-1)
        rest.members = {key: one for key, one in self.members.items() if key != article.id}
        rest.first_at, rest.last_at = self.first_at, self.last_at
        if self._counts is not None and self._sum is not None:
            rest._sum = self._sum - article.vector
            rest._counts = self._counts.copy()
            for word in article.words:
                rest._counts[word] -= 1
        return rest

    def counts(self) -> Mapping[str, int]:
        """How many of its articles have each word."""
        if self._counts is not None:
            return self._counts
        return dict.fromkeys(self._only().words, 1)

    def mean(self) -> Vector:
        """The mean of the embeddings."""
        return self._only().vector if self._sum is None else self._sum / self.size

    def has_source(self, sources: Iterable[SourceId]) -> bool:
        wanted = frozenset(sources)
        return any(wanted & article.sources for article in self.members.values())

    def nearest(self) -> StoryArticle:
        """The article nearest to the centre; of equal ones the first."""
        newest = list(self.members.values())[-MOST_COMPARED:]
        likeness = np.array([article.vector for article in newest], np.float64) @ self.mean()
        return newest[int(np.argmax(likeness))]

    def _summed(self) -> tuple[dict[str, int], Vector]:
        if self._counts is None or self._sum is None:
            only = self._only()
            self._counts, self._sum = dict.fromkeys(only.words, 1), only.vector.astype(np.float64)
        return self._counts, self._sum

    def _only(self) -> StoryArticle:
        [article] = self.members.values()
        return article
