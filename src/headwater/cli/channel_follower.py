"""Prints the messages of a channel as lines of JSON, until it is stopped or its output is closed."""

import asyncio
import select
import sys
from contextlib import suppress
from typing import Final

from headwater.channels.store import deliveries, records
from headwater.cli.output import print_error
from headwater.db import Database
from headwater.errors import DatabaseUnavailable
from headwater.publishing.reading import ChannelMessages, read_messages
from headwater.types import Clock

READ_AT_ONCE: Final = 50
LOOK_EVERY_S: Final = 1.0


class Follower:
    def __init__(self, database: Database, clock: Clock, name: str) -> None:
        self._database, self._clock, self._name = database, clock, name

    async def run(self, *, after: int | None, is_waiting: bool, stop: asyncio.Event) -> None:
        """Raises ChannelNotFound, BrokenPipeError."""
        async with self._database.transaction() as conn:
            await records.find_named(conn, name=self._name)
            cursor = await deliveries.last_revision(conn) if after is None else after
        is_reachable = True
        while not stop.is_set():
            try:
                found = await self._read(cursor)
            except DatabaseUnavailable as error:
                if is_reachable and is_waiting:
                    print_error(f"{error} Waiting for it.")
                is_reachable = False
                if not is_waiting:
                    raise
            else:
                is_reachable, cursor = True, found.cursor
                _print(found)
                if found.has_more:
                    continue
                if not is_waiting:
                    return
            if _is_output_closed():
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), LOOK_EVERY_S)

    async def _read(self, cursor: int) -> ChannelMessages:
        async with self._database.transaction() as conn:
            channel = await records.find_named(conn, name=self._name)
            return await read_messages(conn, channel, after=cursor, limit=READ_AT_ONCE, now=self._clock())


def _print(found: ChannelMessages) -> None:
    for one in found.messages:
        sys.stdout.buffer.write(one.body + b"\n")
    sys.stdout.buffer.flush()


def _is_output_closed() -> bool:
    """Whether the reader of our output has left. A write would say so too, but there may be nothing to write."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
