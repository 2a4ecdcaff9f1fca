"""Text from outside: which characters and how many of them are accepted. The one place that decides. Pure."""

import re
import unicodedata

from headwater.errors import Invalid

TEXT_MAX = 65_536  # characters; most fields have a shorter limit of their own
NAME_SHOWN = 60  # characters of a field's name in a message

# Control characters save tab, line feed and carriage return; lone surrogates, which no encoding can carry.
_REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")

_UNSEEN = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})  # not Cn, which may be a letter of a newer Unicode


def text_problem(text: str, *, most: int = TEXT_MAX) -> str | None:
    """What is wrong with a text, as the end of a sentence; None when it is accepted."""
    if len(text) > most:
        return f"has more than {most:,} characters"
    if text.isascii() and text.isprintable():
        return None
    found = _REFUSED.search(text)
    return f"contains the character U+{ord(found[0]):04X}, which is not allowed" if found else None


def check_text(text: str, *, name: str, most: int = TEXT_MAX) -> None:
    """Raises Invalid, in words that name the field."""
    if problem := text_problem(text, most=most):
        raise Invalid(f"{printable(name)[:NAME_SHOWN]} {problem}.")


def printable(text: str) -> str:
    """The text without the characters that are not accepted."""
    return _REFUSED.sub("", text)


def is_blank(text: str) -> bool:
    """Whether nothing of it is seen: empty, or nothing but spaces, control and format characters (U+200B, U+2060)."""
    return all(unicodedata.category(character) in _UNSEEN for character in text)
