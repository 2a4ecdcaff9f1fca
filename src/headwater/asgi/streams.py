"""Responses that do not end by themselves: lines of JSON, or server-sent events, as new things happen.

Their number is limited, in all and per user. Each is a loop: read what is new after a cursor, send it, wait. Between
two reads it holds no database connection, and it reads the next batch only when the last one was sent.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple, Protocol
from weakref import WeakValueDictionary

from litestar.response import Stream
from litestar.types import Scope

from headwater.asgi.guard import IS_STREAM, is_head
from headwater.asgi.handlers import AnyRequest
from headwater.errors import TooManyRequests, Unavailable
from headwater.observability import metrics
from headwater.observability.log import get_logger

log = get_logger()

EVENTS = "text/event-stream"
LINES = "application/x-ndjson"
IS_PERMITTED = "headwater_is_permitted"  # in the state of a request: asks whether its token is still valid
RETRY_MS = 3_000  # after which a browser connects again


@dataclass(frozen=True, slots=True)
class StreamOptions:
    most: int = 100  # in this process
    per_user: int = 10
    reading: int = 3  # at a time: each takes a database connection
    poll: timedelta = timedelta(seconds=1)
    heartbeat: timedelta = timedelta(seconds=15)
    longest: timedelta = timedelta(hours=1)  # then it ends, and the client connects again


class StreamItem(NamedTuple):
    cursor: int
    data: bytes  # JSON without line breaks


class StreamBatch(NamedTuple):
    """What is new; `cursor`: how far it looked."""

    items: Sequence[StreamItem]
    cursor: int
    has_more: bool


class StreamForm(Protocol):
    """How a stream is written."""

    media_type: str

    def opening(self) -> bytes: ...
    def item(self, item: StreamItem) -> bytes: ...
    def heartbeat(self, cursor: int) -> bytes: ...


class JsonLines:
    """One object per line. A heartbeat is an empty line."""

    media_type = LINES

    def opening(self) -> bytes:
        return b""

    def item(self, item: StreamItem) -> bytes:
        return item.data + b"\n"

    def heartbeat(self, cursor: int) -> bytes:  # noqa: ARG002  a line cannot carry it
        return b"\n"


class ServerSentEvents:
    """Events with the cursor as their id. A heartbeat has an id and no data: clients keep the id and fire no event."""

    media_type = EVENTS

    def __init__(self, name: str) -> None:
        self._name = name.encode()

    def opening(self) -> bytes:
        return b"retry: %d\n\n" % RETRY_MS

    def item(self, item: StreamItem) -> bytes:
        return b"id: %d\nevent: %s\ndata: %s\n\n" % (item.cursor, self._name, item.data)

    def heartbeat(self, cursor: int) -> bytes:
        return b": keep-alive\nid: %d\n\n" % cursor


class StreamSlot:
    """One of the streams that may be open. Released when it ends, or when nothing refers to it any more."""

    def __init__(self, streams: "Streams", owner: Hashable) -> None:
        self._streams, self.owner, self._is_open = streams, owner, True

    def release(self) -> None:
        if self._is_open:
            self._is_open = False
            self._streams.forget(self.owner)

    def __del__(self) -> None:
        self.release()


class Streams:
    """The open streams of this process."""

    def __init__(self, options: StreamOptions) -> None:
        self.options = options
        self._open: Counter[Hashable] = Counter()
        self._reading = asyncio.Semaphore(options.reading)
        self._readers: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()
        self.is_closing = False

    def open(self, owner: Hashable) -> StreamSlot:
        """A slot for one more stream. Raises TooManyRequests."""
        if self._open.total() >= self.options.most or self._open[owner] >= self.options.per_user:
            raise TooManyRequests(self.options.heartbeat)
        self._open[owner] += 1
        metrics.STREAMS.inc()
        return StreamSlot(self, owner)

    @asynccontextmanager
    async def reading(self, owner: Hashable) -> AsyncIterator[None]:
        """While a stream reads: a few do at a time, and one of each owner. A hundred streams that are opened together,
        or that all have something new, would otherwise take every database connection."""
        async with self._readers.setdefault(owner, asyncio.Lock()), self._reading:
            yield

    def forget(self, owner: Hashable) -> None:
        self._open[owner] -= 1
        metrics.STREAMS.dec()
        if self._open[owner] <= 0:
            del self._open[owner]

    def close(self) -> None:
        """End all streams at their next look: the server stops."""
        self.is_closing = True


class PermissionCheck:
    """Asks at most once in a period whether a stream may go on."""

    def __init__(self, ask: Callable[[], Awaitable[bool]] | None, period: timedelta) -> None:
        self._ask, self._period = ask, period.total_seconds()
        self._now = asyncio.get_running_loop().time
        self._asked_at = self._now()

    async def is_permitted(self) -> bool:
        if self._ask is None or self._now() - self._asked_at < self._period:
            return True
        self._asked_at = self._now()
        return await self._ask()


async def follow(
    streams: Streams, slot: StreamSlot, form: StreamForm, *, start: int,
    latest: Callable[[], Awaitable[int]], read: Callable[[int], Awaitable[StreamBatch]],
    is_permitted: Callable[[], Awaitable[bool]] | None = None,
) -> AsyncGenerator[bytes]:  # fmt: skip
    """A stream of what `read` finds after a cursor, whenever `latest` is beyond it. Ends when the server stops or the
    database is unavailable: the client then goes on from its cursor. Ends too, within the time of a heartbeat, when
    `is_permitted` says no: the token was revoked."""
    now = asyncio.get_running_loop().time
    begun = last_sent = now()
    check, cursor = PermissionCheck(is_permitted, streams.options.heartbeat), start
    try:
        yield form.opening()
        while not streams.is_closing:
            if not await check.is_permitted():
                return
            batch = StreamBatch((), cursor, has_more=False)
            if await latest() > cursor:
                async with streams.reading(slot.owner):
                    batch = await read(cursor)
            cursor = batch.cursor
            for item in batch.items:
                if not await check.is_permitted():  # a client may read a batch as slowly as it likes
                    return
                yield form.item(item)
                last_sent = now()
            if now() - last_sent >= streams.options.heartbeat.total_seconds():
                yield form.heartbeat(cursor)
                last_sent = now()
            if now() - begun >= streams.options.longest.total_seconds():
                return
            if batch.has_more:
                continue
            await asyncio.sleep(streams.options.poll.total_seconds())
    except (Unavailable, TooManyRequests) as error:
        log.warning("stream ended", reason=str(error))
    finally:
        slot.release()


def form_for(request: AnyRequest, event: str) -> StreamForm:
    """Server-sent events if the client asks for them, else lines of JSON."""
    return ServerSentEvents(event) if EVENTS in request.headers.get("accept", "").lower() else JsonLines()


def stream_response(request: AnyRequest, form: StreamForm, content: AsyncGenerator[bytes]) -> Stream:
    """A response that proxies pass on at once."""
    mark_as_stream(request.scope)
    body = _nothing() if is_head(request.scope) else content
    return Stream(body, media_type=form.media_type, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})


def mark_as_stream(scope: Scope) -> None:
    """Its duration says nothing about how fast requests are answered."""
    scope["state"][IS_STREAM] = True


async def _nothing() -> AsyncGenerator[bytes]:
    for nothing in ():
        yield nothing
