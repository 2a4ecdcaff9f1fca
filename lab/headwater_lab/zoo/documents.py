"""A document and how it is served: in full, or as 304 (RFC 9110, section 13); the request and the type of a handler."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC
from email.utils import formatdate, parsedate_to_datetime
from typing import TypeAlias

from aiohttp import web
from multidict import CIMultiDict

_TAG = re.compile(r'(?:W/)?("[^"]*")')


@dataclass(frozen=True, slots=True)
class ZooDocument:
    """Bytes with their label, which may be empty."""

    body: bytes
    content_type: str
    etag: str | None = None
    last_modified_at: float | None = None
    headers: tuple[tuple[str, str], ...] = ()
    status: int = 200


def html(text: str, status: int = 200) -> ZooDocument:
    return ZooDocument(text.encode(), "text/html; charset=utf-8", status=status)


def respond(request: web.BaseRequest, document: ZooDocument) -> web.Response:
    headers = CIMultiDict(document.headers)
    if document.etag is not None:
        headers["ETag"] = document.etag
    if document.last_modified_at is not None:
        headers["Last-Modified"] = formatdate(document.last_modified_at, usegmt=True)
    if is_not_modified(document, request.headers.get("If-None-Match"), request.headers.get("If-Modified-Since")):
        headers.pop("Content-Encoding", None)
        return web.Response(status=304, headers=headers)
    headers["Content-Type"] = document.content_type
    return web.Response(status=document.status, body=document.body, headers=headers)


def is_not_modified(document: ZooDocument, if_none_match: str | None, if_modified_since: str | None) -> bool:
    """If-None-Match, compared weakly, wins over If-Modified-Since."""
    if if_none_match is not None and document.etag is not None:
        opaque = document.etag.removeprefix("W/")
        return if_none_match.strip() == "*" or opaque in _TAG.findall(if_none_match)
    if if_none_match is not None or if_modified_since is None or document.last_modified_at is None:
        return False
    return int(document.last_modified_at) <= _moment(if_modified_since)


def _moment(http_date: str) -> float:
    """Seconds since 1970; an invalid date is before all others."""
    try:
        return parsedate_to_datetime(http_date).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return float("-inf")


@dataclass(frozen=True, slots=True)
class ZooRequest:
    """One request: `now` is the zoo's clock, `age` the seconds since opening, stretched by the tempo."""

    request: web.BaseRequest
    host: str
    path: str
    now: float
    age: float
    port: int
    serve: Callable[[str], web.Response]  # what the host's site has at a path


Handler: TypeAlias = Callable[[ZooRequest], Awaitable[web.StreamResponse]]


def fixed(document: ZooDocument) -> Handler:
    async def handler(call: ZooRequest) -> web.StreamResponse:
        return respond(call.request, document)

    return handler
