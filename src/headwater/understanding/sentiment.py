"""The sentiment of an English text: the mean over its sentences, by the lexicon and the rules of VADER."""

import re
from functools import cache
from typing import Final, cast

from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from headwater.understanding.types import Guess

_READ_CHARS: Final = 1_000
_SENTENCE_CHARS: Final = 300  # VADER's time grows with the square
_WORD: Final = re.compile(r"[^\s,.;:!?()\"]+")
_END: Final = re.compile(r"(?<=[.!?])[\"'”’)]*\s+|\n+")

# Of the mean of all sentences, each -1 to 1.
_CLEAR: Final = 0.15
# A sentence that counts as positive or negative, and the share of sentences of either kind that make a text mixed.
_STRONG: Final = 0.35
_MIXED_SHARE: Final = 0.25


def find_sentiment(title: str, text: str) -> Guess | None:
    """Positive, negative, neutral or mixed; None without words. The title counts as one sentence."""
    sentences = [part[:_SENTENCE_CHARS] for part in (title, *_END.split(text[:_READ_CHARS])) if part.strip()]
    if not sentences:
        return None
    scores = [_score(sentence) for sentence in sentences]
    mean = sum(scores) / len(scores)
    positive = sum(score >= _STRONG for score in scores) / len(scores)
    negative = sum(score <= -_STRONG for score in scores) / len(scores)
    weaker = min(positive, negative)
    if weaker >= _MIXED_SHARE and abs(mean) < 2 * _CLEAR:
        return Guess("mixed", min(1.0, 0.5 + weaker))
    if abs(mean) < _CLEAR:
        return Guess("neutral", 1 - abs(mean) / _CLEAR / 2)
    return Guess("positive" if mean > 0 else "negative", min(1.0, 0.5 + (abs(mean) - _CLEAR) / 0.7))


def _score(sentence: str) -> float:
    """0 for most sentences, which have no word of the lexicon: VADER would take long to say so."""
    if sentence.isascii() and _lexicon().isdisjoint(_WORD.findall(sentence.lower())):
        return 0.0
    return _analyzer().polarity_scores(sentence)["compound"]  # pyright: ignore[reportUnknownMemberType]


@cache
def _analyzer() -> SentimentIntensityAnalyzer:
    return SentimentIntensityAnalyzer()


@cache
def _lexicon() -> frozenset[str]:
    return frozenset(cast("dict[str, float]", _analyzer().lexicon))  # pyright: ignore[reportUnknownMemberType]
