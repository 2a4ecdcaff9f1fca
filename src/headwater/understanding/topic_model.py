"""The model of topics: an embedding and counts of words → the probability of each class.

Two logistic regressions are averaged: one over the embedding, which knows words that no example has, and one over
TF-IDF of the words. docs/understanding.md has the numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.understanding.softmax import Floats, softmax
from headwater.understanding.words import BUCKETS


@dataclass(frozen=True, slots=True)
class TopicModel:
    """Probabilities of `classes`. `sharpness` corrects the average of two cautious models: see training."""

    version: str
    classes: Sequence[str]
    embedding_weights: Floats  # (classes, 256)
    embedding_bias: Floats
    buckets: NDArray[np.integer[Any]]  # those with a weight, in order
    rarity: Floats  # the inverse document frequency of each
    word_weights: Floats  # (buckets, classes)
    word_bias: Floats
    embedding_share: float
    sharpness: float
    _row_of: NDArray[np.int32] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        row_of = np.full(BUCKETS, -1, np.int32)
        row_of[self.buckets] = np.arange(len(self.buckets))
        object.__setattr__(self, "_row_of", row_of)

    def scores(self, embedding: Floats | None, word_counts: Mapping[int, int]) -> dict[str, float]:
        """The probability of each class, all of the same small size for a text that says nothing."""
        parts = [
            (self.embedding_share, self._by_embedding(embedding)),
            (1 - self.embedding_share, self._by_words(word_counts)),
        ]
        known = [(share, found) for share, found in parts if found is not None]
        if not known:
            return dict.fromkeys(self.classes, 1 / len(self.classes))
        average = sum((share * found for share, found in known), np.zeros(len(self.classes)))
        sharp = np.power(average / average.sum(), self.sharpness)
        return dict(zip(self.classes, (sharp / sharp.sum()).tolist(), strict=True))

    def _by_embedding(self, embedding: Floats | None) -> Floats | None:
        """None: nothing is known of the text."""
        if embedding is None or not np.isfinite(embedding).all() or not embedding.any():
            return None
        return softmax(self.embedding_weights @ embedding.astype(np.float32) + self.embedding_bias)

    def _by_words(self, word_counts: Mapping[int, int]) -> Floats | None:
        rows = self._row_of[np.fromiter(word_counts.keys(), np.int64, len(word_counts))]
        is_known = rows >= 0
        if not is_known.any():
            return None
        rows = rows[is_known]
        counts = np.fromiter(word_counts.values(), np.float32, len(word_counts))[is_known]
        values = (1 + np.log(counts)) * self.rarity[rows]
        values /= np.sqrt(values @ values)
        return softmax(values @ self.word_weights[rows] + self.word_bias)
