"""Cages whose body is the trouble: not a feed, not readable, far too large, or a bomb once unpacked.

In: a Call. Out: the response. Bombs are built in a thread; big bodies are streamed and never held whole.
"""

import asyncio
import io
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import blake2b
from itertools import repeat

from aiohttp import web

from headwater.lab.zoo.calls import Call, Keeper, fixed
from headwater.lab.zoo.documents import Document
from headwater.lab.zoo.packing import MEBIBYTE, brotli_bomb, gzip_bomb, stacked_bomb, zstd_bomb

BIG = 50 * MEBIBYTE
_RSS_HEAD = b'<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"><channel><title>Too much</title>\n'
_HTML_HEAD = b"<!doctype html>\n<html lang=en><title>Too much</title><body>\n"
_RSS_ITEM = b"<item><title>One more</title><link>http://elephant.zoo.test/more</link></item>\n"
_PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
_PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"


def bomb(build: Callable[[], bytes], packing: str, content_type: str = "application/rss+xml") -> Keeper:
    async def keeper(_: Call) -> web.StreamResponse:
        body = await asyncio.to_thread(build)
        return web.Response(body=body, headers={"Content-Encoding": packing, "Content-Type": content_type})

    return keeper


def big(head: bytes, piece: bytes, content_type: str, *, says_so: bool, total: int = BIG) -> Keeper:
    """A body of `total` bytes: the head, then the piece over and over."""

    async def keeper(call: Call) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": content_type})
        response.content_length = total if says_so else None
        await response.prepare(call.request)
        for chunk in _chunks(head, piece, total):
            await response.write(chunk)
        return response

    return keeper


def _chunks(head: bytes, piece: bytes, total: int) -> Iterator[bytes]:
    yield head
    left, block = total - len(head), piece * (64 * 1024 // len(piece) + 1)
    yield from repeat(block, left // len(block))
    yield block[: left % len(block)]


def _lazily(build: Callable[[], Document]) -> Keeper:
    kept = cache(build)

    async def keeper(call: Call) -> web.StreamResponse:
        return await fixed(kept())(call)

    return keeper


def _noise() -> Document:
    noise = b"".join(blake2b(bytes((number,))).digest() for number in range(200))
    return Document(b'<?xml version="1.0"?>\n<rss ' + noise, "application/rss+xml")


def _zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("readme.txt", "This is an archive, whatever the label says.\n" * 50)
    return buffer.getvalue()


def _laughs() -> Document:
    """All of the feed hides in the entities: who leaves them alone finds no channel."""
    levels = [f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10)]
    doctype = f'<!DOCTYPE rss [<!ENTITY l0 "ha">{"".join(levels)}]>'
    return Document(f'<?xml version="1.0"?>\n{doctype}\n<rss version="2.0">&l9;</rss>'.encode(), "application/rss+xml")


def _abyss() -> Document:
    depth = 100_000
    inside = "<channel><title>At the bottom</title></channel>"
    return Document(f'<rss version="2.0">{"<x>" * depth}{inside}{"</x>" * depth}</rss>'.encode(), "application/rss+xml")


def _attributes() -> Document:
    attributes = " ".join(f'a{number}="{number}"' for number in range(60_000))
    return Document(f"<!doctype html><title>Many</title><p {attributes}>Hello</p>".encode(), "text/html")


def _text(text: str, content_type: str) -> Keeper:
    return fixed(Document(text.encode(), content_type))


_LOGIN = "<!doctype html><html><head><title>Log in</title></head><body><form><input name=user></form></body></html>"
_DRAWING = '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"><circle r="9"/></svg>'

BODY_CAGES: dict[str, Keeper] = {
    "picture": fixed(Document(_PNG, "image/png")),
    "leaflet": fixed(Document(_PDF, "application/pdf")),
    "parcel": _lazily(lambda: Document(_zip(), "application/rss+xml")),
    "login": _text(_LOGIN, "application/rss+xml"),
    "prose": _text("Dear reader,\n\nthere is no feed here, only a letter.\n", "text/plain; charset=utf-8"),
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

DEN: dict[str, Keeper] = {
    "/huge.html": big(
        _HTML_HEAD, b"<p>And another paragraph, much like the last one.</p>\n", "text/html", says_so=False
    ),
    "/nested.html": big(_HTML_HEAD, b"<div>", "text/html", says_so=True, total=5_000_000 + len(_HTML_HEAD)),
    "/attributes.html": _lazily(_attributes),
    "/bomb.html": bomb(gzip_bomb, "gzip", "text/html"),
    "/archive.html": _lazily(lambda: Document(_zip(), "text/html; charset=utf-8")),
    "/leaflet.html": fixed(Document(_PDF, "text/html; charset=utf-8")),
}
