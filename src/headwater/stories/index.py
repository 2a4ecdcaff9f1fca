"""Which words are rare among the remembered articles, and which stories have a word."""

import math
from collections.abc import Collection, Iterable, Mapping
from heapq import nlargest, nsmallest
from typing import Final

RARE: Final = 5.0  # a word is rare if at most 5·√n of n articles have it: 12 % of 1,700, 1.6 % of 100,000
RARE_LEAST: Final = 3
_SMOOTHING: Final = 50  # articles; the first few say little about how frequent a word is
_RECENT: Final = 8


class WordIndex:
    """Counts of articles by word, and for each word the groups that had it last. Its lists are short whatever the
    number of articles, so finding and adding take the same time."""

    def __init__(self, most_listed: int) -> None:
        self._most_listed = most_listed
        self._articles = 0
        self._counts: dict[str, int] = {}
        self._groups: dict[str, list[int]] = {}

    @property
    def articles(self) -> int:
        return self._articles

    def __len__(self) -> int:
        """How many words there are."""
        return len(self._counts)

    def add_article(self, words: Iterable[str]) -> None:
        self._articles += 1
        for word in words:
            self._counts[word] = self._counts.get(word, 0) + 1

    def remove_article(self, words: Iterable[str]) -> None:
        self._articles -= 1
        for word in words:
            if self._counts[word] == 1:
                del self._counts[word]
                self._groups.pop(word, None)
            else:
                self._counts[word] -= 1

    def list_group(self, words: Iterable[str], group: int, alive: Collection[int]) -> None:
        """Let a group be found by these words, as far as they are rare."""
        limit = self._limit()
        for word in words:
            if self._counts[word] > limit:
                self._groups.pop(word, None)
                continue
            listed = self._groups.setdefault(word, [])
            if group not in listed[-_RECENT:]:
                listed.append(group)
            if len(listed) > 2 * self._most_listed:
                self._groups[word] = self._last(listed, alive)

    def find(self, words: Iterable[str], alive: Collection[int], *, searched: int, most: int) -> list[int]:
        """The groups with the most in common of the rarest of these words."""
        limit, weights = self._limit(), dict[int, float]()
        # A word that one article has leads to no other.
        rare = [(count, word) for word in words if 1 < (count := self._counts.get(word, 0)) <= limit]
        for _, word in nsmallest(searched, rare):
            weight = self.weight(word)
            for group in self._last(self._groups.get(word, []), alive):
                weights[group] = weights.get(group, 0) + weight
        return nlargest(most, weights, key=lambda group: (weights[group], group))

    def weight(self, word: str) -> float:
        """The inverse document frequency: higher for rarer words."""
        return math.log((self._articles + _SMOOTHING) / (self._counts.get(word, 0) + 0.5))

    def length(self, counts: Mapping[str, int], size: int) -> float:
        """The length of the vector of weighted words of a group."""
        return math.sqrt(sum((count / size * self.weight(word)) ** 2 for word, count in counts.items()))

    def _limit(self) -> float:
        return RARE * math.sqrt(self._articles) + RARE_LEAST

    def _last(self, listed: list[int], alive: Collection[int]) -> list[int]:
        """The groups that were listed last, oldest first, each once."""
        found: dict[int, None] = {}
        for group in reversed(listed):
            if group in alive and group not in found:
                found[group] = None
                if len(found) == self._most_listed:
                    break
        return list(reversed(found))
