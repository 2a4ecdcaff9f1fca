"""One document against many saved queries, by an index over their words and values instead of a loop over queries.

Looking up what a document has gives all leaves of all queries that hold for it (leaves.py). Each query is a condition
on that set, filed under leaves of which one must hold: those of its rarest required part. Queries that require nothing,
such as `-word`, are checked for every document.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, Generic, NamedTuple, TypeVar

from headwater.query.conditions import LeafCondition, condition_of
from headwater.query.document import Document
from headwater.query.evaluate import texts_in
from headwater.query.leaves import LeafIndex, MissingWords
from headwater.query.lexemes import Lexemes
from headwater.query.types import Node, Query

Key = TypeVar("Key", bound=Hashable)
FIRST_FILED_AGAIN: Final = 512  # documents after which queries are filed by what was seen; then after 8 times as many


class _Posting(NamedTuple):
    """Queries, by their numbers, that are filed under a leaf. The first three kinds are filed under no other."""

    single: Sequence[int] = ()  # found if the leaf holds
    pairs: Sequence[tuple[int, int]] = ()  # found if another leaf holds, too
    # Found if all of one set hold, too, and none of another.
    plain: Sequence[tuple[int, frozenset[int], frozenset[int]]] = ()
    alternatives: Sequence[int] = ()  # found if the leaf holds
    checked: Sequence[tuple[int, LeafCondition]] = ()

    def with_query(self, number: int, condition: LeafCondition) -> "_Posting":
        others = condition.required - condition.keys
        if condition.is_sure and condition.required:
            return self._replace(single=(*self.single, number))
        if condition.is_sure:
            return self._replace(alternatives=(*self.alternatives, number))
        if not condition.is_plain:
            return self._replace(checked=(*self.checked, (number, condition)))
        if len(others) == 1 and not condition.forbidden:
            return self._replace(pairs=(*self.pairs, (number, next(iter(others)))))
        return self._replace(plain=(*self.plain, (number, others, condition.forbidden)))

    def without_query(self, number: int) -> "_Posting":
        return _Posting(
            single=tuple(one for one in self.single if one != number),
            pairs=tuple(one for one in self.pairs if one[0] != number),
            plain=tuple(one for one in self.plain if one[0] != number),
            alternatives=tuple(one for one in self.alternatives if one != number),
            checked=tuple(one for one in self.checked if one[0] != number),
        )

    def numbers(self) -> Iterator[int]:
        yield from self.single
        yield from self.alternatives
        for filed in (self.pairs, self.plain, self.checked):
            yield from (one[0] for one in filed)


_EMPTY: Final = _Posting()


class Matcher(Generic[Key]):
    """Saved queries by a key of the caller's. Before `match`, load what `missing` names, as `matching.prepare` does."""

    def __init__(self) -> None:
        self.lexemes = Lexemes()
        self._saved: dict[Key, Query] = {}
        self._clear()

    def _clear(self) -> None:
        self._leaves = LeafIndex(self.lexemes)
        self._removed = 0
        self._numbers: dict[Key, int] = {}  # hashing a key may be slow
        self._keys: list[Key] = []
        self._conditions: list[LeafCondition] = []
        self._file_again_at = FIRST_FILED_AGAIN
        self._empty_postings()

    def _empty_postings(self) -> None:
        self._postings: dict[int, _Posting] = {}  # by leaf
        self._always: dict[int, LeafCondition] = {}  # checked for every document

    @classmethod
    def of(cls, saved: Mapping[Key, Query]) -> "Matcher[Key]":
        matcher = cls()
        matcher.update(saved)
        return matcher

    def __len__(self) -> int:
        return len(self._saved)

    def __getitem__(self, key: Key) -> Query:
        return self._saved[key]

    def update(self, saved: Mapping[Key, Query]) -> None:
        """Match these queries from now on. Only those that differ from before cost time."""
        gone = [key for key, query in self._saved.items() if saved.get(key) != query]
        self._removed += len(gone)
        self._saved = dict(saved)
        if self._removed > len(saved):  # their leaves are still in the index, and their words are loaded
            self._clear()
            self.lexemes.keep_only({text for query in saved.values() for text in texts_in(query.tree)})
        else:
            self._remove(gone)
        for key in saved.keys() - self._numbers.keys():
            self._add(key, saved[key].tree)

    def _add(self, key: Key, tree: Node) -> None:
        number = self._numbers[key] = len(self._keys)
        self._keys.append(key)
        self._conditions.append(condition_of(tree, self._leaves.number, self._leaves.share))
        self._file(number)

    def _remove(self, keys: Iterable[Key]) -> None:
        for key in keys:
            number = self._numbers.pop(key)
            self._always.pop(number, None)
            for leaf in self._conditions[number].keys:
                self._postings[leaf] = self._postings[leaf].without_query(number)

    def _file(self, number: int) -> None:
        condition = self._conditions[number]
        if not condition.keys:
            self._always[number] = condition
        for leaf in condition.keys:
            self._postings[leaf] = self._postings.get(leaf, _EMPTY).with_query(number, condition)

    def _file_again(self) -> None:
        """File all queries by how many of the documents so far each leaf held for."""
        self._empty_postings()
        self._file_again_at *= 8
        for key, number in self._numbers.items():
            tree = self._saved[key].tree
            self._conditions[number] = condition_of(tree, self._leaves.number, self._leaves.share)
            self._file(number)

    def missing(self, documents: Iterable[Document]) -> MissingWords:
        """What is to be loaded into the lexemes before these documents are matched."""
        return self._leaves.missing(document.config for document in documents)

    def match(self, document: Document, now: datetime) -> list[Key]:
        """The keys of the queries that find the document. Raises KeyError if words are missing."""
        if self._leaves.seen >= self._file_again_at:
            self._file_again()
        found = self._leaves.find(document, now)
        once = [number for number, condition in self._always.items() if condition.holds(found)]
        matched = set[int]()  # those that may be found under several leaves
        for single, pairs, plain, alternatives, checked in filter(None, map(self._postings.get, found)):
            once += single
            for number, other in pairs:
                if other in found:
                    once.append(number)
            for number, others, forbidden in plain:
                if others <= found and forbidden.isdisjoint(found):
                    once.append(number)
            matched.update(alternatives)
            for number, condition in checked:
                if condition.holds(found):
                    matched.add(number)
        once += matched
        return [self._keys[number] for number in once]

    def candidates(self, document: Document, now: datetime) -> list[Key]:
        """The keys of all queries that may find a document that has no more than this one, whatever its times."""
        numbers = set(self._always)
        for leaf in self._leaves.find(document, now):
            if leaf in self._postings:
                numbers.update(self._postings[leaf].numbers())
        return [self._keys[number] for number in numbers]
