"""The icons that a page declares, the best first. Runs in the sandbox. Pure."""

import re
from collections.abc import Iterator

from headwater.images.types import ICON_SIDE, URL_MAX
from headwater.reading.decode import decode
from headwater.reading.limits import MAX_PAGE_BYTES
from headwater.reading.links import link_target
from headwater.reading.tags import attributes_of, tags

MOST = 3
_SIZE = re.compile(r"(\d{1,4})x(\d{1,4})", re.IGNORECASE)
_KINDS = {"icon": 0, "apple-touch-icon": 180, "apple-touch-icon-precomposed": 180}  # its size where none is given


def page_icons(body: bytes, *, url: str, content_type: str | None) -> list[str]:
    """URLs of icons, at most three: first those that are large enough, the smallest of them first."""
    found = dict(_icons(decode(body[:MAX_PAGE_BYTES], content_type, html=True), url))
    return sorted(found, key=lambda link: _rank(found[link]))[:MOST]


def _icons(text: str, url: str) -> Iterator[tuple[str, int]]:
    base = url
    for name, raw, _ in tags(text):
        if name == "body":
            return
        if name not in {"link", "base"}:
            continue
        given = attributes_of(raw)
        href = given.get("href") or ""
        if name == "base":
            base = link_target(href, url) or url
            continue
        sizes = [_KINDS[word] for word in given.get("rel", "").lower().split() if word in _KINDS]
        is_drawing = "svg" in given.get("type", "").lower() or re.search(r"\.svgz?(?:[?#]|$)", href, re.IGNORECASE)
        if sizes and not is_drawing and (link := link_target(href, base)) and len(link) <= URL_MAX:
            yield link, _largest(given.get("sizes", "")) or sizes[0]


def _largest(sizes: str) -> int:
    return max((min(int(width), int(height)) for width, height in _SIZE.findall(sizes)), default=0)


def _rank(size: int) -> tuple[bool, int]:
    return (False, size) if size >= ICON_SIDE else (True, -size)
