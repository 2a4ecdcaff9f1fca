"""Online grouping of articles into stories, in memory.

An article joins the story that it is most like, if it is like enough: by its words weighted by their rarity, by its
embedding, and by time. Only stories with a rare word in common are compared. Two articles of one feed are never joined
by likeness, only as near-duplicates. An hourly review merges stories that are alike, and removes articles that are
unlike the rest. What is remembered is limited; so is the time for one article, whatever the number of the others.
"""

import math
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Final
from uuid import UUID

import numpy as np

from headwater.stories.group import MOST_COMPARED, Group
from headwater.stories.index import WordIndex
from headwater.stories.types import ClusterOptions, Placement, ReviewReport, StoryArticle, Vector
from headwater.types import ArticleId

_PRIOR: Final = 50  # articles: the mean embedding of fewer says little
_DRIFT: Final = 0.1  # what is computed from counts is computed again after they changed by so much


class StoryClusters:
    """The stories of the last 72 hours. The same calls in the same order give the same stories."""

    def __init__(self, new_story_id: Callable[[], UUID], options: ClusterOptions | None = None) -> None:
        self._options = options or ClusterOptions()
        self._new_story_id = new_story_id
        self._languages: dict[str, WordIndex] = {}
        self._groups: dict[int, Group] = {}
        self._group_of: dict[ArticleId, Group] = {}  # in the order of arrival
        self._by_story: dict[UUID, Group] = {}
        self._awaited: dict[ArticleId, ArticleId] = {}  # twins that have not arrived, and by which article
        self._discounted: set[ArticleId] = set()  # beside another article of their feed: no other finds them
        self._next_number = 0
        self._sum: Vector | None = None  # of all embeddings of English articles
        self._changed: set[int] = set()  # groups, since the last review
        self._placements: dict[ArticleId, UUID | None] = {}

    def __len__(self) -> int:
        """How many articles are remembered."""
        return len(self._group_of)

    @property
    def word_count(self) -> int:
        return sum(map(len, self._languages.values()))

    def groups(self) -> list[list[ArticleId]]:
        """The articles of each story, and those in none each by itself."""
        return [list(group.members) for group in self._groups.values()]

    def take_placements(self) -> list[Placement]:
        """The articles whose story may have changed since the last call."""
        taken = [Placement(article_id, story_id) for article_id, story_id in self._placements.items()]
        self._placements.clear()
        return taken

    def waiting(self) -> list[ArticleId]:
        """The articles that `take_placements` will return."""
        return list(self._placements)

    def nearest(self, story_id: UUID) -> ArticleId | None:
        """The article nearest to the centre of a story; None if none of its articles is remembered."""
        group = self._by_story.get(story_id)
        return group.nearest().id if group else None

    def restore(
        self, article: StoryArticle, story_id: UUID | None, first_at: float | None, *, is_reviewed: bool = False
    ) -> None:
        """Remember an article that was placed before. Articles are restored in the order of their arrival."""
        self._remember(article)
        if story_id is None:
            self._find_group(article)  # whether others may find it
        group = self._by_story.get(story_id) if story_id else None
        group = group or self._new_group(story_id)
        was_changed = group.number in self._changed
        self._join(group, article)
        if is_reviewed and not was_changed:
            self._changed.discard(group.number)
        if first_at is not None:
            group.first_at = min(group.first_at, first_at)
        self._limit_memory()

    def place(self, article: StoryArticle) -> None:
        """Join the article to a story, or let it wait for another. A known article is placed anew."""
        self.forget([article.id])
        self._remember(article)
        group = self._find_group(article) or self._new_group(None)
        self._join(group, article)
        self._placements[article.id] = group.story_id
        self._name(group)
        self._limit_memory()

    def forget(self, article_ids: Iterable[ArticleId]) -> None:
        """Remove these articles from memory. They stay in their stories."""
        for article_id in article_ids:
            group = self._group_of.get(article_id)
            if group is not None:
                article = self._leave(group, article_id)
                del self._group_of[article_id]
                self._placements.pop(article_id, None)
                for twin in article.twins:
                    if self._awaited.get(twin) == article_id:
                        del self._awaited[twin]
                if article_id not in self._discounted:
                    self._discount(article)
                self._discounted.discard(article_id)

    def forget_before(self, seen_at: float) -> None:
        """Remove the articles that arrived before a time from memory."""
        old: list[ArticleId] = []
        now = seen_at + self._options.span.total_seconds()
        for article_id, group in self._group_of.items():
            at = group.members[article_id].seen_at
            if seen_at <= at <= now:
                break
            if at < seen_at:  # otherwise by a clock that was ahead
                old.append(article_id)
        self.forget(old)

    def review(self) -> ReviewReport:
        """Remove articles that are unlike the rest of their story, then merge stories that are alike."""
        report = ReviewReport()
        for number in sorted(self._changed):
            if number in self._groups:
                report.left += self._remove_unlike(self._groups[number])
        report.merged = self._merge_alike()
        self._changed.clear()
        report.articles, report.stories = len(self), len(self._by_story)
        return report

    # Groups

    def _find_group(self, article: StoryArticle) -> Group | None:
        alone = Group.of(article)
        for twin in (*article.twins, self._awaited.get(article.id)):
            # One that is dated long before would end the story: nothing later is within 72 hours of both.
            if twin is not None and twin in self._group_of and self._is_in_time(alone, self._group_of[twin]):
                return self._group_of[twin]
        found = self._most_alike(alone)
        if found is None or not found[1].has_source(article.sources):
            return found[1] if found else None
        # Beside another article of its feed it stays alone. If it joined the next best story instead, two stories about
        # one event would grow side by side. Nor do others find it, or a feed with many articles about one event would
        # draw those of other feeds apart, and its words would no longer be rare.
        self._discount(article)
        return None

    def _remember(self, article: StoryArticle) -> None:
        self._awaited |= {twin: article.id for twin in article.twins if twin not in self._group_of}
        self._count(article)

    def _count(self, article: StoryArticle) -> None:
        self._discounted.discard(article.id)
        self._index(article.language).add_article(article.words)
        if article.is_english:
            self._sum = article.vector.astype(np.float64) if self._sum is None else self._sum + article.vector

    def _discount(self, article: StoryArticle) -> None:
        """Let no other article find this one by its words."""
        self._discounted.add(article.id)
        self._index(article.language).remove_article(article.words)
        if article.is_english and self._sum is not None:
            self._sum = self._sum - article.vector

    def _index(self, language: str) -> WordIndex:
        """A word is rare or frequent among the articles of its language."""
        if language not in self._languages:
            self._languages[language] = WordIndex(self._options.most_listed)
        return self._languages[language]

    def _new_group(self, story_id: UUID | None) -> Group:
        group = Group(self._next_number, story_id)
        self._next_number += 1
        self._groups[group.number] = group
        if story_id is not None:
            self._by_story[story_id] = group
        return group

    def _join(self, group: Group, article: StoryArticle) -> None:
        if group.members and article.id in self._discounted:
            self._count(article)
        group.add(article)
        self._group_of[article.id] = group
        if article.id not in self._discounted:
            self._index(article.language).list_group(article.words, group.number, self._groups)
        self._changed.add(group.number)

    def _leave(self, group: Group, article_id: ArticleId) -> StoryArticle:
        article = group.remove(article_id)
        if not group.members:
            del self._groups[group.number]
            if group.story_id is not None:
                del self._by_story[group.story_id]
        return article

    def _name(self, group: Group) -> None:
        """A group of two is a story."""
        if group.story_id is None and group.size > 1:
            group.story_id = self._new_story_id()
            self._by_story[group.story_id] = group
            self._placements |= dict.fromkeys(group.members, group.story_id)

    def _limit_memory(self) -> None:
        while len(self) > self._options.most_articles:
            self.forget([next(iter(self._group_of))])

    # Likeness

    def _most_alike(self, group: Group) -> tuple[float, Group] | None:
        """The other group that this one is most like, if it is like enough."""
        options = self._options
        numbers = self._index(group.language).find(
            group.counts(), self._groups, searched=options.most_searched, most=options.most_candidates + 1
        )
        found = [self._groups[number] for number in numbers if number != group.number]
        others = [other for other in found if self._is_in_time(group, other)][: options.most_candidates]
        if not others:
            return None
        scores = self._likeness(group, others)
        best = max(range(len(others)), key=lambda at: (scores[at], -others[at].number))
        return (scores[best], others[best]) if scores[best] >= options.join else None

    def _is_in_time(self, one: Group, other: Group) -> bool:
        span = max(one.last_at, other.last_at) - min(one.first_at, other.first_at)
        return span <= self._options.span.total_seconds()

    def _likeness(self, group: Group, others: list[Group]) -> list[float]:
        """By words, embeddings and time, 0 to 1. The embeddings know English: of others, the words decide."""
        if not group.is_english:
            return [self._overlap(group, other) * self._fade(group, other) for other in others]
        share = self._options.words_share
        near = self._nearness(group, others)
        return [
            ((1 - share) * float(near[at]) + share * self._overlap(group, other)) * self._fade(group, other)
            for at, other in enumerate(others)
        ]

    def _nearness(self, group: Group, others: list[Group]) -> Vector:
        """The cosines of the embeddings, without what all articles have in common."""
        assert self._sum is not None, "the group's articles are remembered"
        centre = self._sum / (self._index(group.language).articles + _PRIOR)
        mine = group.mean() - centre
        theirs = np.array([other.mean() for other in others], np.float64) - centre
        lengths = np.linalg.norm(theirs, axis=1) * np.linalg.norm(mine)
        return np.maximum(theirs @ mine / np.maximum(lengths, 1e-9), 0)

    def _overlap(self, one: Group, other: Group) -> float:
        """The cosine of the words, weighted by their rarity."""
        few, many = sorted((one.counts(), other.counts()), key=len)
        index = self._index(one.language)
        common = sum(few[word] * many[word] * index.weight(word) ** 2 for word in few if word in many)
        if not common:
            return 0.0
        return common / (one.size * other.size * self._length(one) * self._length(other))

    def _length(self, group: Group) -> float:
        """Of the vector of its weighted words. The one of a large group changes little with an article."""
        (size, articles), index = group.length_at, self._index(group.language)
        if abs(group.size - size) > _DRIFT * size or abs(index.articles - articles) > _DRIFT * articles:
            group.length = index.length(group.counts(), group.size)
            group.length_at = (group.size, index.articles)
        return group.length

    def _fade(self, one: Group, other: Group) -> float:
        gap = max(one.first_at - other.last_at, other.first_at - one.last_at, 0)
        return math.exp(-gap / self._options.fading.total_seconds())

    # Review

    def _remove_unlike(self, group: Group) -> int:
        if group.size < 3:
            return 0
        count, twins = 0, {twin for article in group.members.values() for twin in article.twins}
        for article in list(group.members.values())[-MOST_COMPARED:]:
            is_twin = article.id in twins or any(twin in group.members for twin in article.twins)
            if is_twin or group.size < 3:
                continue
            if self._likeness(Group.of(article), [group.without(article)])[0] < self._options.leave:
                self._move([article], group, self._new_group(None))
                count += 1
        return count

    def _merge_alike(self) -> int:
        """The most alike pair first, until no pair of those that changed is alike enough."""
        count, heap = 0, list[tuple[float, int, int, int, int]]()

        def push(group: Group) -> None:
            found = self._most_alike(group)
            if found and self._movable(*self._by_size(group, found[1])):
                other = found[1]
                heappush(heap, (-found[0], group.number, other.number, group.size, other.size))

        for number in sorted(self._changed):
            if number in self._groups:
                push(self._groups[number])
        while heap:
            _, number, other_number, size, other_size = heappop(heap)
            group, other = self._groups.get(number), self._groups.get(other_number)
            if group is None or group.size != size:
                continue
            if other is None or other.size != other_size:
                push(group)
                continue
            large, small = self._by_size(group, other)
            self._move(self._movable(large, small), small, large)
            count += 1
            push(large)
            if small.members:
                push(small)
        return count

    def _by_size(self, one: Group, other: Group) -> tuple[Group, Group]:
        return (one, other) if (one.size, other.number) > (other.size, one.number) else (other, one)

    def _movable(self, large: Group, small: Group) -> list[StoryArticle]:
        """The articles of one group that may join another: of no feed that it has. Near-duplicates stay together: one
        that left alone could leave two articles of one feed that only it had joined."""
        staying = {article.id for article in small.members.values() if large.has_source(article.sources)}
        pairs = [(one.id, twin) for one in small.members.values() for twin in one.twins if twin in small.members]
        while more := {other for pair in pairs if not staying.isdisjoint(pair) for other in pair} - staying:
            staying |= more
        return [article for article in small.members.values() if article.id not in staying]

    def _move(self, articles: list[StoryArticle], old: Group, new: Group) -> None:
        for article in articles:
            self._leave(old, article.id)
            self._join(new, article)
            self._placements[article.id] = new.story_id
        self._name(new)
