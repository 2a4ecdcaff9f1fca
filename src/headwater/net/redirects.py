"""Where a response leads: the target of a redirect as a browser reads it. Pure."""

import re

import can_ada

from headwater.errors import InvalidUrl
from headwater.net.types import FetchError, FetchFailure, Response
from headwater.urls import MAX_LENGTH, masked, parse_url

REDIRECTS = frozenset({301, 302, 303, 307, 308})
QUOTED = 200
_LOOSE_BYTES = re.compile("[\udc80-\udcff]")  # bytes of a header that are not UTF-8 come as lone surrogates


def redirect_of(response: Response) -> str | None:
    """The target of a redirect; None if it is not one. Raises FetchError."""
    if response.status not in REDIRECTS or "Location" not in response.headers:
        return None
    return _target(response.url, _escaped(response.headers["Location"]))


def _target(url: str, location: str) -> str:
    try:
        return parse_url(location, base=url)
    except InvalidUrl as error:
        kind = FetchFailure.BLOCKED if _can_be_read(location, url) else FetchFailure.REDIRECT_LOOP
        shown = masked(location) if "//" in location else location.partition("?")[0]
        raise FetchError(url, kind, f"it redirects to {shown[:QUOTED]!r}: {error.reason}") from error


def _escaped(location: str) -> str:
    """Loose bytes percent-encoded one by one, as browsers do: `/caf\\xe9` is asked for as `/caf%E9`."""
    return _LOOSE_BYTES.sub(lambda byte: f"%{ord(byte[0]) - 0xDC00:02X}", location)


def _can_be_read(location: str, base: str) -> bool:
    """Whether it is a URL, though not one to follow. What is none leads nowhere: a mistake, and no way inside."""
    location = location.strip()
    return len(location) <= MAX_LENGTH and can_ada.can_parse(location, base)
