"""Phrases in the words of a text, found without regular expressions. Pure."""

from collections.abc import Sequence


def line_of(words: Sequence[str]) -> str:
    """The words in lower case, each between two spaces."""
    return f" {' '.join(words).lower()} "


def padded(*phrases: str) -> tuple[str, ...]:
    """Phrases as they occur in such a line."""
    return tuple(f" {phrase} " for phrase in phrases)
