"""Small things said of text that comes from outside: what may be stored, and how long. Pure."""

import re
from collections.abc import Iterable

from headwater.reading.references import unescape

MAX_LINE = 1_000
MAX_ITEMS = 50

# PostgreSQL stores no NUL and no half of a surrogate pair; nobody wants the other control characters.
_UNSTORABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def storable(text: str) -> str:
    """Without what cannot be stored."""
    return _UNSTORABLE.sub("", text)


def one_line(value: object, *, longest: int = MAX_LINE) -> str | None:
    """Text on one line, entities read, of bounded length; None where there is none."""
    if not isinstance(value, str):
        return None
    text = storable(unescape(value[: 4 * longest]))
    return " ".join(text.split())[:longest].strip() or None


def count_words(text: str) -> int:
    """About how many words a text has; where no spaces stand between them, by its length."""
    return max(len(text.split()), len(text) // 6)


def distinct(values: Iterable[str | None]) -> tuple[str, ...]:
    """Each once, in order, whatever its case."""
    found: dict[str, str] = {}
    for value in values:
        if value and len(found) < MAX_ITEMS:
            found.setdefault(value.casefold(), value)
    return tuple(found.values())
