"""Static files: read and compressed once, and cached by browsers for ever under a URL that has their hash."""

import gzip
import hashlib
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from litestar import Request, Response, get
from litestar.exceptions import NotFoundException

from headwater.asgi.compression import accepted_encoding, compress_brotli

_FOLDER = Path(__file__).parent / "static"
# From its package: no copy in this repository, no request to a CDN.
_HTMX = files("django_htmx") / "static" / "django_htmx" / "htmx-2.min.js"
FOR_EVER = "public, max-age=31536000, immutable"
ASK_AGAIN = "public, no-cache"
# In order of preference.
_ENCODINGS = {"br": partial(compress_brotli, quality=9), "gzip": partial(gzip.compress, mtime=0)}


@dataclass(frozen=True, slots=True)
class Asset:
    """One static file."""

    media_type: str
    version: str  # of its content
    encoded: Mapping[str, bytes]  # by Content-Encoding; "" is the file itself


@cache
def _assets() -> Mapping[str, Asset]:
    found = {f"/static/{path.relative_to(_FOLDER).as_posix()}": path for path in _FOLDER.rglob("*") if path.is_file()}
    read = {url: _read(url, path.read_bytes()) for url, path in found.items()}
    return read | {"/vendor/htmx.min.js": _read("htmx.min.js", _HTMX.read_bytes())}


def _read(name: str, content: bytes) -> Asset:
    media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    smaller = {encoding: compressed(content) for encoding, compressed in _ENCODINGS.items()}
    encoded = {encoding: some for encoding, some in smaller.items() if len(some) < len(content)}
    return Asset(media_type, hashlib.sha256(content).hexdigest()[:16], encoded | {"": content})


def asset_url(url: str) -> str:
    """The URL of a static file that changes with its content; raises KeyError for an unknown file."""
    return f"{url}?v={_assets()[url].version}"


@get(["/static/{file_path:path}", "/vendor/{file_path:path}"], sync_to_thread=False, include_in_schema=False)
def send_asset(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Send a file compressed, or 304."""
    asset = _assets().get(request.url.path)
    if asset is None:
        raise NotFoundException
    encoding = accepted_encoding(request.headers.get("accept-encoding", ""), asset.encoded)
    headers = {
        "Cache-Control": FOR_EVER if request.query_params.get("v") == asset.version else ASK_AGAIN,
        "ETag": f'"{asset.version}{encoding and "-" + encoding}"',
        "Vary": "Accept-Encoding",
    }
    if encoding:
        headers["Content-Encoding"] = encoding
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(b"", status_code=304, headers=headers, media_type=asset.media_type)
    return Response(asset.encoded[encoding], headers=headers, media_type=asset.media_type)
