"""The bytes of a sitemap, piece by piece: unpacked, and as well-formed UTF-8, never more than is allowed.

What precedes the XML declaration (blank lines, a server's warning) is dropped, and the declaration itself. An ampersand
that begins neither one of XML's five entities nor a number is escaped: the parser would drop it with the word after it,
which changes the URL. So no entity that the file declares is used either.
"""

import re
import zlib
from collections.abc import Iterable, Iterator

from headwater.reading.decode import incremental_decoder
from headwater.sitemaps.types import UnreadableSitemap

GZIP = b"\x1f\x8b"
PIECE = 65_536
BLANK = b" \t\r\n\x00\xef\xbb\xbf\xfe\xff"  # what may precede the first letter, byte order marks included
JUNK_MOST = 1_000  # before the first tag
_PACKED_PIECE = 8_192
_GZIP_WINDOW = 31
_BARE_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});)")
_REFERENCE_MOST = 12
_DECLARATION = re.compile(r"<\?xml[^>]{0,300}>")


def pieces(body: bytes, most: int) -> Iterator[bytes]:
    """The body, unpacked if it is gzip, up to `most` bytes. Raises UnreadableSitemap."""
    left = most
    for piece in _unpacked(body) if body.startswith(GZIP) else _cut(body, PIECE):
        yield piece[:left]
        left -= len(piece)
        if left <= 0:
            return


def _cut(body: bytes, size: int) -> Iterator[bytes]:
    return (body[start : start + size] for start in range(0, len(body), size))


def _unpacked(body: bytes) -> Iterator[bytes]:
    """All members of a gzip file. A truncated one, or one with other data after it, yields what comes before."""
    member, is_any = zlib.decompressobj(_GZIP_WINDOW), False
    for waiting in _cut(body, _PACKED_PIECE):
        while waiting:
            try:
                piece = member.decompress(waiting, PIECE)
            except zlib.error as error:
                if is_any:
                    return
                raise UnreadableSitemap("not_a_sitemap", "It begins like gzip and cannot be unpacked.") from error
            is_any = is_any or bool(piece)
            yield piece
            if member.eof:
                waiting, member = member.unused_data, zlib.decompressobj(_GZIP_WINDOW)  # noqa: PLW2901
            else:
                waiting = member.unconsumed_tail  # noqa: PLW2901


def repaired(stream: Iterable[bytes]) -> Iterator[bytes]:
    """The file from its first tag on, its ampersands escaped."""
    given = iter(stream)
    head = next(given, b"")
    decoder = incremental_decoder(head)
    rest = _without_junk(decoder.decode(head))
    for piece in given:
        text = rest + decoder.decode(piece)
        last = text.rfind("&", max(len(text) - _REFERENCE_MOST, 0))  # no reference is cut in two
        cut = len(text) if last < 0 else last
        yield _escaped(text[:cut])
        rest = text[cut:]
    yield _escaped(rest + decoder.decode(b"", final=True))


def _escaped(text: str) -> bytes:
    return _BARE_AMPERSAND.sub("&amp;", text).encode("utf-8", "replace")


def _without_junk(head: str) -> str:
    start = head.find("<?xml", 0, JUNK_MOST)
    head = head[start:] if start > 0 else head.lstrip("\ufeff \t\r\n\0")
    declaration = _DECLARATION.match(head)
    return head[declaration.end() :] if declaration else head
