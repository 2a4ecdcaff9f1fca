"""Reads and decompresses the body of a response: bounded in size, before and after, and in time for error pages."""

import asyncio
from contextlib import suppress
from math import inf
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import BadHttpMessage

from headwater.net.types import FetchError, FetchFailure
from headwater.net.unpack import Undecodable, undone, unpacker_for

ERROR_BODY_BYTES = 65_536  # enough of an error page to recognise a bot challenge
ERROR_BODY_S = 2
CHUNK_BYTES = 65_536
MAX_INFORMATIONAL = 20  # before one response; servers send one or two
FRAMED_MOST = 3  # bytes on the wire for each byte of a body; more in chunks of one or two bytes
FRAMED_LEAST = 1_000_000  # below this any framing is accepted


class BoundedHandler(ResponseHandler):
    """A connection that refuses endless informational responses (1xx), and counts the bytes that arrive. aiohttp drops
    the former until the timeout: a server that sends thousands in each packet would keep the event loop busy."""

    arrived = 0
    _informational = 0

    def data_received(self, data: bytes) -> None:
        self.arrived += len(data)
        super().data_received(data)

    async def read(self) -> Any:  # noqa: ANN401  as in aiohttp
        found = await super().read()
        self._informational = self._informational + 1 if 100 <= found[0].code < 200 else 0
        if self._informational > MAX_INFORMATIONAL:
            raise BadHttpMessage("too many informational responses")
        return found


async def read_whole(answer: aiohttp.ClientResponse, url: str, max_bytes: int) -> bytes:
    """The complete body. Raises FetchError."""
    if (answer.content_length or 0) > max_bytes:
        raise _too_large(url, max_bytes)
    body = bytearray()
    await _read_into(body, answer, url, enough=max_bytes + 1, most_packed=max_bytes)
    if len(body) > max_bytes:
        raise _too_large(url, max_bytes)
    return bytes(body)


async def read_beginning(answer: aiohttp.ClientResponse, url: str, first_bytes: int) -> bytes:
    """The first bytes of the body. Raises FetchError."""
    body = bytearray()
    await _read_into(body, answer, url, enough=first_bytes, most_packed=first_bytes + CHUNK_BYTES)
    return bytes(body[:first_bytes])


async def read_error_page(answer: aiohttp.ClientResponse, url: str, until: float | None) -> bytes:
    """As much as arrives soon. A body that stalls, breaks off or cannot be decompressed does not hide its status. At
    most half of the remaining time is spent on it, so that the caller does not get a timeout instead."""
    body = bytearray()
    left = inf if until is None else until - asyncio.get_running_loop().time()
    with suppress(aiohttp.ClientError, FetchError, TimeoutError):
        async with asyncio.timeout(min(ERROR_BODY_S, left / 2)):
            await _read_into(body, answer, url, enough=ERROR_BODY_BYTES, most_packed=ERROR_BODY_BYTES)
    return bytes(body[:ERROR_BODY_BYTES])


async def _read_into(
    body: bytearray, answer: aiohttp.ClientResponse, url: str, *, enough: int, most_packed: int
) -> None:
    """Read to the end, or until there is enough. Raises FetchError, also if more than `most_packed` arrives first."""
    given = ",".join(answer.headers.getall("Content-Encoding", ())).lower()
    encodings = [name for part in given.split(",") if (name := part.strip()) not in {"", "identity"}]
    if len(encodings) > 1:
        raise FetchError(url, FetchFailure.TOO_LARGE, "its body is compressed more than once, as bombs are")
    unpacker = unpacker_for(encodings[0] if encodings else "")
    packed = 0
    before = _arrived(answer)
    async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
        packed += len(chunk)
        try:
            for piece in undone(unpacker, chunk):
                body += piece
                if len(body) >= enough:
                    return
        except Undecodable as error:
            raise FetchError(url, FetchFailure.BAD_ENCODING, "its body cannot be decompressed") from error
        if packed > most_packed:
            raise _too_large(url, most_packed)
        if _arrived(answer) - before > FRAMED_LEAST + FRAMED_MOST * packed:
            raise FetchError(url, FetchFailure.TOO_LARGE, "its body is sent in too many chunks")
    if packed and not unpacker.is_whole:
        raise FetchError(url, FetchFailure.BAD_ENCODING, "its compressed body ends too soon")


def _arrived(answer: aiohttp.ClientResponse) -> int:
    """Bytes that arrived on the connection; 0 after the end of the body."""
    protocol = answer.connection.protocol if answer.connection else None
    return protocol.arrived if isinstance(protocol, BoundedHandler) else 0


def _too_large(url: str, max_bytes: int) -> FetchError:
    return FetchError(url, FetchFailure.TOO_LARGE, f"its body is larger than {max_bytes:,} bytes")
