"""Packed bytes, piece by piece: a body in, its text in pieces out, never more than is allowed."""

import zlib
from collections.abc import Iterator

from headwater.sitemaps.types import UnreadableSitemap

GZIP = b"\x1f\x8b"
PIECE = 65_536
_PACKED_PIECE = 8_192
_GZIP_WINDOW = 31


def pieces(body: bytes, most: int) -> Iterator[bytes]:
    """The body, unpacked where it is gzip, up to `most` bytes. Raises UnreadableSitemap when that cannot be done."""
    left = most
    for piece in _unpacked(body) if body.startswith(GZIP) else _cut(body, PIECE):
        yield piece[:left]
        left -= len(piece)
        if left <= 0:
            return


def _cut(body: bytes, size: int) -> Iterator[bytes]:
    return (body[start : start + size] for start in range(0, len(body), size))


def _unpacked(body: bytes) -> Iterator[bytes]:
    """All members of a gzip file. One that breaks off, or has something else after it, gives what comes before."""
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
