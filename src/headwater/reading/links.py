"""Links: a text and the page it is on become an absolute http(s) URL, or None. Pure.

`link_target` normalises, for URLs that are queued; `absolute` keeps a URL as it was written, for what is shown.
"""

import re
from functools import lru_cache

import can_ada

from headwater.errors import InvalidUrl
from headwater.reading.html_rules import SCHEMES
from headwater.urls import parse_url

MAX_LENGTH = 8192
MAX_BASE = 1024  # each short link below it becomes as long
WEB = ("https://", "http://")
"""How a URL begins that needs no base."""

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
    return (whole(text) or _unusual(text, base)) if text else None


def whole(text: str) -> str | None:
    """The text, trimmed, where it is a URL that needs no base."""
    text = text.strip()
    return text if _WHOLE.match(text) and len(text) <= MAX_LENGTH else None


def _unusual(text: str, base: str) -> str | None:
    text = _BREAKS.sub("", text.strip())
    if not text or len(text) > MAX_LENGTH:
        return None
    if web := _WEB.match(text):
        # "http:////example.com" is a slip that browsers forgive.
        host_and_path = text[web.end() :]
        return f"{web[1].lower()}://{host_and_path}" if host_and_path[:1] not in {"", "?", "#"} else None
    if _SCHEME.match(text) and not text.lower().startswith(("http:", "https:")):
        return None
    return _joined(text, base)


def _joined(text: str, base: str) -> str | None:
    try:
        joined = can_ada.parse(base) + text
    except ValueError:
        return None
    return joined.href if joined.protocol in {"http:", "https:"} else None


def unreferenced(text: str) -> str:
    """A URL whose query was escaped once too often: `?a=1&amp;b=2` or, half mended by something else, `?a=1&b;=2`."""
    if "&" not in text:
        return text
    return _REFERENCE.sub(r"&\1", text.replace("&amp;", "&"))


def kept_link(text: str, base: str) -> str | None:
    """A link inside prose: absolute, or one that opens a program a reader expects. None for anything else."""
    text = text.strip()
    scheme, colon, _ = text.partition(":")
    return text if colon and scheme.lower() in _PROGRAMS else absolute(text, base)


def resolved(name: str, value: str, base: str) -> str | None:
    """Where the attribute of this name leads on a page at `base`, its references read; None for nowhere. Only a link
    that is followed may open a program: what is shown comes from the web."""
    if name == "srcset":
        return link_set(value, base) or None
    return kept_link(value, base) if name == "href" else absolute(value, base)


def link_set(text: str, base: str) -> str:
    """A srcset with every candidate absolute; those that lead nowhere are left out."""
    found: list[str] = []
    for candidate in _NEXT_IN_SET.split(text)[:64]:
        url, *descriptor = candidate.split()[:2] or [""]
        if target := absolute(url.strip(","), base):
            found.append(" ".join([target, *descriptor]))
    return ", ".join(found)


@lru_cache(maxsize=256)
def rebased(base: str, given: str | None) -> str:
    """The base that an xml:base gives to what stands below it; one that leads nowhere, or too far, changes nothing."""
    found = absolute(given, base)
    return found if found and len(found) <= MAX_BASE else base
