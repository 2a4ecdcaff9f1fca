"""What XML forbids and sitemaps do: pieces of a file in, well-formed UTF-8 out.

Blank lines or a server's warning before the declaration are dropped, and the declaration itself. An ampersand that
begins none of XML's own five entities and no number is escaped: the parser would drop it with the word that follows,
which changes the URL. So no entity that the file declares is ever used either.
"""

import re
from collections.abc import Iterable, Iterator

from headwater.reading.decode import incremental_decoder

BLANK = b" \t\r\n\x00\xef\xbb\xbf\xfe\xff"  # what may precede the first letter, byte order marks included
JUNK_MOST = 1_000  # before the first tag
_BARE_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});)")
_REFERENCE_MOST = 12
_DECLARATION = re.compile(r"<\?xml[^>]{0,300}>")


def repaired(stream: Iterable[bytes]) -> Iterator[bytes]:
    """The file without what precedes its first tag, its ampersands escaped."""
    pieces = iter(stream)
    head = next(pieces, b"")
    decoder = incremental_decoder(head)
    rest = _without_junk(decoder.decode(head))
    for piece in pieces:
        text = rest + decoder.decode(piece)
        cut = _before_reference(text)
        yield _escaped(text[:cut])
        rest = text[cut:]
    yield _escaped(rest + decoder.decode(b"", final=True))


def _escaped(text: str) -> bytes:
    return _BARE_AMPERSAND.sub("&amp;", text).encode("utf-8", "replace")


def _before_reference(text: str) -> int:
    """Where to cut so that no reference is cut in two."""
    last = text.rfind("&", max(len(text) - _REFERENCE_MOST, 0))
    return len(text) if last < 0 else last


def _without_junk(head: str) -> str:
    start = head.find("<?xml", 0, JUNK_MOST)
    head = head[start:] if start > 0 else head.lstrip("\ufeff \t\r\n\0")
    declaration = _DECLARATION.match(head)
    return head[declaration.end() :] if declaration else head
