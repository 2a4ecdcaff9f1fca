"""Compression of responses, by what the client accepts.

Pages hold a CSRF token beside text that a link can choose, such as a search: the token is masked anew in every response
(`asgi/csrf.py`), so that the length of the compressed page reveals nothing of it (BREACH).
"""

import gzip
from collections.abc import Callable, Iterable
from typing import cast

import brotli
from litestar.datastructures import Headers, MutableScopeHeaders
from litestar.types import ASGIApp, HTTPResponseStartEvent, Message, Receive, Scope, Send

SMALLEST = 1_000  # bytes; less fits one packet anyway
BROTLI_QUALITY = 4  # 1 ms for the 90 kB of a list; the next step takes twice as long for 4 % less
# brotli ships without types.
compress_brotli = cast("Callable[..., bytes]", brotli.compress)  # pyright: ignore[reportUnknownMemberType]


def accepted_encoding(header: str, offered: Iterable[str]) -> str:
    """The first of `offered` that Accept-Encoding allows; "" for none."""
    wishes = (one.partition(";") for one in header.replace(" ", "").lower().split(","))
    accepted = {name for name, _, weight in wishes if weight not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}}
    return next((one for one in offered if one in accepted), "")


def _compress(encoding: str, body: bytes) -> bytes:
    return compress_brotli(body, quality=BROTLI_QUALITY) if encoding == "br" else gzip.compress(body, 5, mtime=0)


def compress_pages(app: ASGIApp) -> ASGIApp:
    """Middleware that compresses HTML that is sent in one piece."""

    async def compressing(scope: Scope, receive: Receive, send: Send) -> None:
        encoding = accepted_encoding(Headers.from_scope(scope).get("accept-encoding", ""), ("br", "gzip"))
        held: list[HTTPResponseStartEvent] = []

        async def send_compressed(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_html(message):
                MutableScopeHeaders.from_message(message).add("vary", "Accept-Encoding")
                held.append(message)
                return
            if held and message["type"] == "http.response.body":
                start = held.pop()
                if encoding and not message.get("more_body") and len(message["body"]) >= SMALLEST:
                    message["body"] = _compress(encoding, message["body"])
                    headers = MutableScopeHeaders.from_message(start)
                    headers["content-encoding"] = encoding
                    headers["content-length"] = str(len(message["body"]))
                await send(start)
            await send(message)

        await app(scope, receive, send_compressed)

    return compressing


def _is_html(start: HTTPResponseStartEvent) -> bool:
    headers = dict(start["headers"])
    return headers.get(b"content-type", b"").startswith(b"text/html") and b"content-encoding" not in headers
