"""Hosts that fail: by status, connection, body or redirect. FAULTS maps host and path to a handler."""

import asyncio
import io
import socket
import struct
import zipfile
from collections.abc import Callable, Iterator
from email.utils import formatdate
from functools import cache
from hashlib import blake2b
from html import escape
from itertools import pairwise, repeat
from math import inf
from typing import cast

from aiohttp import web

from headwater_lab.zoo.compression import MEBIBYTE, brotli_bomb, gzip_bomb, stacked_bomb, zstd_bomb
from headwater_lab.zoo.documents import Handler, ZooDocument, ZooRequest, fixed, html, respond
from headwater_lab.zoo.sites import DOMAIN

_CHALLENGE = (
    '<!doctype html><html lang="en"><head><title>Just a moment...</title></head><body><h1>One moment, please</h1>'
    "<p>Checking your browser before you continue.</p>"
    "<noscript>Enable JavaScript to continue.</noscript><script>/* check */</script></body></html>"
)


def _status(status: int, *headers: tuple[str, str], body: str = "") -> Handler:
    body = body or f"<!doctype html><title>{status}</title><h1>{status}</h1><p>This feed always answers so.</p>"
    return fixed(ZooDocument(body.encode(), "text/html; charset=utf-8", headers=headers, status=status))


def _challenge(status: int) -> Handler:
    return _status(status, ("cf-mitigated", "challenge"), ("Server", "gatekeeper"), body=_CHALLENGE)


async def _busy_until(call: ZooRequest) -> web.StreamResponse:
    return web.Response(status=429, headers={"Retry-After": formatdate(call.now + 120, usegmt=True)}, text="Later.")


def _scheduled(works: float, fails: float, status: int, location: str = "") -> Handler:
    """It works, then fails, and so on; in seconds at tempo 1."""

    async def handler(call: ZooRequest) -> web.StreamResponse:
        age = call.age if fails == inf else call.age % (works + fails)
        if age < works:
            return call.serve("/steady.xml")
        return web.Response(status=status, headers={"Location": location} if location else {}, text="Not now.")

    return handler


STATUS_FAULTS: dict[str, Handler] = {
    "bad-request": _status(400),
    "unauthorized": _status(401, ("WWW-Authenticate", 'Basic realm="zoo"')),
    "forbidden": _status(403),
    "missing": _status(404),
    "gone": _status(410),
    "teapot": _status(418),
    "legal": _status(451),
    "busy-seconds": _status(429, ("Retry-After", "120")),
    "busy-until": _busy_until,
    "busy": _status(429),
    "broken": _status(500),
    "bad-gateway": _status(502),
    "resting": _status(503, ("Retry-After", "300")),
    "gateway-timeout": _status(504),
    "challenge": _challenge(403),
    "challenge-503": _challenge(503),
}

SCHEDULED_FAULTS: dict[str, Handler] = {
    "flicker": _scheduled(works=20, fails=10, status=503),
    "forgetful": _scheduled(works=30, fails=30, status=404),
    "farewell": _scheduled(works=45, fails=inf, status=410),
    "mover": _scheduled(works=45, fails=inf, status=301, location="/new-address.xml"),
}


def _to(status: int, location: str) -> Handler:
    """A redirect; `{port}` in the location is the zoo's own."""

    async def handler(call: ZooRequest) -> web.StreamResponse:
        headers = {"Location": location.format(port=call.port)} if location else {}
        return web.Response(status=status, headers=headers, text="See the Location header, if there is one.")

    return handler


def _chain(hops: int) -> dict[str, Handler]:
    """So many redirects from /feed.xml to /end.xml, permanent and temporary in turn."""
    stops = ["/feed.xml", *(f"/hop/{number}.xml" for number in range(1, hops)), "/end.xml"]
    return {here: _to(301 + number % 2, there) for number, (here, there) in enumerate(pairwise(stops))}


def _only(status: int, location: str) -> dict[str, Handler]:
    return {"/feed.xml": _to(status, location)}


REDIRECTS: dict[str, dict[str, Handler]] = {
    "moved": _only(301, "/current.xml"),
    "moved-308": _only(308, "/current.xml"),
    "merged": _only(301, f"http://daily.{DOMAIN}:{{port}}/feed.xml"),
    "visiting": _only(302, f"http://visiting.{DOMAIN}:{{port}}/today.xml"),
    "visiting-307": _only(307, "/today.xml"),
    "hops": _chain(4),
    "too-many-hops": _chain(6),
    "carousel": {"/feed.xml": _to(302, "/again.xml"), "/again.xml": _to(302, "/feed.xml")},
    "mirror": _only(301, "/feed.xml"),
    "signpost": _only(302, ""),
    "tunnel-metadata": _only(302, "http://169.254.169.254/latest/meta-data/"),
    "tunnel-private": _only(302, "http://10.0.0.1/feed.xml"),
    "tunnel-loopback": _only(302, "http://[::1]:1/feed.xml"),
    "tunnel-file": _only(302, "file:///etc/passwd"),
    "tunnel-ftp": _only(302, f"ftp://files.{DOMAIN}/feed.xml"),
}


_FEED_HEAD = b'<?xml version="1.0"?>\n<rss version="2.0"><channel><title>Never finished</title>'
_LINGER_ZERO = struct.pack("ii", 1, 0)  # makes close() send RST instead of FIN
_DRIP_EVERY = 0.5


class ConnectionCut(ConnectionError):
    """The connection was closed on purpose."""


async def silent(_: ZooRequest) -> web.StreamResponse:
    """Waits until the client or the server disconnects, which cancels this."""
    await asyncio.Event().wait()
    raise ConnectionCut


async def drip(call: ZooRequest) -> web.StreamResponse:
    response = await _begun(call)
    for byte in _FEED_HEAD:
        await response.write(bytes((byte,)))
        await asyncio.sleep(_DRIP_EVERY)
    while True:
        await response.write(b" ")
        await asyncio.sleep(_DRIP_EVERY)


async def slammed(call: ZooRequest) -> web.StreamResponse:
    raise _reset(call)


async def dropped(call: ZooRequest) -> web.StreamResponse:
    response = await _begun(call, length=100_000)
    await response.write(_FEED_HEAD)
    await asyncio.sleep(0.02)  # a reset overtakes what is still in the buffers: let the head arrive first
    raise _reset(call)


async def short(call: ZooRequest) -> web.StreamResponse:
    response = await _begun(call, length=100_000)
    await response.write(_FEED_HEAD)
    raise _closed(call)


async def mailman(call: ZooRequest) -> web.StreamResponse:
    _transport(call).write(b"220 mailman.zoo.test ready\r\n")
    raise _closed(call)


async def shouting(_: ZooRequest) -> web.StreamResponse:
    return web.Response(headers={f"X-Shout-{number}": "A" * 16_000 for number in range(200)})


async def _begun(
    call: ZooRequest, content_type: str = "application/rss+xml", length: int | None = None
) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": content_type})
    response.content_length = length
    await response.prepare(call.request)
    return response


def _reset(call: ZooRequest) -> ConnectionCut:
    transport = _transport(call)
    connection = cast("socket.socket", transport.get_extra_info("socket"))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
    transport.abort()
    return ConnectionCut("reset")


def _closed(call: ZooRequest) -> ConnectionCut:
    _transport(call).close()
    return ConnectionCut("closed")


def _transport(call: ZooRequest) -> asyncio.Transport:
    transport = call.request.transport
    if transport is None:
        raise ConnectionCut("the client has disconnected")
    return transport  # by its type only: uvloop's transports do not inherit from asyncio's


CONNECTION_FAULTS: dict[str, Handler] = {
    "silent": silent, "drip": drip, "slammed": slammed, "dropped": dropped, "short": short, "mailman": mailman,
    "shouting": shouting,
}  # fmt: skip


BIG = 50 * MEBIBYTE
_RSS_HEAD = b'<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"><channel><title>Too much</title>\n'
_HTML_HEAD = b"<!doctype html>\n<html lang=en><title>Too much</title><body>\n"
_RSS_ITEM = b"<item><title>One more</title><link>http://elephant.zoo.test/more</link></item>\n"
_PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
_PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"


def bomb(build: Callable[[], bytes], compression: str, content_type: str = "application/rss+xml") -> Handler:
    async def handler(_: ZooRequest) -> web.StreamResponse:
        body = await asyncio.to_thread(build)
        return web.Response(body=body, headers={"Content-Encoding": compression, "Content-Type": content_type})

    return handler


def big(head: bytes, piece: bytes, content_type: str, *, says_so: bool, total: int = BIG) -> Handler:
    """A body of `total` bytes: the head, then the piece over and over."""

    async def handler(call: ZooRequest) -> web.StreamResponse:
        response = await _begun(call, content_type, total if says_so else None)
        for chunk in _chunks(head, piece, total):
            await response.write(chunk)
        return response

    return handler


def _chunks(head: bytes, piece: bytes, total: int) -> Iterator[bytes]:
    yield head
    left, block = total - len(head), piece * (64 * 1024 // len(piece) + 1)
    yield from repeat(block, left // len(block))
    yield block[: left % len(block)]


def _lazily(build: Callable[[], bytes], content_type: str = "application/rss+xml") -> Handler:
    kept = cache(build)

    async def handler(call: ZooRequest) -> web.StreamResponse:
        return respond(call.request, ZooDocument(kept(), content_type))

    return handler


def _noise() -> bytes:
    return b'<?xml version="1.0"?>\n<rss ' + b"".join(blake2b(bytes((number,))).digest() for number in range(200))


def _zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("readme.txt", "This is an archive, whatever the label says.\n" * 50)
    return buffer.getvalue()


def _laughs() -> bytes:
    """The whole feed is in the entities: a parser that ignores them finds no channel."""
    levels = [f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10)]
    doctype = f'<!DOCTYPE rss [<!ENTITY l0 "ha">{"".join(levels)}]>'
    return f'<?xml version="1.0"?>\n{doctype}\n<rss version="2.0">&l9;</rss>'.encode()


def _abyss() -> bytes:
    depth = 100_000
    inside = "<channel><title>At the bottom</title></channel>"
    return f'<rss version="2.0">{"<x>" * depth}{inside}{"</x>" * depth}</rss>'.encode()


def _attributes() -> bytes:
    attributes = " ".join(f'a{number}="{number}"' for number in range(60_000))
    return f"<!doctype html><title>Many</title><p {attributes}>Hello</p>".encode()


def _text(text: str, content_type: str) -> Handler:
    return fixed(ZooDocument(text.encode(), content_type))


_LOGIN = "<!doctype html><html><head><title>Log in</title></head><body><form><input name=user></form></body></html>"
_DRAWING = '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"><circle r="9"/></svg>'

BODY_FAULTS: dict[str, Handler] = {
    "picture": fixed(ZooDocument(_PNG, "image/png")),
    "leaflet": fixed(ZooDocument(_PDF, "application/pdf")),
    "parcel": _lazily(_zip),
    "login": _text(_LOGIN, "application/rss+xml"),
    "prose": _text("Dear reader,\n\nthere is no feed here, only text.\n", "text/plain; charset=utf-8"),
    "api": _text('{"status": "ok", "data": [1, 2, 3]}', "application/json"),
    "drawing": _text(_DRAWING, "application/xml"),
    "noise": _lazily(_noise),
    "empty": _text("", "application/rss+xml"),
    "blank": _text("\n   \n\t\n", "application/rss+xml"),
    "laughs": _lazily(_laughs),
    "abyss": _lazily(_abyss),
    "elephant": big(_RSS_HEAD, _RSS_ITEM, "application/rss+xml", says_so=True),
    "whale": big(_RSS_HEAD, _RSS_ITEM, "application/rss+xml", says_so=False),
    "bomb-gzip": bomb(gzip_bomb, "gzip"),
    "bomb-brotli": bomb(brotli_bomb, "br"),
    "bomb-zstd": bomb(zstd_bomb, "zstd"),
    "bomb-stacked": bomb(stacked_bomb, "gzip, gzip"),
}

DEN: dict[str, Handler] = {
    "/huge.html": big(
        _HTML_HEAD, b"<p>And another paragraph, much like the last one.</p>\n", "text/html", says_so=False
    ),
    "/nested.html": big(_HTML_HEAD, b"<div>", "text/html", says_so=True, total=5_000_000 + len(_HTML_HEAD)),
    "/attributes.html": _lazily(_attributes, "text/html"),
    "/bomb.html": bomb(gzip_bomb, "gzip", "text/html"),
    "/archive.html": _lazily(_zip, "text/html; charset=utf-8"),
    "/leaflet.html": fixed(ZooDocument(_PDF, "text/html; charset=utf-8")),
}


ANY_PATH = "*"


async def lobby(call: ZooRequest) -> web.StreamResponse:
    return call.serve("/")


async def labyrinth(call: ZooRequest) -> web.StreamResponse:
    """Every page exists, and links to deeper pages."""
    here = escape(call.path.rstrip("/"))
    doors = "".join(f'<li><a href="{here}/{door}">{door} door</a></li>' for door in ("left", "middle", "right"))
    return respond(call.request, html(f"<!doctype html><title>Labyrinth</title><h1>A room</h1><ul>{doors}</ul>"))


_FEED_FAULTS: dict[str, Handler] = STATUS_FAULTS | SCHEDULED_FAULTS | CONNECTION_FAULTS | BODY_FAULTS | {"lobby": lobby}

_BY_NAME: dict[str, dict[str, Handler]] = {
    **{name: {"/feed.xml": handler} for name, handler in _FEED_FAULTS.items()},
    **REDIRECTS,
    "den": DEN | {"/drip.html": drip},
    "labyrinth": {ANY_PATH: labyrinth},
}

FAULTS = {f"{name}.{DOMAIN}": paths for name, paths in _BY_NAME.items()}
