"""Links: a text and the page it is on become an absolute http(s) URL, or None. Pure.

`link_target` normalises, for URLs that are queued; `absolute` keeps a URL as it was written, for what is shown.
"""

import re
from functools import lru_cache

import can_ada

from headwater.errors import InvalidUrl
from headwater.reading.html_rules import SCHEMES
from headwater.reading.limits import MAX_BASE, MAX_LINK
from headwater.urls import parse_url

WEB = ("https://", "http://")
"""The start of a URL that needs no base."""

_WHOLE = re.compile(r"https?://[^/?#\s][^\t\r\n]*+\Z")
_WEB = re.compile(r"(https?):[/\\]{2,}", re.IGNORECASE)
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_PROGRAMS = SCHEMES - {"http", "https"}
_NEXT_IN_SET = re.compile(r",(?=\s|https?:|/)")
_REFERENCE = re.compile(r"&(\w+);")
_BREAKS = re.compile(r"[\t\r\n]+\s*")


def link_target(href: str | None, base: str) -> str | None:
    """The normalised URL that a link on a page at `base` leads to; None where that is not followed."""
    try:
        # Once more, since it grows when it is encoded, perhaps past the longest that is followed.
        return parse_url(parse_url(href, base=base or None)) if href and href.strip() else None
    except InvalidUrl:
        return None


def absolute(text: str | None, base: str) -> str | None:
    """The http(s) URL meant by `text` on a page at `base`. One that is absolute already is kept as it was written."""
    return (whole(text) or _lenient(text, base)) if text else None


def whole(text: str) -> str | None:
    """The text, trimmed, where it is a URL that needs no base."""
    text = text.strip()
    return text if _WHOLE.match(text) and len(text) <= MAX_LINK else None


def _lenient(text: str, base: str) -> str | None:
    text = _BREAKS.sub("", text.strip())
    if not text or len(text) > MAX_LINK:
        return None
    if web := _WEB.match(text):
        # Browsers accept "http:////example.com".
        host_and_path = text[web.end() :]
        return f"{web[1].lower()}://{host_and_path}" if host_and_path[:1] not in {"", "?", "#"} else None
    if _SCHEME.match(text) and not text.lower().startswith(("http:", "https:")):
        return None
    try:
        joined = can_ada.parse(base) + text
    except ValueError:
        return None
    return joined.href if joined.protocol in {"http:", "https:"} else None


def unescape_query(text: str) -> str:
    """A URL whose query was escaped twice: `?a=1&amp;b=2`, or `?a=1&b;=2` after a wrong repair."""
    if "&" not in text:
        return text
    return _REFERENCE.sub(r"&\1", text.replace("&amp;", "&"))


def kept_link(text: str, base: str) -> str | None:
    """A link inside a text: absolute, or of a scheme that opens a program (`mailto:`). None for anything else."""
    text = text.strip()
    scheme, colon, _ = text.partition(":")
    return text if colon and scheme.lower() in _PROGRAMS else absolute(text, base)


def resolved(name: str, value: str, base: str) -> str | None:
    """The URL of an attribute, its references decoded, on a page at `base`; None where it is not kept. Only `href` may
    open a program: pictures and citations are http(s)."""
    if name == "srcset":
        return link_set(value, base) or None
    return kept_link(value, base) if name == "href" else absolute(value, base)


def link_set(text: str, base: str) -> str:
    """A srcset with every candidate absolute; invalid ones are left out."""
    found: list[str] = []
    for candidate in _NEXT_IN_SET.split(text)[:64]:
        url, *descriptor = candidate.split()[:2] or [""]
        if target := absolute(url.strip(","), base):
            found.append(" ".join([target, *descriptor]))
    return ", ".join(found)


@lru_cache(maxsize=256)
def rebase(base: str, given: str | None) -> str:
    """The base that an xml:base gives to the elements below it; one that is invalid or too long changes nothing."""
    found = absolute(given, base)
    return found if found and len(found) <= MAX_BASE else base
