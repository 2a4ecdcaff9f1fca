"""The way to a database by TCP, as slow as a busy machine makes it."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from psycopg.conninfo import conninfo_to_dict, make_conninfo


@asynccontextmanager
async def reached_by_tcp(conninfo: str, *, answers_after_s: float = 0) -> AsyncIterator[str]:
    """The same database by TCP; the embedded server listens only on a Unix socket. Each connection is so much later."""
    given = conninfo_to_dict(conninfo)
    host, port = str(given["host"]), int(given.get("port") or 5432)

    async def copy(reader: StreamReader, writer: StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    async def connect(reader: StreamReader, writer: StreamWriter) -> None:
        await asyncio.sleep(answers_after_s)
        if host.startswith("/"):
            answers, questions = await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        else:
            answers, questions = await asyncio.open_connection(host, port)
        await asyncio.gather(copy(reader, questions), copy(answers, writer))

    async with await asyncio.start_server(connect, "127.0.0.1", 0) as server:
        yield make_conninfo(conninfo, host="127.0.0.1", port=server.sockets[0].getsockname()[1])
