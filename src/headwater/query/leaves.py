"""Which leaves of many queries hold for a document, by an index over their words and values. Pure.

A leaf is a part of a query that tests one thing; equal leaves of several queries are one. Each is filed under something
that a document must have for it: a lexeme, a label, a source. Languages differ in the lexemes of a word, so leaves are
filed once per configuration of text search, when a document first needs it.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from math import inf
from typing import Final, assert_never

from headwater.query.document import Document
from headwater.query.evaluate import has_quality, is_of_time, texts_of
from headwater.query.lexemes import SIMPLE, Lexemes, Phrase, Vector, has_phrase
from headwater.query.types import (
    Before,
    Everything,
    HasEnclosure,
    InField,
    InState,
    LabelField,
    Labelled,
    Leaf,
    OfCategory,
    OfHost,
    OfQuality,
    OfSource,
    OfStory,
    Tagged,
    TextField,
    Within,
    Words,
)  # fmt: skip

SAMPLED: Final = 8  # of so many documents, one is counted
ESTIMATE_COUNTS: Final = 20  # an estimate counts like so many documents


@dataclass(frozen=True, slots=True)
class MissingWords:
    """What is to be loaded before documents can be matched."""

    words: Mapping[str, set[str]]  # by configuration of text search
    lower: set[str]  # texts that are compared in lower case

    def __bool__(self) -> bool:
        return any(self.words.values()) or bool(self.lower)


class _WordIndex:
    """Leaves by a lexeme that a text must have for them."""

    def __init__(self) -> None:
        self._single: dict[str, tuple[int, ...]] = {}
        # By two lexemes of theirs: few texts have both.
        self._phrases: dict[str, dict[str, list[tuple[int, Phrase]]]] = {}

    def add(self, leaf: int, phrase: Phrase) -> None:
        if len(phrase) == 1:
            lexeme = phrase[0][0]
            self._single[lexeme] = (*self._single.get(lexeme, ()), leaf)
        elif phrase:
            lexemes = sorted({lexeme for lexeme, _ in phrase}, key=len, reverse=True)
            # Under the lexeme with the fewest phrases: that of `Source 12` is `12` where all sources begin like this.
            first = min(lexemes, key=lambda one: len(self._phrases.get(one, ())))
            second = next((one for one in lexemes if one != first), first)
            self._phrases.setdefault(first, {}).setdefault(second, []).append((leaf, phrase))

    def find(self, vector: Vector, found: set[int]) -> None:
        """Add the leaves that hold for this text."""
        found.update(chain.from_iterable(filter(None, map(self._single.get, vector))))  # the fastest loop there is
        has = vector.keys()
        for lexeme in self._phrases.keys() & has:
            phrases = self._phrases[lexeme]
            for second in phrases.keys() & has:
                for leaf, phrase in phrases[second]:
                    if has_phrase(vector, phrase):
                        found.add(leaf)


class _TextIndex(_WordIndex):
    """The words of all queries by the rules of one language."""

    def __init__(self) -> None:
        super().__init__()
        self.filed = 0  # so many leaves
        self.stop_words: list[int] = []  # not indexed: in every text of the language


class LeafIndex:
    def __init__(self, lexemes: Lexemes) -> None:
        self._lexemes = lexemes
        self._numbers: dict[Leaf, int] = {}  # from 1, so that a negative number is a negation
        self._leaves: list[tuple[int, Leaf]] = []  # the same objects as numbers everywhere: sets compare them faster
        self._filed = 0  # so many leaves, in all indexes but `_texts`
        self._texts: dict[str, _TextIndex] = {}
        self._shown_titles = _WordIndex()
        self._fields = {field: _WordIndex() for field in TextField}
        self._values: dict[Hashable, list[int]] = {}
        self._qualities: list[tuple[int, OfQuality]] = []
        self._by_quality: dict[tuple[int, ...], list[int]] = {}  # of those documents that were seen
        self._times: list[tuple[int, Within | Before]] = []
        self.seen = 0  # so many documents
        self._hits: Counter[int] = Counter()  # of how many of each SAMPLED documents a leaf held

    def number(self, leaf: Leaf) -> int:
        """The number of this leaf, which is new if there is no equal one."""
        number = self._numbers.get(leaf)
        if number is None:
            number = self._numbers[leaf] = len(self._leaves) + 1
            self._leaves.append((number, leaf))
        return number

    def missing(self, configs: Iterable[str]) -> MissingWords:
        """Words that are to be loaded for texts of these configurations."""
        new = [leaf for _, leaf in self._leaves[self._filed :]]
        simple = {leaf.text for leaf in new if isinstance(leaf, Words | InField)}
        words = {SIMPLE: self._lexemes.missing(SIMPLE, simple)}
        for config in {*configs} - {""}:
            filed = self._texts[config].filed if config in self._texts else 0
            of_text = {leaf.text for _, leaf in self._leaves[filed:] if isinstance(leaf, Words)}
            # Words without a lexeme in `simple` are looked up there also when the others were filed long ago.
            words[SIMPLE] |= self._lexemes.missing(SIMPLE, of_text)
            if config != SIMPLE:
                words[config] = self._lexemes.missing(config, of_text)
        lower = {_lowered(leaf) for leaf in new if isinstance(leaf, OfCategory | Tagged)}
        return MissingWords(
            {config: missing for config, missing in words.items() if missing}, self._lexemes.missing_lower(lower)
        )

    def find(self, document: Document, now: datetime) -> set[int]:
        """The leaves that hold. Raises KeyError if words are missing."""
        self._file()
        found = set[int]()
        if document.config:
            index = self._text_index(document.config)
            index.find(document.text, found)
            found.update(index.stop_words)
        for vector in document.shown_titles:
            self._shown_titles.find(vector, found)
        for field, words in self._fields.items():
            for vector in texts_of(field, document):
                words.find(vector, found)
        for value in _values_of(document):
            if value in self._values:
                found.update(self._values[value])
        found.update(self._of_quality(document))
        found.update(number for number, leaf in self._times if is_of_time(leaf, document, now))
        self.seen += 1
        if self.seen % SAMPLED == 0:
            self._hits.update(found)
        return found

    def share(self, leaf: Leaf) -> float:
        """Of which share of documents a leaf holds, roughly, to file queries under their rarest part. `inf`: file none
        here."""
        expected = estimate_share(leaf)
        hits, seen = self._hits[self.number(leaf)], self.seen // SAMPLED
        return (hits + expected * ESTIMATE_COUNTS) / (seen + ESTIMATE_COUNTS)

    def _of_quality(self, document: Document) -> list[int]:
        numbers = self._by_quality.get(document.qualities)
        if numbers is None:
            numbers = [number for number, leaf in self._qualities if has_quality(leaf, document)]
            self._by_quality[document.qualities] = numbers
        return numbers

    def _text_index(self, config: str) -> _TextIndex:
        index = self._texts.setdefault(config, _TextIndex())
        for number, leaf in self._leaves[index.filed :]:
            if isinstance(leaf, Words) and self._lexemes.of(SIMPLE, leaf.text):
                phrase = self._lexemes.of(config, leaf.text)
                index.add(number, phrase) if phrase else index.stop_words.append(number)
            index.filed = number
        return index

    def _file(self) -> None:
        for number, leaf in self._leaves[self._filed :]:
            match leaf:
                case Words(text):
                    self._shown_titles.add(number, self._lexemes.of(SIMPLE, text))
                case InField(field, text):
                    self._fields[field].add(number, self._lexemes.of(SIMPLE, text))
                case OfQuality():
                    self._qualities.append((number, leaf))
                    self._by_quality.clear()
                case Within() | Before():
                    self._times.append((number, leaf))
                case _:
                    for value in self._values_of_leaf(leaf):
                        self._values.setdefault(value, []).append(number)
            self._filed = number

    def _values_of_leaf(
        self, leaf: OfCategory | Tagged | Labelled | OfSource | OfHost | OfStory | InState | HasEnclosure | Everything
    ) -> Iterator[Hashable]:
        """Values of which a document must have one."""
        match leaf:
            case OfCategory(category):
                yield OfCategory, self._lexemes.lower(category)
            case Tagged(tag):
                yield Tagged, self._lexemes.lower(tag)
            case Labelled(labels=labels):
                yield from labels
            case OfSource() | OfHost() | OfStory() | InState() | HasEnclosure() | Everything():
                yield leaf
            case _:
                assert_never(leaf)


def _lowered(leaf: OfCategory | Tagged) -> str:
    return leaf.category if isinstance(leaf, OfCategory) else leaf.tag


def _values_of(document: Document) -> Iterator[Hashable]:
    for source_id in document.source_ids:
        yield OfSource(source_id)
    for category in document.categories:
        yield OfCategory, category
    for tag in document.tags:
        yield Tagged, tag
    yield from document.labels
    for host in document.hosts:
        yield OfHost(host)
    if document.story_id:
        yield OfStory(document.story_id)
    for state in document.states:
        yield InState(state)
    if document.has_enclosure:
        yield HasEnclosure()
    yield Everything()


def estimate_share(leaf: Leaf) -> float:
    """The share before any document was seen."""
    match leaf:
        case Everything() | Within() | Before() | OfQuality():
            return inf
        case OfStory():
            return 0.0001
        case OfSource() | OfHost() | Tagged():
            return 0.001
        case InField(TextField.TITLE, text):
            return _share_of_words(text) / 10
        case InField():
            return 0.001
        case Words(text):
            return _share_of_words(text)
        case OfCategory() | HasEnclosure():
            return 0.1
        case Labelled(LabelField.TOPIC):
            return 0.15
        case Labelled() | InState():
            return 0.6
        case _:
            assert_never(leaf)


def _share_of_words(text: str) -> float:
    """Long words are rare, and phrases rarer than their words."""
    words = text.split() or [text]
    return 0.3 / max(len(word) for word in words) ** 2 / 10 ** (len(words) - 1)
