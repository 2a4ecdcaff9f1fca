"""Short texts of a page: on one line, of bounded length, each once. Pure."""

from collections.abc import Iterable

from headwater.reading.references import unescape
from headwater.reading.text import storable

MAX_LINE = 1_000
MAX_ITEMS = 50


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
