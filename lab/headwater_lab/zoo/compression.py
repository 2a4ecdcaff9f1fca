"""Content-Encodings, and bombs of 256 MB once decompressed, each built when it is first requested."""

import sys
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import repeat
from typing import Protocol, cast

import brotli

from headwater_lab.zoo.sites import Compression

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MEBIBYTE = 2**20
BOMB = 256 * MEBIBYTE
_BLANKS = b" " * MEBIBYTE


class _BrotliCompressor(Protocol):
    """What brotli's compressor is; the library ships without types."""

    def process(self, data: bytes, /) -> bytes: ...
    def finish(self) -> bytes: ...


def compressed(compression: Compression, body: bytes) -> bytes:
    return _COMPRESSORS[compression](body)


def _brotli(body: bytes) -> bytes:
    return b"".join(_brotli_stream(repeat(body, 1), quality=4))


def _brotli_stream(pieces: Iterator[bytes], quality: int) -> Iterator[bytes]:
    compressor = cast("_BrotliCompressor", brotli.Compressor(quality=quality))  # pyright: ignore[reportUnknownMemberType] - untyped
    for piece in pieces:
        yield compressor.process(piece)
    yield compressor.finish()


_COMPRESSORS: dict[Compression, Callable[[bytes], bytes]] = {
    "": lambda body: body,
    "gzip": lambda body: zlib.compress(body, wbits=31),
    "deflate": zlib.compress,
    "raw-deflate": lambda body: zlib.compress(body, wbits=-15),
    "br": _brotli,
    "zstd": zstd.compress,
}


@cache
def gzip_bomb() -> bytes:
    """One megabyte is compressed, and its block repeated: 0.1 s instead of 1 s."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = compressor.compress(_BLANKS) + compressor.flush(zlib.Z_FULL_FLUSH)
    block = compressor.compress(_BLANKS) + compressor.flush(zlib.Z_FULL_FLUSH)
    checksum = 0
    for piece in _bomb_pieces():
        checksum = zlib.crc32(piece, checksum)
    end = b"\x03\x00" + checksum.to_bytes(4, "little") + BOMB.to_bytes(4, "little")
    return head + block * (BOMB // MEBIBYTE - 1) + end


@cache
def brotli_bomb() -> bytes:
    return b"".join(_brotli_stream(_bomb_pieces(), quality=1))


@cache
def zstd_bomb() -> bytes:
    compressor = zstd.ZstdCompressor(level=1)
    return b"".join(compressor.compress(piece) for piece in _bomb_pieces()) + compressor.flush()


@cache
def stacked_bomb() -> bytes:
    return compressed("gzip", gzip_bomb())


def _bomb_pieces() -> Iterator[bytes]:
    return repeat(_BLANKS, BOMB // MEBIBYTE)
