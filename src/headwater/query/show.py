"""Writes the tree of a query as text that is read as the same tree. Pure."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Final, assert_never

from headwater.errors import QueryInvalid
from headwater.query import types as nodes
from headwater.query.fields import in_quotes, phrase
from headwater.query.lexer import TokenKind, tokens_of
from headwater.query.types import Comparator, Leaf, Node

_DAY: Final = timedelta(days=1)
_UNITS: Final = (("w", 7 * _DAY), ("d", _DAY), ("h", timedelta(hours=1)), ("min", timedelta(minutes=1)))


def show(tree: Node) -> str:
    match tree:
        case nodes.Or(parts):
            return " or ".join(map(show, parts))
        case nodes.And(parts):
            return " ".join(show_parts(parts))
        case nodes.Not(nodes.Within(time)):
            return f"older:{_time(time)}"
        case nodes.Not(nodes.Before(day)):
            return f"after:{day - _DAY}"
        case nodes.Not(part):
            return f"-{_grouped(part) if isinstance(part, nodes.Or | nodes.And) else show(part)}"
        case _:
            return _leaf(tree)


def show_parts(parts: Iterable[Node]) -> list[str]:
    """The parts of a conjunction: joined with spaces, they are read as that conjunction."""
    return [_grouped(part) if isinstance(part, nodes.Or) else show(part) for part in parts]


def _grouped(part: Node) -> str:
    return f"({show(part)})"


def _leaf(leaf: Leaf) -> str:
    match leaf:
        case nodes.Everything():
            return "*"
        case nodes.Words(text):
            return text if _is_one_word(text) else phrase(text)
        case nodes.InField(field, text):
            return f"{field}:{in_quotes(text)}"
        case nodes.Labelled(field, value, _):
            return f"{field}:{in_quotes(value)}"
        case nodes.OfQuality(comparator, value):
            return f"quality:{'' if comparator is Comparator.EQUAL else comparator}{value}"
        case nodes.Within(time):
            return f"newer:{_time(time)}"
        case _:
            return _named(leaf)


def _named(
    leaf: nodes.OfSource
    | nodes.OfCategory
    | nodes.Tagged
    | nodes.OfHost
    | nodes.OfStory
    | nodes.InState
    | nodes.HasEnclosure
    | nodes.Before,
) -> str:
    match leaf:
        case nodes.OfSource(source_id):
            return f"source:{source_id}"
        case nodes.OfCategory(category):
            return f"category:{in_quotes(category)}"
        case nodes.Tagged(tag):
            return f"tag:{in_quotes(tag)}"
        case nodes.OfHost(host):
            return f"host:{in_quotes(host)}"
        case nodes.OfStory(story_id):
            return f"story:{story_id}"
        case nodes.InState(state):
            return f"is:{state}"
        case nodes.HasEnclosure():
            return "has:enclosure"
        case nodes.Before(day):
            return f"before:{day}"
        case _:
            assert_never(leaf)


def _is_one_word(text: str) -> bool:
    """Whether it is read as this word without quotation marks."""
    try:
        tokens = list(tokens_of(text))
    except QueryInvalid:
        return False
    return [(token.kind, token.text) for token in tokens] == [(TokenKind.WORD, text)] and "*" not in text


def _time(time: timedelta) -> str:
    """In the largest unit that has no remainder."""
    unit, length = next((unit, length) for unit, length in _UNITS if time % length == timedelta() or unit == "min")
    return f"{time // length}{unit}"
