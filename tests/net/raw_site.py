"""A server on loopback that sends exactly the bytes it is given."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress


def answer(status: str, *headers: str | bytes, body: bytes = b"") -> bytes:
    """A whole answer, with the length of its body."""
    lines = [line if isinstance(line, bytes) else line.encode() for line in headers]
    head = [f"HTTP/1.1 {status}".encode(), *lines, b"Content-Length: %d" % len(body)]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


@asynccontextmanager
async def a_raw_site(answers: Mapping[str, bytes | Iterable[bytes]], *, hangs_up: bool = True) -> AsyncIterator[str]:
    """The beginning of its URLs. Without `hangs_up` the connection stays open after the answer."""
    held: list[asyncio.StreamWriter] = []

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held.append(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            request = await reader.readuntil(b"\r\n\r\n")
            said = answers.get(request.split()[1].decode(), answer("404 Not Found"))
            for part in [said] if isinstance(said, bytes) else said:
                writer.write(part)
                await writer.drain()
        if hangs_up:
            writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    async with server:
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            for writer in held:
                writer.close()
