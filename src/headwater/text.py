"""Which characters, and how many, are accepted in text from outside. Pure."""

import re
import unicodedata

from headwater.errors import Invalid

TEXT_MAX = 65_536  # characters; most fields have a shorter limit of their own
NAME_SHOWN = 60  # characters of a field's name in a message

# Control characters except tab, line feed and carriage return; lone surrogates, which UTF-8 cannot encode.
_REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
# Letters and a symbol that are shown as nothing: fillers of Hangul, and the empty braille pattern.
_EMPTY = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_UNSEEN = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})  # not Cn, which may be a letter of a newer Unicode


def text_problem(text: str, *, most: int = TEXT_MAX) -> str | None:
    """Why a text is invalid, as the end of a sentence; None if it is valid."""
    if len(text) > most:
        return f"has more than {most:,} characters"
    if text.isascii() and text.isprintable():
        return None
    found = _REFUSED.search(text)
    return f"contains the character U+{ord(found[0]):04X}, which is not allowed" if found else None


def check_text(text: str, *, name: str, most: int = TEXT_MAX) -> None:
    """Raises Invalid with the name of the field."""
    if problem := text_problem(text, most=most):
        raise Invalid(f"{printable(name)[:NAME_SHOWN]} {problem}.")


def printable(text: str) -> str:
    return _REFUSED.sub("", text)


def composed(text: str) -> str:
    """The text in Unicode's normal form C, as keyboards write it: a letter and its accent are one character. Some
    sites, and names of files, have two; PostgreSQL compares characters."""
    return unicodedata.normalize("NFC", text)  # at once where there is nothing to do


def one_line(text: str) -> str:
    """The text on one line, composed: each run of spaces, line breaks and unprintable characters is one space."""
    return composed(" ".join("".join(one if one.isprintable() else " " for one in text).split()))


def as_name(text: str, *, most: int) -> str:
    """The text on one line of at most so many characters, as a name; empty if nothing of it is visible."""
    name = one_line(text)[:most].strip()
    return "" if is_blank(name) else name


def is_blank(text: str) -> bool:
    """Whether nothing is visible: only spaces, fillers, control and format characters (U+200B, U+2060), or none."""
    return all(unicodedata.category(character) in _UNSEEN or character in _EMPTY for character in text)
