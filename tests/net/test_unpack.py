"""Every compression that we offer, undone in whatever parts it comes, and known for whole or not."""

import gzip
import random
import struct
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.net.unpack import MOST_MEMBERS, PIECE_BYTES, Undecodable, undone, unpacker_for

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = "".join(random.Random(1).choices("abcdefgh <>", k=20_000)).encode()
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "x-deflate": lambda body: zlib.compress(body, wbits=-15),
    "br": brotli.compress,
    "zstd": zstd.compress,
    "": bytes,
    "utf-8": bytes,
}
COMPRESSED = [name for name in PACKERS if name not in {"", "utf-8"}]


def unpack(encoding: str, *parts: bytes) -> tuple[bytes, bool]:
    """What comes out, and whether it is whole."""
    unpacker = unpacker_for(encoding)
    body = b"".join(piece for part in parts for piece in undone(unpacker, part))
    return body, unpacker.is_whole


@pytest.mark.parametrize("encoding", PACKERS)
@pytest.mark.parametrize("step", [1, 7, 1_000, 1_000_000])
def test_a_body_comes_out_as_it_went_in_whatever_parts_it_comes_in(encoding: str, step: int) -> None:
    packed = PACKERS[encoding](TEXT)

    assert unpack(encoding, *(packed[at : at + step] for at in range(0, len(packed), step))) == (TEXT, True)


@pytest.mark.parametrize("encoding", COMPRESSED)
@given(cut=st.integers(1, 4_000))
def test_a_body_that_ends_too_soon_is_never_whole(encoding: str, cut: int) -> None:
    trailer = 8 if "gzip" in encoding else 0

    body, is_whole = unpack(encoding, PACKERS[encoding](TEXT)[: -cut - trailer])

    assert not is_whole
    assert TEXT.startswith(body)


@pytest.mark.parametrize("encoding", COMPRESSED)
@pytest.mark.parametrize("size", [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES])
def test_a_body_may_be_of_any_size(encoding: str, size: int) -> None:
    assert unpack(encoding, PACKERS[encoding](size * b"a")) == (size * b"a", True)


@pytest.mark.parametrize("encoding", COMPRESSED)
def test_a_decompression_bomb_is_returned_in_small_pieces(encoding: str) -> None:
    pieces = list(undone(unpacker_for(encoding), PACKERS[encoding](bytes(5_000_000))))

    assert sum(map(len, pieces)) == 5_000_000
    assert max(map(len, pieces)) <= 2 * PIECE_BYTES


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@pytest.mark.parametrize("step", [1, 1_000_000])
def test_a_body_may_consist_of_several_members(encoding: str, step: int) -> None:
    packed = PACKERS[encoding](TEXT[:300]) + PACKERS[encoding](b"") + PACKERS[encoding](TEXT[300:])

    assert unpack(encoding, *(packed[at : at + step] for at in range(0, len(packed), step))) == (TEXT, True)
    assert unpack(encoding, packed[:-9])[1] is False


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
@pytest.mark.parametrize("rest", [b"\0" * 50, b"\r\n", b"<!-- cached -->", b"\x1f\0"])
def test_bytes_after_the_end_are_ignored_as_in_browsers(encoding: str, rest: bytes) -> None:
    packed = PACKERS[encoding](TEXT)

    assert unpack(encoding, packed + rest) == (TEXT, True)
    assert unpack(encoding, packed, rest[:1], rest[1:]) == (TEXT, True)


def test_one_trailing_byte_is_ignored_and_a_truncated_member_is_incomplete() -> None:
    packed = gzip.compress(TEXT)

    assert unpack("gzip", packed + b"\x1f") == (TEXT, True)
    assert unpack("gzip", packed, b"\x1f") == (TEXT, True)
    assert unpack("gzip", packed + b"\x1f\x8b") == (TEXT, False)
    assert unpack("gzip", packed + packed[:100])[1] is False


@pytest.mark.parametrize("missing", range(1, 9))
@pytest.mark.parametrize("text", [TEXT, b"", b"a", bytes(3 * PIECE_BYTES)], ids=["text", "nothing", "a", "zeros"])
@pytest.mark.parametrize("step", [1, 1_000_000])
def test_gzip_that_lacks_only_its_trailer_is_whole(text: bytes, missing: int, step: int) -> None:
    packed = gzip.compress(b"first ") + gzip.compress(text)[:-missing]

    assert unpack("gzip", *(packed[at : at + step] for at in range(0, len(packed), step))) == (b"first " + text, True)


def test_gzip_with_a_part_of_a_wrong_trailer_is_not_whole() -> None:
    assert unpack("gzip", gzip.compress(TEXT)[:-8] + b"\0\0") == (TEXT, False)


@pytest.mark.parametrize("encoding", ["br", "zstd"])
def test_what_browsers_refuse_after_the_end_is_refused(encoding: str) -> None:
    with pytest.raises(Undecodable):
        unpack(encoding, PACKERS[encoding](TEXT) + b"garbage")


@pytest.mark.parametrize("encoding", COMPRESSED)
@given(rubbish=st.binary(min_size=1))
def test_rubbish_is_refused_or_unpacked_and_nothing_else(encoding: str, rubbish: bytes) -> None:
    with suppress(Undecodable):
        assert len(unpack(encoding, rubbish)[0]) < 2 * PIECE_BYTES


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd"])
def test_what_was_never_compressed_is_refused(encoding: str) -> None:
    with pytest.raises(Undecodable):
        unpack(encoding, b"<rss version='2.0'><channel><title>t</title></channel></rss>")


@pytest.mark.parametrize("member", [gzip.compress(b""), struct.pack("<II", 0x184D2A50, 0)], ids=["gzip", "zstd"])
def test_a_body_of_very_many_members_is_refused(member: bytes) -> None:
    encoding = "gzip" if member.startswith(b"\x1f") else "zstd"

    assert unpack(encoding, MOST_MEMBERS * member) == (b"", True)
    with pytest.raises(Undecodable):
        unpack(encoding, (MOST_MEMBERS + 1) * member)


def test_a_body_may_not_ask_for_more_memory_than_browsers_give() -> None:
    greedy = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 27})
    packed = greedy.compress(TEXT) + greedy.flush()

    with pytest.raises(Undecodable):
        unpack("zstd", packed)
