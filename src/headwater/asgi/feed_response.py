"""Responses for programs that poll a feed of ours: with validators, and 304 where nothing changed."""

import hashlib
from datetime import timedelta

from litestar import Response

from headwater.asgi.handlers import AnyRequest

MAX_AGE = timedelta(minutes=5)


def respond_with_feed(
    request: AnyRequest, body: bytes, *, media_type: str, max_age: timedelta = MAX_AGE
) -> Response[bytes]:
    """The feed, or 304 if the client has it.

    By its tag only. No time says when a feed changed: an article that is classified late is older than others that the
    client has.
    """
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {
        "ETag": tag, "Cache-Control": f"private, max-age={round(max_age.total_seconds())}",
        "X-Robots-Tag": "noindex, nofollow",
    }  # fmt: skip
    if _has(request, tag):
        return Response(b"", status_code=304, headers=headers, media_type=media_type)
    return Response(body, headers=headers, media_type=media_type)


def _has(request: AnyRequest, tag: str) -> bool:
    tags = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
    return "*" in tags or tag in tags
