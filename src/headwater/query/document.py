"""An article as queries see it. Pure data; store.py reads it.

What each part of a query means, here and in SQL:

- Words are found in the text of the page by the rules of its language (a duplicate has its original's text), in the
  shared title, and for a reader in the titles that their subscriptions give it. A word that the language does not index
  is in every text of that language. A word that has no lexeme at all, such as `***`, is found nowhere.
- A short text (title, author, name of a source) is searched by the configuration `simple`, each text by itself.
- Categories and tags are compared in lower case, as PostgreSQL's lower() has it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from uuid import UUID

from headwater.query.lexemes import Vector
from headwater.query.types import StateField
from headwater.types import ArticleId


@dataclass(frozen=True, slots=True)
class Document:
    """The shared record of an article; `for_reader` makes it one reader's."""

    article_id: ArticleId
    listed_at: datetime
    config: str = ""  # the text search configuration of its text; empty: it has no text
    text: Vector = field(default_factory=dict[str, str])
    shown_titles: tuple[Vector, ...] = ()  # in which words are searched
    titles: tuple[Vector, ...] = ()  # these, and that of the page
    authors: tuple[Vector, ...] = ()
    source_names: tuple[Vector, ...] = ()
    source_ids: frozenset[UUID] = frozenset()
    categories: frozenset[str] = frozenset()  # in lower case, each with those that it is nested in
    tags: frozenset[str] = frozenset()  # in lower case
    labels: frozenset[tuple[str, str]] = frozenset()  # scheme and label
    qualities: tuple[int, ...] = ()
    hosts: frozenset[str] = frozenset()  # of its URL, and all above it
    story_id: UUID | None = None
    states: frozenset[StateField] = frozenset()
    has_enclosure: bool = False

    def for_reader(self, reader: "ReaderContext") -> "Document":
        return replace(
            self,
            listed_at=reader.listed_at,
            shown_titles=self.shown_titles + reader.titles,
            titles=self.titles + reader.titles,
            authors=self.authors + reader.authors,
            source_names=reader.source_names,
            source_ids=reader.source_ids,
            categories=reader.categories,
            tags=reader.tags,
            states=reader.states,
            has_enclosure=reader.has_enclosure,
        )

    def for_readers(self, readers: "Iterable[ReaderContext]") -> "Document":
        """With all that the document of any of these readers has, to find queries that may match for one of them."""
        contexts = tuple(readers)
        titles = _distinct(one.titles for one in contexts)
        return replace(
            self,
            shown_titles=self.shown_titles + titles,
            titles=self.titles + titles,
            authors=self.authors + _distinct(one.authors for one in contexts),
            source_names=_distinct(one.source_names for one in contexts),
            source_ids=frozenset().union(*(one.source_ids for one in contexts)),
            categories=frozenset().union(*(one.categories for one in contexts)),
            tags=frozenset().union(*(one.tags for one in contexts)),
            states=frozenset().union(*(one.states for one in contexts)),
            has_enclosure=any(one.has_enclosure for one in contexts),
        )


def _distinct(vectors: Iterable[tuple[Vector, ...]]) -> tuple[Vector, ...]:
    """Each object once: readers of one source mostly have the same texts of it."""
    return tuple({id(one): one for one in chain.from_iterable(vectors)}.values())


@dataclass(frozen=True, slots=True)
class ReaderContext:
    """What one reader's subscriptions and marks say about an article."""

    listed_at: datetime  # the newest of their subscriptions
    titles: tuple[Vector, ...] = ()
    authors: tuple[Vector, ...] = ()
    source_names: tuple[Vector, ...] = ()
    source_ids: frozenset[UUID] = frozenset()
    categories: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    states: frozenset[StateField] = frozenset()
    has_enclosure: bool = False


def with_outer(categories: Iterable[str]) -> frozenset[str]:
    """Categories, and those they are nested in: `news/local` is in `news`."""
    return frozenset(
        part for one in categories for part in (one, *(one[:at] for at, char in enumerate(one) if char == "/"))
    )


def with_parents(host: str) -> frozenset[str]:
    """A host and the names above it: `www.example.org`, `example.org`, `org`."""
    return frozenset((host, *(host[at + 1 :] for at, char in enumerate(host) if char == "."))) - {""}
