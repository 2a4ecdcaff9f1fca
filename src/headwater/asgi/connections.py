"""Connections of clients: unused ones are closed, and one network has a limited number.

A client could otherwise keep connections for ever, and what it does not read stays in memory: by sending no request, or
a part of one, or by not reading a response. And it could open so many that the process may open no file any more: then
no other client connects, and no feed is polled. Both are rare behind a proxy, which has limits of its own.
"""

import asyncio
import fcntl
import os
import resource
import socket
import struct
import termios
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address, ip_network
from typing import Any, ClassVar, NamedTuple, cast

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from headwater.accounts.decide import network_of
from headwater.observability.log import get_logger

log = get_logger()

PER_NETWORK = 1_000
LOGGED_EVERY_S = 60.0


class NetworkConnections:
    """The open connections of each network. Trusted proxies, which connect for everyone, have no limit."""

    def __init__(self, most: int = PER_NETWORK, proxies: Sequence[str] = ()) -> None:
        self._most = most
        self._proxies = [ip_network(one, strict=False) for one in proxies]
        self._open: Counter[str] = Counter()
        self._logged_at: float | None = None

    @property
    def most(self) -> int:
        """At most a quarter of the files that this process may open: others, and the stages, need some, too."""
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return self._most if files == resource.RLIM_INFINITY else min(self._most, files // 4)

    def add(self, address: str) -> bool:
        """Count a connection. False: its network has too many."""
        network = network_of(address)
        self._open[network] += 1
        return self._open[network] <= self.most or self._is_proxy(address)

    def remove(self, address: str) -> None:
        network = network_of(address)
        self._open[network] -= 1
        if self._open[network] <= 0:
            del self._open[network]

    def log_refusal(self, address: str, now: float) -> None:
        """At most once a minute: a flood must not fill the log."""
        if self._logged_at is None or now - self._logged_at >= LOGGED_EVERY_S:
            self._logged_at = now
            log.warning("connections refused", network=network_of(address), most=self.most)

    def _is_proxy(self, address: str) -> bool:
        try:
            given = ip_address(address.partition("%")[0])
        except ValueError:
            return False
        return any(given in one for one in self._proxies)


class Progress(NamedTuple):
    """How far a connection is."""

    requests: int  # that were answered
    is_answering: bool
    is_full: bool  # the response, or its next part, waits until the client has read more
    pauses: int  # how often that was so
    unread: int  # bytes that were sent, and that the client has not received

    def is_stuck_since(self, before: "Progress", least: int) -> bool:
        """Whether the client sent no request, or received fewer bytes than `least` of what waits for it."""
        if self.is_full:
            return before.is_full and self.pauses == before.pauses and before.unread - self.unread < least
        return not self.is_answering and not before.is_answering and self.requests == before.requests


class WatchedConnection(H11Protocol):
    """An HTTP connection that is closed when it is stuck for one to two periods, or when its network has too many."""

    PERIOD_S: ClassVar = 20.0
    LEAST: ClassVar = 20_000  # bytes per period

    _requests = _pauses = 0
    _before: Progress | None = None
    _timer: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, networks: NetworkConnections, **kwargs: Any) -> None:  # noqa: ANN401  uvicorn's
        super().__init__(*args, **kwargs)
        self._networks, self._address = networks, ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._address = self.client[0] if self.client else "unknown"
        if self._networks.add(self._address):
            self._look()
        else:
            self._networks.log_refusal(self._address, self.loop.time())
            _reset(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._networks.remove(self._address)
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        self._pauses += 1
        super().pause_writing()

    def on_response_complete(self) -> None:
        self._requests += 1
        super().on_response_complete()

    def _look(self) -> None:
        now, before = self._progress(), self._before
        if before is not None and now.is_stuck_since(before, self.LEAST):
            log.debug("connection closed", reason="not read" if now.is_full else "no request", unread=now.unread)
            _reset(self.transport)
            return
        self._before = now
        self._timer = self.loop.call_later(self.PERIOD_S, self._look)

    def _progress(self) -> Progress:
        cycle = cast("RequestResponseCycle | None", self.cycle)  # None before the first request
        is_answering = cycle is not None and not cycle.response_complete
        waits = self.transport.get_write_buffer_size()
        is_full = self.flow.write_paused or (self.transport.is_closing() and waits > 0)
        return Progress(self._requests, is_answering, is_full, self._pauses, waits + _queued(self.transport))


def _reset(transport: asyncio.Transport) -> None:
    """Close it, and discard what the client has not read, in the kernel too: there it would wait for minutes."""
    known: Any = transport.get_extra_info("socket")
    with suppress(OSError, ValueError), socket.socket(fileno=os.dup(known.fileno())) as same:
        same.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def _queued(transport: asyncio.Transport) -> int:
    """Bytes that the kernel has not sent, or whose receipt is not confirmed: it takes more only from time to time."""
    known: Any = transport.get_extra_info("socket")
    try:
        return struct.unpack("i", fcntl.ioctl(known.fileno(), termios.TIOCOUTQ, b"\0" * 4))[0]
    except (OSError, ValueError):
        return 0
