"""Cages in which it is the connection that fails: silence, drips, resets, lies about length, no HTTP at all.

In: a Call. Out: a response that never ends well. `SeveredError` tells the server that there is nothing left to send.
"""

import asyncio
import socket
import struct
from typing import cast

from aiohttp import web

from headwater.lab.zoo.calls import Call, Keeper

_FEED_HEAD = b'<?xml version="1.0"?>\n<rss version="2.0"><channel><title>Never finished</title>'
_LINGER_ZERO = struct.pack("ii", 1, 0)  # makes close() send a reset instead of a farewell
_DRIP_EVERY = 0.5


class SeveredError(ConnectionError):
    """The connection was cut on purpose."""


async def silent(_: Call) -> web.StreamResponse:
    """Waits until the visitor or the zoo leaves; either cancels this."""
    await asyncio.Event().wait()
    raise SeveredError


async def drip(call: Call) -> web.StreamResponse:
    response = await _begun(call, "application/rss+xml")
    for byte in _FEED_HEAD:
        await response.write(bytes((byte,)))
        await asyncio.sleep(_DRIP_EVERY)
    while True:
        await response.write(b" ")
        await asyncio.sleep(_DRIP_EVERY)


async def slammed(call: Call) -> web.StreamResponse:
    raise _reset(call)


async def dropped(call: Call) -> web.StreamResponse:
    response = await _begun(call, "application/rss+xml", length=100_000)
    await response.write(_FEED_HEAD)
    await asyncio.sleep(0.02)  # a reset overtakes what is still in the buffers: let the head arrive first
    raise _reset(call)


async def short(call: Call) -> web.StreamResponse:
    response = await _begun(call, "application/rss+xml", length=100_000)
    await response.write(_FEED_HEAD)
    raise _closed(call)


async def mailman(call: Call) -> web.StreamResponse:
    _transport(call).write(b"220 mailman.zoo.test ready for letters\r\n")
    raise _closed(call)


async def shouting(_: Call) -> web.StreamResponse:
    return web.Response(headers={f"X-Shout-{number}": "A" * 16_000 for number in range(200)})


async def _begun(call: Call, content_type: str, length: int | None = None) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": content_type})
    response.content_length = length
    await response.prepare(call.request)
    return response


def _reset(call: Call) -> SeveredError:
    transport = _transport(call)
    connection = cast("socket.socket", transport.get_extra_info("socket"))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
    transport.abort()
    return SeveredError("reset")


def _closed(call: Call) -> SeveredError:
    _transport(call).close()
    return SeveredError("closed")


def _transport(call: Call) -> asyncio.Transport:
    transport = call.request.transport
    if transport is None:
        raise SeveredError("the visitor has left already")
    return transport  # by its type only: uvloop's transports do not inherit from asyncio's


CONNECTION_CAGES: dict[str, Keeper] = {
    "silent": silent,
    "drip": drip,
    "slammed": slammed,
    "dropped": dropped,
    "short": short,
    "mailman": mailman,
    "shouting": shouting,
}
