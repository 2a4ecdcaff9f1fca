"""Short texts of a page: on one line, of bounded length, without duplicates. Pure."""

from collections.abc import Iterable

from headwater.reading.text import storable, unescape

MAX_LINE = 1_000
MAX_ITEMS = 50


def short_line(value: object, *, longest: int = MAX_LINE) -> str | None:
    """Text on one line with its entities decoded, of bounded length; None if there is none."""
    if not isinstance(value, str):
        return None
    text = storable(unescape(value[: 4 * longest]))
    return " ".join(text.split())[:longest].strip() or None


def count_words(text: str) -> int:
    """About how many words a text has; by its length where a script has no spaces."""
    return max(len(text.split()), len(text) // 6)


def distinct(values: Iterable[str | None]) -> tuple[str, ...]:
    """Without duplicates, which may differ in case; in order."""
    found: dict[str, str] = {}
    for value in values:
        if value and len(found) < MAX_ITEMS:
            found.setdefault(value.casefold(), value)
    return tuple(found.values())
