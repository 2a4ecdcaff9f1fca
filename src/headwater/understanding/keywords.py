"""Keywords of an article: those that its page declares, and the words and pairs of words that stand out in its text."""

import re
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Final

from headwater.text import is_blank, one_line
from headwater.understanding.stop_words import STOP_WORDS
from headwater.understanding.types import Guess

MOST: Final = 10
_MOST_DECLARED: Final = 6
_MAX_CHARS: Final = 60
_READ_CHARS: Final = 8_000
_DECLARED_SCORE: Final = 0.9
_WORD: Final = re.compile(r"[^\W\d_][\w'’&-]*\w")
_BREAK: Final = re.compile(r"[^\w'’&\s-]|\n")  # pairs of words do not cross punctuation
_LEAST_LETTERS: Final = 3
_LEAST_COUNT: Final = 2  # of a word in text and title together
_LEAST_PAIRS: Final = 4
_TITLE_WEIGHT: Final = 2
_NAME_WEIGHT: Final = 1.5  # a word with a capital in the middle of a sentence
_PAIR_WEIGHT: Final = 1.6


def find_keywords(title: str, text: str, declared: Sequence[str], language: str | None) -> list[Guess]:
    """The surest first. Without stop words of the language, only what the page declares."""
    found: dict[str, Guess] = {}
    for keyword in declared[:50]:
        tidy = one_line(keyword[:200]).strip(" ,;.#\"'").lower()
        if tidy and not is_blank(tidy) and len(tidy) <= _MAX_CHARS and len(found) < _MOST_DECLARED:
            found.setdefault(tidy, Guess(tidy, _DECLARED_SCORE))
    if stops := STOP_WORDS.get(language or ""):
        for one in _telling(title, text[:_READ_CHARS], stops):
            if len(found) >= MOST:
                break
            found.setdefault(one.label, one)
    return sorted(found.values(), key=lambda one: -one.score)


def _telling(title: str, text: str, stops: frozenset[str]) -> list[Guess]:
    """Words and pairs that are repeated, in the title, or names; the best first."""
    phrases = [_WORD.findall(part) for part in _BREAK.split(text)]
    lower = [[word.lower().removesuffix("'s").removesuffix("’s") for word in phrase] for phrase in phrases]
    counts = Counter(word for phrase in lower for word in phrase if _is_telling(word, stops))
    for word in {word.lower() for word in _WORD.findall(title[:500])}:
        if _is_telling(word, stops):
            counts[word] += _TITLE_WEIGHT
    # Words that never occur in lower case are names.
    names = counts.keys() - {word for phrase in phrases for word in phrase if not word[0].isupper()}
    weights = {
        word: count * (_NAME_WEIGHT if word in names else 1) for word, count in counts.items() if count >= _LEAST_COUNT
    }
    weights |= _weigh_pairs(lower, counts, names)
    best = sorted(weights, key=lambda keyword: (-weights[keyword], keyword))
    telling = [keyword for keyword in best if weights[keyword] > 0 and len(keyword) <= _MAX_CHARS]
    return [Guess(keyword, min(0.85, weights[keyword] / (weights[keyword] + 5))) for keyword in telling[:MOST]]


def _weigh_pairs(phrases: Sequence[Sequence[str]], counts: Counter[str], names: AbstractSet[str]) -> dict[str, float]:
    """Pairs of names that occur twice, other pairs that occur four times. Words that mostly occur in one weigh 0."""
    pairs = Counter(
        (one, other)
        for phrase in phrases
        for one, other in pairwise(phrase)
        if one in counts and other in counts and one != other
    )
    found: dict[str, float] = {}
    for (one, other), count in pairs.items():
        is_name = one in names and other in names
        if count < (_LEAST_COUNT if is_name else _LEAST_PAIRS):
            continue
        found[f"{one} {other}"] = count * _PAIR_WEIGHT * (_NAME_WEIGHT if is_name else 1)
        inside = [word for word in (one, other) if counts[word] <= 1.5 * count + _TITLE_WEIGHT]
        found |= dict.fromkeys(inside, 0.0)
    return found


def _is_telling(word: str, stops: frozenset[str]) -> bool:
    return len(word) >= _LEAST_LETTERS and word not in stops
