"""Joins and takes apart trees of queries. Pure."""

from collections.abc import Iterator, Sequence

from headwater.query.types import And, Everything, InState, Leaf, Node, Not, Or, StateField


def all_of(parts: Sequence[Node]) -> Node:
    """The articles that have all of these; no conjunction is directly in another."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, And) else (part,))]
    return flat[0] if len(flat) == 1 else And(tuple(flat))


def any_of(parts: Sequence[Node]) -> Node:
    """The articles that have one of these; no disjunction is directly in another."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, Or) else (part,))]
    return flat[0] if len(flat) == 1 else Or(tuple(flat))


def negated(part: Node) -> Node:
    return part.part if isinstance(part, Not) else Not(part)


def leaves_of(tree: Node) -> Iterator[Leaf]:
    match tree:
        case Not(part):
            yield from leaves_of(part)
        case And(parts) | Or(parts):
            for part in parts:
                yield from leaves_of(part)
        case leaf:
            yield leaf


def wants_hidden(tree: Node) -> bool:
    """Whether a query says something about hidden articles: then they are not left out of its list."""
    return any(leaf == InState(StateField.HIDDEN) for leaf in leaves_of(tree))


def conjuncts_of(tree: Node) -> Sequence[Node]:
    """The parts that must all hold."""
    return tree.parts if isinstance(tree, And) else (tree,)


def is_limited(tree: Node) -> bool:
    """Whether an article must have something to match, rather than lack something, or the query says `*`."""
    match tree:
        case And(parts):
            return any(is_limited(part) for part in parts)
        case Or(parts):
            return all(is_limited(part) for part in parts)
        case Not(And(parts)):
            return all(is_limited(negated(part)) for part in parts)
        case Not(Or(parts)):
            return any(is_limited(negated(part)) for part in parts)
        case Not(part):
            return isinstance(part, Not) and is_limited(part.part)
        case Everything():
            return True
        case _:
            return True
