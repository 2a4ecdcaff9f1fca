"""Completes a query where it is being written: names of fields, and their values. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from headwater.query.fields import FIELDS, in_quotes, is_field, plain
from headwater.query.types import Audience

MOST: Final = 12
_VALUE: Final = re.compile(r'-*([^\W\d]\w*):(["“„]?)(.*)', re.DOTALL)
_NAME: Final = re.compile(r"-*([^\W\d]\w*)?")
_QUOTES: Final = '"“”„'


@dataclass(frozen=True, slots=True)
class Completion:
    """What is written instead, and what it means."""

    text: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Completions:
    """Each replaces the query from `start` to `end`."""

    start: int
    end: int
    items: Sequence[Completion] = ()


@dataclass(frozen=True, slots=True)
class AtCursor:
    """What is being written: from where to where, the field (empty: its name), and the part up to the cursor."""

    start: int
    end: int
    field: str
    part: str


def at_cursor(text: str, cursor: int) -> AtCursor | None:
    """None: neither the name of a field nor a value of one."""
    cursor = max(0, min(cursor, len(text)))
    start, is_quoted = _start(text, cursor)
    written = text[start:cursor]
    sign = len(written) - len(written.lstrip("-"))
    if found := _VALUE.fullmatch(written):
        end = _end(text, cursor, is_quoted=is_quoted)
        return AtCursor(start + sign, end + (text[end : end + 1] == " "), found[1].lower(), found[3])
    end = _end(text, cursor, is_quoted=False)
    if (found := _NAME.fullmatch(written)) and not is_quoted and (found[1] or end == cursor):
        return AtCursor(start + sign, end, "", found[1] or "")
    return None


def complete(
    text: str, cursor: int, audience: Audience, known: Mapping[str, Sequence[Completion]] | None = None
) -> Completions:
    """What may be meant at the cursor. `known` has values of fields that are not part of the language."""
    here = at_cursor(text, cursor)
    if here is None or (here.field and not _is_allowed(here.field, audience)):
        return Completions(cursor, cursor)
    found = _values(here, known or {}) if here.field else _names(here.part, audience)
    return Completions(here.start, here.end, found[:MOST])


def _is_allowed(name: str, audience: Audience) -> bool:
    return is_field(name) and not (FIELDS[name].is_of_reader and audience is Audience.EVERYONE)


def _names(part: str, audience: Audience) -> list[Completion]:
    return [
        Completion(f"{name}:", rule.hint)
        for name, rule in FIELDS.items()
        if name.startswith(part.lower()) and _is_allowed(name, audience)
    ]


def _values(here: AtCursor, known: Mapping[str, Sequence[Completion]]) -> list[Completion]:
    values = known.get(here.field) or [Completion(value) for value in FIELDS[here.field].values]
    fitting = [one for one in values if _fits(here.part, one)]
    # A space after it: the next word can be written at once.
    return [Completion(f"{here.field}:{_written(one.text)} ", one.hint) for one in fitting]


def _written(value: str) -> str:
    return value if value[:1] in "<>" else in_quotes(value)


def _fits(part: str, value: Completion) -> bool:
    """Whether the value, one of its words, or its meaning begins so."""
    if value.text.lower().startswith(part.lower()):
        return True
    sought = plain(part)
    if not sought:
        return not part
    return any(f" {plain(text)}".find(f" {sought}") >= 0 for text in (value.text, value.hint))


def _start(text: str, cursor: int) -> tuple[int, bool]:
    """Where the word, or the field with its value, begins; and whether its quotation mark is open."""
    start, is_quoted, at = 0, False, 0
    while at < cursor:
        if text[at] == "\\" and is_quoted:
            at += 1
        elif text[at] in _QUOTES:
            is_quoted = not is_quoted
        elif not is_quoted and (text[at].isspace() or text[at] in "()"):
            start = at + 1
        at += 1
    return start, is_quoted


def _end(text: str, cursor: int, *, is_quoted: bool) -> int:
    """Where it ends: it is replaced as a whole."""
    end = cursor
    while end < len(text) and not (text[end] in _QUOTES if is_quoted else text[end].isspace() or text[end] in '()"“”„'):
        end += 1
    return end + 1 if is_quoted and end < len(text) else end
