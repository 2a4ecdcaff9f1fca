"""A query as a condition on a set of numbers: which of its leaves hold. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import assert_never

from headwater.query.types import And, Everything, Leaf, Node, Not, Or


@dataclass(frozen=True, slots=True)
class _All:
    parts: "tuple[_Expression, ...]"


@dataclass(frozen=True, slots=True)
class _Any:
    parts: "tuple[_Expression, ...]"


# A number above 0 is a leaf that must hold; below 0, one that must not.
_Expression = int | _All | _Any
_Keys = tuple[frozenset[int], float]  # and the share of documents of which one of them holds
_NO_KEYS: _Keys = (frozenset(), inf)
_TRUE = _All(())
_FALSE = _Any(())


@dataclass(frozen=True, slots=True)
class LeafCondition:
    """What must be in the set, what must not, sets of which one must be, and the rest. One of `keys` must be in it,
    unless there are none."""

    required: frozenset[int]
    forbidden: frozenset[int]
    choices: tuple[frozenset[int], ...]
    rest: tuple[_Expression, ...]
    keys: frozenset[int]

    @property
    def is_plain(self) -> bool:
        """Whether it is no more than `required` and `forbidden`."""
        return not (self.choices or self.rest)

    @property
    def is_sure(self) -> bool:
        """Whether it holds if one of `keys` is in the set."""
        parts = [self.required] if self.required else [*self.choices]
        is_single = len(self.required) + len(self.choices) == 1 and not self.forbidden and not self.rest
        return is_single and self.keys == parts[0]

    def holds(self, found: set[int]) -> bool:
        return (
            self.required <= found
            and self.forbidden.isdisjoint(found)
            and (not self.choices or not any(one.isdisjoint(found) for one in self.choices))
            and (not self.rest or all(_holds(one, found) for one in self.rest))
        )


def condition_of(tree: Node, number: Callable[[Leaf], int], share: Callable[[Leaf], float]) -> LeafCondition:
    """`number` names leaves. `share` estimates of how many documents a leaf holds; those of `inf` are no keys."""
    shares: dict[int, float] = {}

    def name(leaf: Leaf) -> int:
        named = number(leaf)
        shares[named] = share(leaf)
        return named

    whole = _express(tree, name, is_negated=False)
    parts = whole.parts if isinstance(whole, _All) else (whole,)
    required, forbidden, choices, rest = set[int](), set[int](), list[frozenset[int]](), list[_Expression]()
    for part in parts:
        match part:
            case int():
                (required if part > 0 else forbidden).add(abs(part))
            case _Any(options) if len(leaves := _positive(options)) == len(options):
                choices.append(leaves)
            case _:
                rest.append(part)
    keys, _ = _find_keys(whole, shares)
    return LeafCondition(frozenset(required), frozenset(forbidden), tuple(choices), tuple(rest), keys)


def _positive(options: Iterable[_Expression]) -> frozenset[int]:
    return frozenset(one for one in options if isinstance(one, int) and one > 0)


def _express(tree: Node, name: Callable[[Leaf], int], *, is_negated: bool) -> _Expression:
    """With negations at the leaves only, and none of `*`."""
    match tree:
        case Not(part):
            return _express(part, name, is_negated=not is_negated)
        case And(parts) | Or(parts):
            expressed = [_express(part, name, is_negated=is_negated) for part in parts]
            return _join(expressed, is_all=isinstance(tree, And) is not is_negated)
        case Everything():
            return _FALSE if is_negated else _TRUE
        case leaf:
            return -name(leaf) if is_negated else name(leaf)


def _join(parts: Iterable[_Expression], *, is_all: bool) -> _Expression:
    kind = _All if is_all else _Any
    flat: dict[_Expression, None] = {}
    for part in parts:
        flat |= dict.fromkeys(part.parts if isinstance(part, kind) else (part,))
    opposite = _FALSE if is_all else _TRUE
    if opposite in flat:
        return opposite
    joined = tuple(flat)
    return joined[0] if len(joined) == 1 else kind(joined)


def _find_keys(expression: _Expression, shares: Mapping[int, float]) -> _Keys:
    """Leaves of which one holds whenever the expression does."""
    match expression:
        case int():
            return (frozenset((expression,)), shares[expression]) if shares.get(expression, inf) < inf else _NO_KEYS
        case _All(parts):
            return min((_find_keys(part, shares) for part in parts), key=lambda one: one[1], default=_NO_KEYS)
        case _Any(parts):
            options = [_find_keys(part, shares) for part in parts]
            share = sum(share for _, share in options)
            return (frozenset[int]().union(*(keys for keys, _ in options)), share) if share < inf else _NO_KEYS
        case _:
            assert_never(expression)


def _holds(expression: _Expression, found: set[int]) -> bool:
    match expression:
        case int():
            return expression in found if expression > 0 else -expression not in found
        case _All(parts):
            return all(_holds(part, found) for part in parts)
        case _Any(parts):
            return any(_holds(part, found) for part in parts)
        case _:
            assert_never(expression)
