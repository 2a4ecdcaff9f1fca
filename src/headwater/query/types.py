"""A query as a typed tree. docs/query.md describes the language. Pure data."""

from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from uuid import UUID


class Audience(StrEnum):
    """Whose articles a query is about: fields of a user are refused in a query about all articles."""

    READER = "reader"  # the articles of one user's subscriptions, as these describe them
    EVERYONE = "everyone"  # all articles, by their shared records


class TextField(StrEnum):
    """A field whose value is searched like words, without regard to case."""

    TITLE = "title"
    AUTHOR = "author"
    SOURCE = "source"  # the name of a subscription, or of a source


class LabelField(StrEnum):
    """A field whose values are labels."""

    TOPIC = "topic"  # one of the 17 topics, or of the eight categories of seed 003
    TYPE = "type"
    LANGUAGE = "lang"
    SENTIMENT = "sentiment"
    KEYWORD = "keyword"  # any text, compared exactly


class StateField(StrEnum):
    """What a user did with an article."""

    UNREAD = "unread"
    READ = "read"
    STARRED = "starred"
    HIDDEN = "hidden"  # by a rule of the user; left out of lists where a query does not say so


class Comparator(StrEnum):
    LESS = "<"
    AT_MOST = "<="
    EQUAL = "="
    AT_LEAST = ">="
    MORE = ">"


@dataclass(frozen=True, slots=True)
class Everything:
    """`*`"""


@dataclass(frozen=True, slots=True)
class Words:
    """One word, or a phrase: words in this order. In the text or a title, by the rules of the article's language."""

    text: str


@dataclass(frozen=True, slots=True)
class InField:
    """`title:` `author:` `source:`: one word, or a phrase, in a short text. Whole words, in any language as written."""

    field: TextField
    text: str


@dataclass(frozen=True, slots=True)
class OfSource:
    """`source:` with an id."""

    source_id: UUID


@dataclass(frozen=True, slots=True)
class OfCategory:
    """`category:`, also those nested in it: `news` has `news/local`. Without regard to case."""

    category: str


@dataclass(frozen=True, slots=True)
class Tagged:
    """`tag:` of the article or of a feed that lists it. Without regard to case."""

    tag: str


@dataclass(frozen=True, slots=True)
class Labelled:
    """A label that the article shows. `labels` are alternatives, as they are stored, with the scheme of each."""

    field: LabelField
    value: str  # as it was written
    labels: tuple[tuple[str, str], ...]  # scheme and label


@dataclass(frozen=True, slots=True)
class OfQuality:
    """`quality:>60`. An article without a quality has none of them."""

    comparator: Comparator
    value: int  # 0 to 100


@dataclass(frozen=True, slots=True)
class OfHost:
    """`host:` of the article's URL, also below it: `example.org` has `www.example.org`."""

    host: str


@dataclass(frozen=True, slots=True)
class OfStory:
    story_id: UUID


@dataclass(frozen=True, slots=True)
class InState:
    state: StateField


@dataclass(frozen=True, slots=True)
class HasEnclosure:
    """`has:enclosure`: audio, video or another file."""


@dataclass(frozen=True, slots=True)
class Within:
    """`newer:2d`: listed at most so long ago. `older:2d` is its negation."""

    time: timedelta


@dataclass(frozen=True, slots=True)
class Before:
    """`before:2026-11-01`: listed before that day begins, in UTC. `after:` that day: listed when it has ended."""

    day: date


@dataclass(frozen=True, slots=True)
class Not:
    part: "Node"


@dataclass(frozen=True, slots=True)
class And:
    parts: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Or:
    parts: "tuple[Node, ...]"


Leaf = (
    Everything | Words | InField | OfSource | OfCategory | Tagged | Labelled | OfQuality | OfHost | OfStory | InState
    | HasEnclosure | Within | Before
)  # fmt: skip
Node = Leaf | Not | And | Or


@dataclass(frozen=True, slots=True)
class Query:
    text: str  # as it was written
    tree: Node
