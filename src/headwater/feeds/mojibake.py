"""Mojibake: text that was encoded twice, or that has windows-1252 where Unicode was meant, put right."""

import re
from contextlib import suppress

from headwater.reading.decode import AS_1252

# In UTF-8: a C1 control, or what UTF-8 looks like after it was taken for Latin-1. References to the former. Each begins
# with one fixed byte, which makes the search quick.
_MISREAD = re.compile(rb"\xc2(?:[\x80-\x9f]|(?<=\xc3[\x82-\xb4]\xc2)[\xa0-\xbf])")
_REFERENCE = re.compile(rb"#(?:0*1[2-5][0-9]|[xX]0*[89][0-9a-fA-F]);")


def may_be_mojibake(document: bytes) -> bool:
    """Whether anything in a document, given in UTF-8, may be mojibake. Most have none."""
    return (b"\xc2" in document and _MISREAD.search(document) is not None) or _REFERENCE.search(document) is not None


def fix_mojibake(text: str) -> str:
    """The text as its author wrote it."""
    if text.isascii():
        return text
    with suppress(UnicodeError):
        text = text.encode("latin-1").decode("utf-8")
    return text.translate(AS_1252)
