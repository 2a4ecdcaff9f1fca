"""Decompresses bodies as they arrive, in pieces of bounded size; at the end, whether they were complete.

aiohttp reports neither the number of bytes before decompression nor a truncated body.
"""

import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Protocol, TypeAlias, cast

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PIECE_BYTES = 262_144
MOST_MEMBERS = 1_000  # each costs a decompressor; honest bodies have a few
ZSTD_WINDOW_BITS = 23  # 8 MB, the largest window that a body may require (RFC 9659)
GZIP_BITS, ZLIB_BITS, DEFLATE_BITS = 31, 15, -15
GZIP_MARK = b"\x1f\x8b"


class Undecodable(Exception):
    """The body does not match its encoding."""


class _Brotli(Protocol):
    """The decompressor of brotli, which ships without types."""

    def process(self, data: bytes, /, output_buffer_limit: int) -> bytes: ...
    def is_finished(self) -> bool: ...


class Plain:
    is_whole = True

    def decompress(self, data: bytes) -> Iterator[bytes]:
        yield data


class ZlibStream:
    """Deflate with zlib's header, with gzip's, or with none."""

    def __init__(self, bits: int) -> None:
        self._zlib = zlib.decompressobj(bits)

    @property
    def is_whole(self) -> bool:
        return self._zlib.eof

    @property
    def unused(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes) -> Iterator[bytes]:
        is_full = True  # zlib may have more than one full piece
        while (data or is_full) and not self._zlib.eof:
            piece = self._zlib.decompress(data, PIECE_BYTES)
            data, is_full = self._zlib.unconsumed_tail, len(piece) == PIECE_BYTES
            yield piece


class GzipMember(ZlibStream):
    """A member of gzip. As in browsers, its trailer, a checksum, may be missing."""

    def __init__(self) -> None:
        super().__init__(GZIP_BITS)
        self._checksum = 0
        self._length = 0

    def decompress(self, data: bytes) -> Iterator[bytes]:
        for piece in super().decompress(data):
            self._checksum = zlib.crc32(piece, self._checksum)
            self._length += len(piece)
            yield piece

    @property
    def is_complete(self) -> bool:
        """Whether all content has arrived; part of the trailer may be missing."""
        end = struct.pack("<II", self._checksum, self._length & 0xFFFFFFFF)
        for at in range(0 if self.is_whole else len(end)):
            ended = self._zlib.copy()
            with suppress(zlib.error):
                ended.decompress(end[at:])
            if ended.eof:
                return True
        return self.is_whole


class ZstdFrame:
    """A frame of zstd, which may be a skippable one."""

    def __init__(self) -> None:
        self._zstd = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: ZSTD_WINDOW_BITS})

    @property
    def is_whole(self) -> bool:
        return self._zstd.eof

    is_complete = is_whole

    @property
    def unused(self) -> bytes:
        return self._zstd.unused_data

    def decompress(self, data: bytes) -> Iterator[bytes]:
        yield self._zstd.decompress(data, PIECE_BYTES)
        while not (self._zstd.eof or self._zstd.needs_input):
            yield self._zstd.decompress(b"", PIECE_BYTES)


class Brotli:
    """Brotli; data after its end is an error."""

    def __init__(self) -> None:
        self._brotli = cast("_Brotli", brotli.Decompressor())  # pyright: ignore[reportUnknownMemberType] - untyped

    @property
    def is_whole(self) -> bool:
        return self._brotli.is_finished()

    def decompress(self, data: bytes) -> Iterator[bytes]:
        piece = self._brotli.process(data, output_buffer_limit=PIECE_BYTES)
        while piece:
            yield piece
            piece = self._brotli.process(b"", output_buffer_limit=PIECE_BYTES)


class Deflate:
    """deflate as servers use it: with zlib's header or without. Data after its end is ignored, as browsers do."""

    def __init__(self) -> None:
        self._head = b""
        self._stream: ZlibStream | None = None

    @property
    def is_whole(self) -> bool:
        return self._stream is not None and self._stream.is_whole

    def decompress(self, data: bytes) -> Iterator[bytes]:
        if self._stream is None:
            data = self._head = self._head + data
            if len(data) < 2:
                return
            # zlib's header (RFC 1950): the method is deflate, and the two bytes are a multiple of 31.
            has_header = data[0] & 0xF == 8 and int.from_bytes(data[:2]) % 31 == 0
            self._stream = ZlibStream(ZLIB_BITS if has_header else DEFLATE_BITS)
        yield from self._stream.decompress(data)


class Members:
    """Concatenated members. Each but the first begins with a magic number; other data after a member is ignored.
    Browsers do the same with gzip, after which some servers send zeros or a line break."""

    def __init__(self, begin: Callable[[], GzipMember | ZstdFrame], mark: bytes) -> None:
        self._begin = begin
        self._mark = mark
        self._member = begin()
        self._count = 1
        self._undecided = b""
        self._is_over = False

    @property
    def is_whole(self) -> bool:
        return self._member.is_complete

    def decompress(self, data: bytes) -> Iterator[bytes]:
        data, self._undecided = self._undecided + data, b""
        while data and not self._is_over:
            if self._member.is_whole and not self._continues(data):
                return
            yield from self._member.decompress(data)
            data = self._member.unused

    def _continues(self, data: bytes) -> bool:
        """Start the next member if one follows; too few bytes to decide are kept for the next call."""
        if not data.startswith(self._mark):
            self._undecided = data if self._mark.startswith(data) else b""
            self._is_over = not self._undecided
            return False
        self._count += 1
        if self._count > MOST_MEMBERS:
            raise Undecodable("it consists of too many parts")
        self._member = self._begin()
        return True


Unpacker: TypeAlias = Plain | Deflate | Brotli | Members

_UNPACKERS: dict[str, Callable[[], Unpacker]] = {
    **dict.fromkeys(("gzip", "x-gzip"), partial(Members, GzipMember, GZIP_MARK)),
    **dict.fromkeys(("deflate", "x-deflate"), Deflate),
    "br": Brotli,
    "zstd": partial(Members, ZstdFrame, b""),
}
_ERRORS = (zlib.error, zstd.ZstdError, cast("type[Exception]", brotli.error))  # pyright: ignore[reportUnknownMemberType] - untyped


def unpacker_for(encoding: str) -> Unpacker:
    """The unpacker of an encoding. Unknown ones are ignored: servers send `utf-8` there, and browsers ignore it."""
    return _UNPACKERS.get(encoding, Plain)()


def undone(unpacker: Unpacker, data: bytes) -> Iterator[bytes]:
    """What these next bytes of a body give, in pieces of bounded size. Raises Undecodable."""
    try:
        yield from unpacker.decompress(data)
    except _ERRORS as error:
        raise Undecodable(str(error)) from error
