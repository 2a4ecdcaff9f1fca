"""A tiny Redis on loopback: XADD inside MULTI and EXEC, and an error on request."""

import asyncio
from typing import Self


class StubRedis:
    def __init__(self) -> None:
        self.entries: list[tuple[str, dict[str, bytes]]] = []  # stream and fields
        self.commands: list[list[bytes]] = []
        self.error = ""  # the answer to EXEC
        self.is_silent = False
        self.password: bytes | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}"
        self._open: set[asyncio.StreamWriter] = set()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._open:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        queued: list[list[bytes]] | None = None
        try:
            while command := await _read(reader):
                self.commands.append(command)
                name = command[0].upper()
                if self.is_silent:
                    continue
                if name == b"MULTI":
                    queued = []
                    writer.write(b"+OK\r\n")
                elif name == b"EXEC":
                    writer.write(self._executed(queued or []))
                    queued = None
                elif queued is not None:
                    queued.append(command)
                    writer.write(b"+QUEUED\r\n")
                else:
                    writer.write(b"+OK\r\n")
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass

    def _executed(self, queued: list[list[bytes]]) -> bytes:
        if self.error:
            return f"-{self.error}\r\n".encode()
        ids: list[bytes] = []
        for command in queued:
            fields = command[command.index(b"*") + 1 :]
            names = [name.decode() for name in fields[::2]]
            self.entries.append((command[1].decode(), dict(zip(names, fields[1::2], strict=True))))
            entry_id = f"{len(self.entries)}-0".encode()
            ids.append(b"$%d\r\n%s\r\n" % (len(entry_id), entry_id))
        return b"*%d\r\n%s" % (len(ids), b"".join(ids))


async def _read(reader: asyncio.StreamReader) -> list[bytes]:
    """One command: an array of strings. Empty at the end."""
    head = await reader.readline()
    if not head:
        return []
    parts: list[bytes] = []
    for _ in range(int(head[1:])):
        size = int((await reader.readline())[1:])
        parts.append((await reader.readexactly(size + 2))[:-2])
    return parts
