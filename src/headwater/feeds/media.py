"""The enclosures and the picture of an entry."""

import re
from dataclasses import astuple
from datetime import timedelta

from headwater.feeds.document import FeedDocument, Fields, each, first_text
from headwater.feeds.namespaces import Element
from headwater.feeds.text_constructs import plain
from headwater.feeds.types import Enclosure

MAX_ENCLOSURES = 64
MAX_DIGITS = 15

_CLOCK = re.compile(r"(?:(?:(\d{1,3}):)?(\d{1,3}):)?(\d{1,6})(?:\.\d{1,6})?")
_PICTURE = re.compile(r"\.(?:jpe?g|png|gif|webp|avif|svg|bmp)(?:[?#]|$)", re.IGNORECASE)
_OTHER_FORM = "podcast:alternateenclosure"
FILES = frozenset({"enclosure", "media:content", _OTHER_FORM})
_MARKED = ("itunes:image", "itunes:link", "media:thumbnail", "googleplay:image")
PICTURES = frozenset({*_MARKED, "media:content", "enclosure", "image", "logo", "icon"})


def enclosures(document: FeedDocument, fields: Fields, links: list[Element]) -> tuple[Enclosure, ...]:
    """The files of an entry, each URL once, its fields from the first element that has them."""
    files = [
        *fields.get("enclosure", ()),
        *[link for link in links if (link.get("rel") or "").strip().lower() == "enclosure"],
        *[file for file in fields.get("media:content", ()) if not (_is_picture(file) or _is_flash(file))],
        *fields.get(_OTHER_FORM, ()),
    ]
    if not files:
        return ()
    spoken = duration(first_text(fields, "itunes:duration"))
    found: dict[str, Enclosure] = {}
    for file in files[:MAX_ENCLOSURES]:
        url = _file(document, file)
        if url is None:
            continue
        named = Enclosure(
            url=url,
            type=(file.get("type") or "").strip().lower() or None,
            length=whole(file.get("length") or file.get("fileSize")),
            duration=duration(file.get("duration")) or spoken,
            title=(file.get("title") or "").strip() or None,
        )
        known = found.get(url)
        pairs = zip(astuple(known), astuple(named), strict=True) if known else ()
        found[url] = Enclosure(*(first or later for first, later in pairs)) if known else named
    return tuple(found.values())


def _file(document: FeedDocument, element: Element) -> str | None:
    """The URL of a file; of a podcast's alternateEnclosure, which may list torrents, the first source of its type."""
    address = _address(element)
    if address or not len(element):
        return document.link(element, address or plain(element))
    for source in document.fields(element).get("podcast:source", ()):
        is_file = source.get("contentType") in {None, element.get("type")}
        if is_file and (url := document.link(source, _address(source))):
            return url
    return document.link(element, plain(element))


def _address(element: Element) -> str | None:
    return element.get("url") or element.get("href") or element.get("uri")


def picture(document: FeedDocument, fields: Fields) -> str | None:
    for element in each(fields, *_MARKED):
        if url := document.link(element, _address(element)):
            return url
    for element in each(fields, "media:content", "enclosure"):
        if _is_picture(element) and (url := document.link(element, _address(element))):
            return url
    for element in each(fields, "image", "logo", "icon"):
        inside = first_text(document.fields(element), "url", "href") if len(element) else None
        if url := document.link(element, inside if len(element) else _address(element) or plain(element)):
            return url
    return None


def _is_picture(element: Element) -> bool:
    if kind := element.get("medium") or element.get("type"):
        return kind.lower().startswith("image")
    return _PICTURE.search(_address(element) or "") is not None


def _is_flash(element: Element) -> bool:
    """Whether it is a Flash player, which is not a file of the entry."""
    return "shockwave" in (element.get("type") or "")


def duration(text: str | None) -> timedelta | None:
    """`1:02:03`, `62:03` or `3723` as a duration."""
    found = _CLOCK.fullmatch(text.strip()) if text else None
    if not found:
        return None
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return timedelta(hours=hours, minutes=minutes, seconds=seconds) or None


def whole(text: str | None) -> int | None:
    """A whole number, as of bytes, comments or minutes; None where it is not one, or too large."""
    text = text.strip() if text else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS else None
