"""Decoding: the bytes of a page become text, as a browser would read them, and better where its label is wrong.

Byte order mark, HTTP charset, <meta>; a label is believed when the bytes agree with it. What is valid UTF-8 is that,
whatever single-byte encoding it claims to be: chance makes no such text.
"""

import codecs
import re

from headwater.reading.encodings import MANY_BYTES, codec_of

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_META = re.compile(rb"""<meta[^>]{1,300}?charset\s*=\s*["']?\s*([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)
_DECLARED = re.compile(rb"""\s*<\?xml[^>]{1,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})""")
_HTTP = re.compile(r"""charset\s*=\s*["']?\s*([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)
_SEARCHED = 4_096  # browsers look at 1,024 bytes; some pages need more


def decode(body: bytes, content_type: str | None) -> str:
    """The text of a page. Never fails."""
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    labelled = [encoding for label in _labels(body, content_type) if (encoding := codec_of(label))]
    many = [encoding for encoding in labelled if encoding.startswith(MANY_BYTES)]
    for encoding in [*many, "utf-8", *labelled]:
        try:
            return body.decode(encoding)
        except UnicodeError:
            continue
    # A few stray bytes: most of it is what it says it is. Nothing said: what browsers take such bytes for.
    return body.decode(labelled[0] if labelled else "cp1252", "replace")


def _labels(body: bytes, content_type: str | None) -> list[str]:
    found = [_HTTP.search(content_type or "")]
    inside = [_META.search(body, 0, _SEARCHED), _DECLARED.match(body, 0, _SEARCHED)]
    return [label[1] for label in found if label] + [label[1].decode("ascii") for label in inside if label]
