"""How well articles are grouped into stories: headlines with their true stories, B³, and single-link title Jaccard."""

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import numpy as np

from headwater.stories.cluster import StoryClusters
from headwater.stories.types import ClusterOptions, StoryArticle
from headwater.stories.words import words_of
from headwater.types import ArticleId, SourceId
from headwater.understanding.embedding import embed
from tests.eval.own_stories import own_articles

HEADLINES = Path(__file__).resolve().parents[3] / "shared" / "corpora" / "stories" / "dev.jsonl"
HOUR_S = 3600
JACCARD_THRESHOLDS = [round(0.05 * step, 2) for step in range(2, 17)]
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, eq=False)
class TrueArticle:
    """An article as the stage sees it, its title, and the story that it belongs to."""

    article: StoryArticle
    title: str
    story: str


class B3(NamedTuple):
    """The mean over the articles: of its group, how much is of its story; of its story, how much is in its group."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        return 2 * self.precision * self.recall / (self.precision + self.recall)


def score_groups(groups: Sequence[Hashable], stories: Sequence[Hashable]) -> B3:
    """B³ of the groups that articles were put into, beside their true stories."""
    both = Counter(zip(groups, stories, strict=True))
    of_group, of_story, total = Counter(groups), Counter(stories), len(groups)
    precision = sum(n * n / of_group[group] for (group, _), n in both.items()) / total
    return B3(precision, sum(n * n / of_story[story] for (_, story), n in both.items()) / total)


@cache
def headlines(path: Path = HEADLINES, *, by_publisher: bool = False) -> tuple[TrueArticle, ...]:
    """The headlines of the corpus, oldest first.

    It names publishers, not feeds. A publisher has many feeds, so each headline counts as one of a feed of its own,
    unless `by_publisher` makes a feed of each publisher.
    """
    rows = sorted((json.loads(line) for line in path.read_text().splitlines()), key=lambda row: row["at"])
    texts = [(row["title"], "") for row in rows]
    feeds = [row["publisher"] if by_publisher else str(number) for number, row in enumerate(rows)]
    return _articles(texts, [row["at"] for row in rows], feeds, [row["story"] for row in rows])


@cache
def own() -> tuple[TrueArticle, ...]:
    """The articles written for this project, with their texts and feeds."""
    rows = own_articles()
    texts = [(row.title, row.text) for row in rows]
    return _articles(texts, [row.at.timestamp() for row in rows], [row.source for row in rows], [r.story for r in rows])


def _articles(
    texts: Sequence[tuple[str, str]], times: Sequence[float], feeds: Sequence[str], stories: Sequence[str]
) -> tuple[TrueArticle, ...]:
    vectors = embed([f"{title}\n{text}" for title, text in texts]).astype(np.float16)
    numbers = {feed: SourceId(UUID(int=number)) for number, feed in enumerate(dict.fromkeys(feeds))}
    return tuple(
        TrueArticle(
            StoryArticle(
                id=ArticleId(UUID(int=at)), seen_at=times[at], at=times[at], words=words_of(*texts[at]),
                vector=vectors[at], sources=frozenset([numbers[feeds[at]]]),
            ),
            texts[at][0], stories[at],
        )
        for at in range(len(texts))
    )  # fmt: skip


def halves(articles: Sequence[TrueArticle], seed: int) -> tuple[list[TrueArticle], list[TrueArticle]]:
    """The articles of one half of the stories, and those of the other."""
    stories = sorted({one.story for one in articles})
    random.Random(seed).shuffle(stories)
    first = set(stories[: len(stories) // 2])
    return [one for one in articles if one.story in first], [one for one in articles if one.story not in first]


def group(
    articles: Sequence[TrueArticle],
    options: ClusterOptions | None = None,
    *,
    measured: Callable[[Callable[[], object]], object] = lambda step: step(),
) -> B3:
    """As the stage groups them: one after the other, with a review every hour and one at the end."""
    numbers = count()
    clusters = StoryClusters(lambda: UUID(int=next(numbers)), options)
    reviewed_at = articles[0].article.seen_at
    for one in articles:
        if one.article.seen_at - reviewed_at >= HOUR_S:
            clusters.review()
            reviewed_at = one.article.seen_at
        measured(lambda one=one: clusters.place(one.article))
    clusters.review()
    group_of = {article_id: number for number, ids in enumerate(clusters.groups()) for article_id in ids}
    return score_groups([group_of[one.article.id] for one in articles], [one.story for one in articles])


def group_by_titles(articles: Sequence[TrueArticle], threshold: float) -> B3:
    """Single-link by the Jaccard coefficient of the titles' words, among articles within 72 hours."""
    titles = [frozenset(_WORD.findall(one.title.lower())) for one in articles]
    parents = list(range(len(articles)))

    def root(at: int) -> int:
        while parents[at] != at:
            parents[at] = parents[parents[at]]
            at = parents[at]
        return at

    having: dict[str, list[int]] = defaultdict(list)
    for at, words in enumerate(titles):
        shared = Counter(other for word in words for other in having[word])
        for other, common in shared.items():
            is_near = articles[at].article.at - articles[other].article.at <= 72 * HOUR_S
            if is_near and common >= threshold * (len(words) + len(titles[other]) - common):
                parents[root(at)] = root(other)
        for word in words:
            having[word].append(at)
    return score_groups([root(at) for at in range(len(articles))], [one.story for one in articles])


def best_by_titles(articles: Sequence[TrueArticle]) -> float:
    """The threshold with the highest F1."""
    return max(JACCARD_THRESHOLDS, key=lambda threshold: group_by_titles(articles, threshold).f1)


def choose_join(articles: Sequence[TrueArticle], candidates: Sequence[float], *, precision: float) -> float:
    """The threshold with the highest F1 among those with at least this precision; without one, the most precise."""
    scores = {join: group(articles, replace(ClusterOptions(), join=join)) for join in candidates}
    enough = [join for join in candidates if scores[join].precision >= precision]
    if not enough:
        return max(candidates, key=lambda join: scores[join].precision)
    return max(enough, key=lambda join: scores[join].f1)
