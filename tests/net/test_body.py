"""Bodies as the client takes them: counted before they are undone, and no part of one passed off as the whole."""

import gzip
import struct
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta

import brotli
import pytest

from headwater.net import Client, FetchError, FetchFailure
from tests.net.raw_site import a_raw_site, answer

WITHIN = timedelta(seconds=5)
FEED = b"<rss version='2.0'><channel><title>Zoo</title></channel></rss>"
MOST = 1_000_000


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Client(user_agent="Test/1", allow_loopback=True) as client:
        yield client


def endless(encoding: str, first: bytes, then: bytes) -> Iterator[bytes]:
    """A body without a declared length that never sends a byte."""
    yield f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nConnection: close\r\n\r\n".encode() + first
    for _ in range(100):
        yield then


NOTHING_FOR_LONG = {
    "a gzip comment": ("gzip", b"\x1f\x8b\x08\x10" + bytes(6), 100_000 * b"a"),
    "empty gzip blocks": ("gzip", b"\x1f\x8b\x08\x00" + bytes(6), 20_000 * b"\0\0\0\xff\xff"),
    "empty deflate blocks": ("deflate", b"", 20_000 * b"\0\0\0\xff\xff"),
    "skipped zstd frames": ("zstd", b"", struct.pack("<II", 0x184D2A50, 100_000) + 100_000 * b"a"),
    "one skipped zstd frame": ("zstd", struct.pack("<II", 0x184D2A50, 2**31), 100_000 * b"a"),
}


@pytest.mark.parametrize("name", NOTHING_FOR_LONG)
async def test_a_body_that_gives_nothing_is_too_large_once_enough_of_it_came(name: str, client: Client) -> None:
    async with a_raw_site({"/": endless(*NOTHING_FOR_LONG[name])}) as site:
        with pytest.raises(FetchError) as failed:
            await client.get(site, within=WITHIN, max_bytes=MOST)

    assert (failed.value.kind, failed.value.detail) == (
        FetchFailure.TOO_LARGE,
        "its body is larger than 1,000,000 bytes",
    )


@pytest.mark.parametrize("name", NOTHING_FOR_LONG)
async def test_who_peeks_is_not_kept_by_a_body_that_gives_nothing(name: str, client: Client) -> None:
    async with a_raw_site({"/": endless(*NOTHING_FOR_LONG[name])}) as site:
        with pytest.raises(FetchError) as failed:
            await client.peek(site, within=WITHIN, first_bytes=1_000)

    assert failed.value.kind is FetchFailure.TOO_LARGE


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
}


@pytest.mark.parametrize("encoding", PACKERS)
async def test_a_compressed_body_that_ends_too_soon_is_a_failure_and_no_shorter_body(
    encoding: str, client: Client
) -> None:
    cut = answer("200 OK", f"Content-Encoding: {encoding}", 'ETag: "1"', body=PACKERS[encoding](FEED)[:-9])
    async with a_raw_site({"/": cut}) as site:
        with pytest.raises(FetchError) as failed:
            await client.get(site, within=WITHIN, max_bytes=MOST)

    assert (failed.value.kind, failed.value.detail) == (
        FetchFailure.BAD_ENCODING,
        "its compressed body ends too soon",
    )


async def test_a_body_that_does_not_match_its_content_encoding_is_an_error(client: Client) -> None:
    async with a_raw_site({"/": answer("200 OK", "Content-Encoding: gzip", body=FEED)}) as site:
        with pytest.raises(FetchError) as failed:
            await client.get(site, within=WITHIN, max_bytes=MOST)

    assert (failed.value.kind, failed.value.detail) == (FetchFailure.BAD_ENCODING, "its body cannot be decompressed")


@pytest.mark.parametrize(
    "encoding", ["gzip", "x-gzip", "GZIP", " gzip ", "gzip, identity", "identity, gzip", "gzip\r\nContent-Encoding: "]
)
async def test_one_encoding_is_known_by_all_its_names(encoding: str, client: Client) -> None:
    packed = answer("200 OK", f"Content-Encoding: {encoding}", body=gzip.compress(FEED) + b"\r\n")
    async with a_raw_site({"/": packed}) as site:
        response = await client.get(site, within=WITHIN, max_bytes=MOST)

    assert response.body == FEED


@pytest.mark.parametrize("encoding", ["gzip, br", "br\r\nContent-Encoding: gzip", "gzip,gzip"])
async def test_a_body_that_is_compressed_twice_is_not_read(encoding: str, client: Client) -> None:
    packed = answer("200 OK", f"Content-Encoding: {encoding}", body=gzip.compress(brotli.compress(FEED)))
    async with a_raw_site({"/": packed}) as site:
        with pytest.raises(FetchError) as failed:
            await client.get(site, within=WITHIN, max_bytes=MOST)

    assert failed.value.kind is FetchFailure.TOO_LARGE


@pytest.mark.parametrize("status", ["200 OK", "304 Not Modified"])
async def test_no_body_at_all_is_whole_whatever_it_is_said_to_be_compressed_with(status: str, client: Client) -> None:
    async with a_raw_site({"/": answer(status, "Content-Encoding: gzip")}) as site:
        response = await client.get(site, within=WITHIN, max_bytes=MOST)

    assert response.body == b""
