"""The search box of lists: its query, what is wrong with it, and its parts as filters. Pure.

Older links have parameters of their own for labels and the period, and so has the form of filters. They are written
into the query.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headwater.errors import QueryInvalid
from headwater.labels.types import Scheme
from headwater.query.fields import in_quotes
from headwater.query.grammar import parse
from headwater.query.show import show, show_parts
from headwater.query.tree import all_of, conjuncts_of
from headwater.query.types import (
    Audience,
    Comparator,
    InState,
    Labelled,
    Node,
    OfQuality,
    Within,
    Words,
)
from headwater.text import printable
from headwater.web.label_filters import FIELD_OF, FILTERS, LABEL_MAX, LabelFilter

PERIODS: Mapping[str, str] = {"day": "1d", "week": "7d", "month": "30d"}
PERIOD = "period"


@dataclass(frozen=True, slots=True)
class Misread:
    """What is wrong with a query: the text before the place, at it and after it, and the query that may be meant."""

    message: str
    before: str
    place: str
    after: str
    suggestion: str


@dataclass(frozen=True, slots=True)
class ActiveFilter:
    """A part of the query that is a filter: how it reads, and the query without it."""

    text: str
    rest: str


@dataclass(frozen=True, slots=True)
class SearchBox:
    """The query of a request. No tree: no filter, or an error."""

    text: str
    tree: Node | None = None
    misread: Misread | None = None

    @property
    def filters(self) -> list[ActiveFilter]:
        parts = list(conjuncts_of(self.tree)) if self.tree else []
        texts = show_parts(parts)
        return [
            ActiveFilter(_reads(part), " ".join(texts[:at] + texts[at + 1 :]))
            for at, part in enumerate(parts)
            if not isinstance(part, Words)
        ]

    @property
    def values(self) -> dict[str, str]:
        """What the form of filters shows as chosen."""
        parts = conjuncts_of(self.tree) if self.tree else ()
        return {name: value for part in parts for name, value in _values_of(part)}


def read_box(sent: Mapping[str, str]) -> SearchBox:
    """The query in `q`, with the filters of other parameters in it."""
    text = sent.get("q", "").strip()
    asked = {name: printable(sent[name])[:LABEL_MAX].strip() for name in (*_PARAMETERS, PERIOD) if name in sent}
    try:
        tree = parse(text, Audience.READER).tree if text else None
    except QueryInvalid as error:
        return _misread(" ".join([text, *_written(asked)]), error)
    parts = list(conjuncts_of(tree)) if tree else []
    kept = [part for part in parts if not any(name in asked for name, _ in _values_of(part))]
    written = _written(asked)
    if written or len(kept) < len(parts):
        text = " ".join([*([show(all_of(kept))] if kept else []), *written])
    try:
        return SearchBox(text, parse(text, Audience.READER).tree if text else None)
    except QueryInvalid as error:
        return _misread(text, error)


def _misread(text: str, error: QueryInvalid) -> SearchBox:
    start, end = error.position, error.position + error.length
    meant = text[:start] + error.suggestion + text[end:] if error.suggestion else ""
    return SearchBox(text, misread=Misread(str(error), text[:start], text[start:end], text[end:], meant))


def _written(asked: Mapping[str, str]) -> list[str]:
    """The fields for these parameters."""
    return [_PARAMETERS.get(name, _period)(value) for name, value in asked.items() if value]


def _period(value: str) -> str:
    return f"newer:{PERIODS[value]}" if value in PERIODS else ""


def _field(chosen: LabelFilter) -> Callable[[str], str]:
    if chosen.scheme is Scheme.QUALITY:
        return lambda value: f"quality:>={in_quotes(value)}"
    return lambda value: f"{FIELD_OF[chosen.scheme]}:{in_quotes(value)}"


_PARAMETERS: Mapping[str, Callable[[str], str]] = {one.parameter: _field(one) for one in FILTERS}


def _values_of(part: Node) -> list[tuple[str, str]]:
    """The parameters that a part of the query can be written as, with their values."""
    match part:
        case OfQuality(Comparator.AT_LEAST, value):
            return [("quality", str(value))]
        case Labelled(_, _, labels):
            scheme, label = labels[-1]
            return [(one.parameter, label) for one in FILTERS if one.scheme == scheme]
        case Within(time):
            return [(PERIOD, next((name for name, value in PERIODS.items() if show(Within(time)) == value), ""))]
        case _:
            return []


def _reads(part: Node) -> str:
    match part:
        case OfQuality(Comparator.AT_LEAST, value):
            return f"Quality: At least {value}"
        case Labelled(_, _, labels):
            scheme, label = labels[-1]
            named = next(one for one in FILTERS if one.scheme == scheme)
            return f"{named.name}: {dict(named.choices).get(label, label)}"
        case InState(state):
            return state.capitalize()
        case _:
            return show(part)
