"""What XML forbids and sitemaps do: pieces of a file in, the same mended out.

Blank lines or a server's warning before the declaration go, and a declaration of an encoding that nobody knows: it is
read as UTF-8. An ampersand that begins none of XML's own five entities
and no number is meant as itself: the parser would drop it with the word that follows, which is another page. With that
no entity of the file's own is ever used either.
"""

import re
from collections.abc import Iterable, Iterator

from lxml import etree

BLANK = b" \t\r\n\x00\xef\xbb\xbf\xfe\xff"  # what may stand before the first letter, marks of encodings included
JUNK_MOST = 1_000  # before the first tag
_AMPERSAND = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});)")
_REFERENCE_MOST = 12
_DECLARATION = re.compile(
    rb"""<\?xml[^>]{1,200}?encoding\s*=\s*["']([A-Za-z][\w.:-]{0,40})["'][^>]{0,100}>""", re.ASCII
)


def is_wide(head: bytes) -> bool:
    """Whether it is UTF-16, by its mark."""
    return head.startswith((b"\xff\xfe", b"\xfe\xff"))


def mended(stream: Iterable[bytes]) -> Iterator[bytes]:
    """The file without what stands before it, and with its ampersands escaped. UTF-16 is left as it is."""
    pieces = iter(stream)
    head = next(pieces, b"")
    if is_wide(head):
        yield head
        yield from pieces
        return
    rest = _without_junk(head)
    for piece in pieces:
        whole = rest + piece
        cut = _whole_references(whole)
        yield _AMPERSAND.sub(b"&amp;", whole[:cut])
        rest = whole[cut:]
    yield _AMPERSAND.sub(b"&amp;", rest)


def _whole_references(text: bytes) -> int:
    """Where to cut so that no reference is cut in two."""
    last = text.rfind(b"&", max(len(text) - _REFERENCE_MOST, 0))
    return len(text) if last < 0 else last


def _without_junk(head: bytes) -> bytes:
    start = head.find(b"<?xml", 0, JUNK_MOST)
    head = head[start:] if start > 0 else head.lstrip(BLANK)
    declared = _DECLARATION.match(head)
    return head[declared.end() :] if declared and not _is_known(declared[1].decode("ascii")) else head


def _is_known(encoding: str) -> bool:
    try:
        etree.XMLParser(encoding=encoding)
    except LookupError:
        return False
    return True
