"""Lexemes: what PostgreSQL's full-text search makes of words. Pure; store.py reads them.

A text is stored as lexemes with their positions (a tsvector), by the rules of its language. The words of a query become
lexemes by the same rules, in PostgreSQL, once per language: an evaluation outside the database then finds exactly what
`@@` finds.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Final

SIMPLE: Final = "simple"  # the configuration for titles and names: no stop words, no stems
WORD_MAX_CHARS: Final = 500  # PostgreSQL ignores words of more than 2,046 bytes

Vector = Mapping[str, str]  # lexemes of a text; positions as PostgreSQL writes them: "1A,7"
# Lexemes with their distance from the first, in order. Empty: nothing that is indexed, such as a stop word.
Phrase = tuple[tuple[str, int], ...]

_CACHED_MAX_CHARS: Final = 1_000  # a feed may send a title of any length
_LEXEME: Final = re.compile(r"'([^']*(?:''[^']*)*)'(?::(\S+))?")
_WEIGHTS: Final = str.maketrans("", "", "ABCD")  # of lexemes: in titles or elsewhere
_OPERATOR: Final = re.compile(r" <(-|\d+)> ")


def parse_vector(text: str) -> Vector:
    """A tsvector from its text."""
    found = dict(_LEXEME.findall(text))
    if "''" in text or "\\" in text:
        return {_unescape(lexeme): positions for lexeme, positions in found.items()}
    return found


def parse_short_vector(text: str) -> Vector:
    """That of a title or name. Many articles and readers share a name, and then this vector."""
    return _parse_cached(text) if len(text) <= _CACHED_MAX_CHARS else parse_vector(text)


@lru_cache(maxsize=10_000)
def _parse_cached(text: str) -> Vector:
    return parse_vector(text)


def parse_phrase(text: str) -> Phrase | None:
    """A tsquery from its text, as phraseto_tsquery makes it. None: it has other operators than those of a phrase, which
    no configuration that PostgreSQL ships makes."""
    if not text:
        return ()
    phrase: list[tuple[str, int]] = []
    distance = end = 0
    while lexeme := _LEXEME.match(text, end):
        phrase.append((_unescape(lexeme[1]), distance))
        end = lexeme.end(1) + 1
        operator = _OPERATOR.match(text, end)
        if operator is None:
            break
        distance += 1 if operator[1] == "-" else int(operator[1])
        end = operator.end()
    return tuple(phrase) if phrase and end == len(text) else None


def _unescape(text: str) -> str:
    return text.replace("''", "'").replace("\\\\", "\\")


def has_phrase(vector: Vector, phrase: Phrase) -> bool:
    """Whether a text has these lexemes at these distances: `vector @@ phrase`."""
    if len(phrase) < 2:
        return bool(phrase) and phrase[0][0] in vector
    starts = _positions(vector.get(phrase[0][0], ""))
    for lexeme, distance in phrase[1:]:
        if not starts:
            return False
        positions = _positions(vector.get(lexeme, ""))
        starts = frozenset(start for start in starts if start + distance in positions)
    return bool(starts)


@lru_cache(maxsize=10_000)  # most lexemes are once in a text: their positions have few forms
def _positions(text: str) -> frozenset[int]:
    return frozenset(map(int, text.translate(_WEIGHTS).split(","))) if text else frozenset()


def is_storable(word: str) -> bool:
    """Whether PostgreSQL accepts the word and looks at all of it. Others are found nowhere."""
    return len(word) <= WORD_MAX_CHARS and "\0" not in word and not any("\ud800" <= one <= "\udfff" for one in word)


class Lexemes:
    """The words of queries as lexemes, and some in lower case, as far as they were loaded."""

    def __init__(self) -> None:
        self._phrases: dict[str, dict[str, Phrase]] = {}  # by configuration
        self._lower: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._lower) + sum(map(len, self._phrases.values()))

    def of(self, config: str, words: str) -> Phrase:
        """Raises KeyError for words that were not loaded."""
        return self._phrases[config][words]

    def lower(self, text: str) -> str:
        """In lower case as PostgreSQL has it. Raises KeyError for a text that was not loaded."""
        return self._lower[text]

    def missing(self, config: str, words: Iterable[str]) -> set[str]:
        """Those of these words that are to be loaded."""
        return set(words) - self._phrases.get(config, {}).keys()

    def missing_lower(self, texts: Iterable[str]) -> set[str]:
        return set(texts) - self._lower.keys()

    def add(self, config: str, words: Mapping[str, Phrase]) -> None:
        self._phrases.setdefault(config, {}).update(words)

    def add_lower(self, texts: Mapping[str, str]) -> None:
        self._lower.update(texts)

    def keep_only(self, words: Collection[str]) -> None:
        """Forget all others."""
        for config, phrases in self._phrases.items():
            self._phrases[config] = {word: phrases[word] for word in phrases.keys() & words}
        self._lower = {word: self._lower[word] for word in self._lower.keys() & words}
