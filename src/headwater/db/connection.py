"""A connection that does not wait for ever for a server that has stopped answering.

`statement_timeout` is kept by the server, and TCP's timeouts by its kernel. A server that hangs, on a disk that does
not answer or because it was suspended, ends no statement, and its connections stay open.
"""

import asyncio
import os
import select
import socket
from contextlib import suppress
from datetime import timedelta
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.rows import TupleRow

Result = TypeVar("Result")


class TimedConnection(psycopg.AsyncConnection[TupleRow]):
    """With `answer_within` set, a statement that has no answer by then ends in an OperationalError, and the connection
    with it."""

    answer_within: timedelta | None = None

    async def wait(self, gen: PQGen[Result], *args: Any, **options: Any) -> Result:  # noqa: ANN401  as in psycopg
        if self.answer_within is None:
            return await super().wait(gen, *args, **options)
        seconds = self.answer_within.total_seconds()
        timer = asyncio.get_running_loop().call_later(seconds, _shut_down, self.pgconn.socket)
        try:
            return await super().wait(gen, *args, **options)
        finally:
            timer.cancel()


def limit_answers(conn: psycopg.AsyncConnection[TupleRow], within: timedelta | None) -> None:
    """From here on, until the connection is returned to its pool. None: no limit."""
    if isinstance(conn, TimedConnection):
        conn.answer_within = within


def _shut_down(descriptor: int) -> None:
    """What waits for the socket is told that the connection has ended. A cancelled task would wait for the server."""
    arrived = select.poll()
    arrived.register(descriptor, select.POLLIN)
    if arrived.poll(0):
        return  # the answer is there, and this process was too busy to read it
    with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as copy:
        copy.shutdown(socket.SHUT_RDWR)
