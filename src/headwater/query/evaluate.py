"""One query against one document. Pure. matcher.py does it for many queries at once."""

from collections.abc import Iterator
from datetime import UTC, datetime, time
from operator import eq, ge, gt, le, lt
from typing import Final, assert_never

from headwater.query.document import Document
from headwater.query.lexemes import SIMPLE, Lexemes, Vector, has_phrase
from headwater.query.tree import leaves_of
from headwater.query.types import (
    And,
    Before,
    Comparator,
    Everything,
    HasEnclosure,
    InField,
    InState,
    Labelled,
    Leaf,
    Node,
    Not,
    OfCategory,
    OfHost,
    OfQuality,
    OfSource,
    OfStory,
    Or,
    Tagged,
    TextField,
    Within,
    Words,
)  # fmt: skip

_COMPARE: Final = {
    Comparator.LESS: lt, Comparator.AT_MOST: le, Comparator.EQUAL: eq, Comparator.AT_LEAST: ge, Comparator.MORE: gt,
}  # fmt: skip


def evaluate(tree: Node, document: Document, lexemes: Lexemes, now: datetime) -> bool:
    """Whether the query finds the document. Raises KeyError if its words were not loaded."""
    match tree:
        case And(parts):
            return all(evaluate(part, document, lexemes, now) for part in parts)
        case Or(parts):
            return any(evaluate(part, document, lexemes, now) for part in parts)
        case Not(part):
            return not evaluate(part, document, lexemes, now)
        case leaf:
            return _holds(leaf, document, lexemes, now)


def _holds(leaf: Leaf, document: Document, lexemes: Lexemes, now: datetime) -> bool:
    match leaf:
        case Words(text):
            return _has_words(text, document, lexemes)
        case InField(field, text):
            phrase = lexemes.of(SIMPLE, text)
            return any(has_phrase(vector, phrase) for vector in texts_of(field, document))
        case Labelled(labels=labels):
            return not document.labels.isdisjoint(labels)
        case OfQuality():
            return has_quality(leaf, document)
        case OfCategory(category):
            return lexemes.lower(category) in document.categories
        case Tagged(tag):
            return lexemes.lower(tag) in document.tags
        case Within() | Before():
            return is_of_time(leaf, document, now)
        case _:
            return _has_value(leaf, document)


def _has_value(leaf: OfSource | OfHost | OfStory | InState | HasEnclosure | Everything, document: Document) -> bool:
    match leaf:
        case OfSource(source_id):
            return source_id in document.source_ids
        case OfHost(host):
            return host in document.hosts
        case OfStory(story_id):
            return story_id == document.story_id
        case InState(state):
            return state in document.states
        case HasEnclosure():
            return document.has_enclosure
        case Everything():
            return True
        case _:
            assert_never(leaf)


def _has_words(text: str, document: Document, lexemes: Lexemes) -> bool:
    phrase = lexemes.of(SIMPLE, text)
    if not phrase:
        return False
    if any(has_phrase(vector, phrase) for vector in document.shown_titles):
        return True
    if not document.config:
        return False
    phrase = lexemes.of(document.config, text)
    return not phrase or has_phrase(document.text, phrase)


def texts_of(field: TextField, document: Document) -> tuple[Vector, ...]:
    match field:
        case TextField.TITLE:
            return document.titles
        case TextField.AUTHOR:
            return document.authors
        case TextField.SOURCE:
            return document.source_names


def has_quality(leaf: OfQuality, document: Document) -> bool:
    return any(_COMPARE[leaf.comparator](quality, leaf.value) for quality in document.qualities)


def is_of_time(leaf: Within | Before, document: Document, now: datetime) -> bool:
    match leaf:
        case Within(span):
            return now - document.listed_at <= span
        case Before(day):
            return document.listed_at < datetime.combine(day, time(), UTC)


def texts_in(tree: Node) -> Iterator[str]:
    """The texts of a query that PostgreSQL turns into lexemes or into lower case."""
    for leaf in leaves_of(tree):
        match leaf:
            case Words(text) | InField(text=text) | OfCategory(text) | Tagged(text):
                yield text
            case _:
                pass
