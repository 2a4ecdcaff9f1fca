"""How a query is searched: in which list, between which times, and by which indexes. Pure."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import NamedTuple

from headwater.library.types import Shelf
from headwater.query.leaves import estimate_share
from headwater.query.tree import conjuncts_of, leaves_of
from headwater.query.types import (
    And,
    Before,
    HasEnclosure,
    InField,
    InState,
    Labelled,
    Leaf,
    Node,
    Not,
    OfCategory,
    OfSource,
    OfStory,
    Or,
    StateField,
    Tagged,
    TextField,
    Within,
    Words,
)

KEYS_MOST = 8  # alternatives that are looked up in indexes
Key = Words | InField | Labelled | OfSource | OfCategory | Tagged | OfStory | HasEnclosure  # of a leaf with an index


class ListedBetween(NamedTuple):
    """Only articles listed from `since` on, and before `until`."""

    since: datetime | None
    until: datetime | None


def shelf_of(shelf: Shelf, tree: Node | None) -> Shelf:
    """The list that a search keeps to. `is:` in the query decides; words are searched in read and unread articles."""
    states = {part.state for part in conjuncts_of(tree) if isinstance(part, InState)} if tree else set[StateField]()
    if StateField.STARRED in states:
        return Shelf.STARRED
    if StateField.UNREAD in states:
        return Shelf.UNREAD
    leaves = list(leaves_of(tree)) if tree else []
    if any(isinstance(leaf, InState) for leaf in leaves):
        return Shelf.ALL
    is_search = any(isinstance(leaf, Words | InField) for leaf in leaves)
    return Shelf.ALL if is_search and shelf is Shelf.UNREAD else shelf


def listed_between(tree: Node, now: datetime) -> ListedBetween:
    """The times that all articles of a query have."""
    since = [now - part.time for part in conjuncts_of(tree) if isinstance(part, Within)]
    until = [_beginning(part) for part in conjuncts_of(tree) if isinstance(part, Before)]
    for part in conjuncts_of(tree):
        match part:
            case Not(Within(time)):
                until.append(now - time)
            case Not(Before() as before):
                since.append(_beginning(before))
            case _:
                pass
    return ListedBetween(max(since, default=None), min(until, default=None))


def _beginning(before: Before) -> datetime:
    return datetime(before.day.year, before.day.month, before.day.day, tzinfo=UTC)


def index_keys(tree: Node) -> list[tuple[Key, ...]]:
    """Ways to find all articles of a query by indexes, the best first. Each article has one of the leaves of a way."""
    return sorted((way for way in _ways(tree) if len(way) <= KEYS_MOST), key=_share)


def _ways(tree: Node) -> Sequence[tuple[Key, ...]]:
    match tree:
        case And(parts):
            return [way for part in parts for way in _ways(part)]
        case Or(parts):
            ways = [_ways(part) for part in parts]
            return [tuple(chain.from_iterable(min(some, key=_share) for some in ways))] if all(ways) else []
        case InField(TextField.TITLE | TextField.AUTHOR, _):
            return []
        case Words() | InField() | Labelled() | OfSource() | OfCategory() | Tagged() | OfStory() | HasEnclosure():
            return [(tree,)]
        case _:
            return []


def _share(way: Sequence[Leaf]) -> float:
    return sum(map(estimate_share, way))
