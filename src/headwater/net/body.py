"""The body of an answer: bounded in size, and in time where the status says all that matters."""

import asyncio
from contextlib import suppress

import aiohttp

from headwater.net.types import FetchError, FetchFailure

ERROR_BODY_BYTES = 65_536  # enough of an error page to tell a bot challenge from a plain refusal
ERROR_BODY_S = 2
CHUNK_BYTES = 65_536


async def read_whole(answer: aiohttp.ClientResponse, url: str, max_bytes: int) -> bytes:
    """All of it. Raises FetchError."""
    if "," in answer.headers.get("Content-Encoding", ""):
        raise FetchError(url, FetchFailure.TOO_LARGE, "its body is compressed more than once, as bombs are")
    if (answer.content_length or 0) > max_bytes:
        raise _too_large(url, max_bytes)
    body = bytearray()
    async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
        body += chunk
        if len(body) > max_bytes:
            raise _too_large(url, max_bytes)
    return bytes(body)


async def read_beginning(answer: aiohttp.ClientResponse, _url: str, first_bytes: int) -> bytes:
    """As much of it as is wanted."""
    body = bytearray()
    await _read_into(body, answer, first_bytes)
    return bytes(body[:first_bytes])


async def read_error_page(answer: aiohttp.ClientResponse, until: float) -> bytes:
    """What comes of it soon: that it stalls, breaks off or cannot be decompressed takes nothing from its status.

    Not all the time that is left is spent on it, so that whoever waits is not told of a timeout instead.
    """
    body = bytearray()
    left = until - asyncio.get_running_loop().time()
    with suppress(aiohttp.ClientError, TimeoutError):
        async with asyncio.timeout(min(ERROR_BODY_S, left / 2)):
            await _read_into(body, answer, ERROR_BODY_BYTES)
    return bytes(body[:ERROR_BODY_BYTES])


async def _read_into(body: bytearray, answer: aiohttp.ClientResponse, first_bytes: int) -> None:
    async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
        body += chunk
        if len(body) >= first_bytes:
            return


def _too_large(url: str, max_bytes: int) -> FetchError:
    return FetchError(url, FetchFailure.TOO_LARGE, f"its body is larger than {max_bytes:,} bytes")
