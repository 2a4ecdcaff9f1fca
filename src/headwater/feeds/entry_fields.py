"""The authors, categories, location, enclosures and picture of an entry or a feed."""

import math
import re
from dataclasses import astuple
from datetime import timedelta
from functools import lru_cache

from headwater.feeds.document import FeedDocument, Fields, each, first_text
from headwater.feeds.namespaces import Element
from headwater.feeds.text_constructs import fold_spaces, plain
from headwater.feeds.types import Enclosure, GeoPoint

MAX_AUTHORS = 32
MAX_NAME = 300
MAX_CATEGORIES = 100
MAX_CATEGORY = 200
MAX_ENCLOSURES = 64
MAX_DIGITS = 15

_WRITERS = ("author", "dc:creator", "dc:author")
_SHOWS = ("itunes:author", "managingeditor")
_PERSON = "podcast:person"
# A podcast's other people are its guests and its crew.
_HOSTS = frozenset({"author", "co-host", "guest host", "host", "writer"})
_SINGLE = frozenset({"category", "dc:subject", "media:category", "keywords", "itunes:category"})
_LISTS = frozenset({"itunes:keywords", "media:keywords", "tags"})
_OTHER_FORM = "podcast:alternateenclosure"
_PICTURES = ("itunes:image", "itunes:link", "media:thumbnail", "googleplay:image")
# The words of authors, categories, enclosures, picture and place.
FIELD_WORDS = (
    frozenset({*_WRITERS, *_SHOWS, _PERSON}),
    _SINGLE | _LISTS,
    frozenset({"enclosure", "media:content", _OTHER_FORM}),
    frozenset({*_PICTURES, "media:content", "enclosure", "image", "logo", "icon"}),
    frozenset({"georss:point", "georss:where", "geo:point", "geo:lat", "gml:point", "where"}),
)
# GML coordinates may be metres of some grid; in these systems, and without a name, they are degrees, latitude first.
_IN_DEGREES = ("4326", "wgs84", "wgs 84")
_ADDRESS = re.compile(r"(?:mailto:)?[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}(?:\?subject=\S+)?")
_EMPTY = re.compile(r"\(\s*\)|<\s*>|\[\s*\]|&lt;\s*&gt;")
_CLOCK = re.compile(r"(?:(?:(\d{1,3}):)?(\d{1,3}):)?(\d{1,6})(?:\.\d{1,6})?")
_PICTURE = re.compile(r"\.(?:jpe?g|png|gif|webp|avif|svg|bmp)(?:[?#]|$)", re.IGNORECASE)


def authors(document: FeedDocument, fields: Fields) -> tuple[str, ...]:
    for words in (_WRITERS, _SHOWS, (_PERSON,)):
        people = each(fields, *words)
        if words == (_PERSON,):
            people = [person for person in people if (person.get("role") or "host").strip().lower() in _HOSTS]
        if names := [name for element in people for name in _names(document, element)]:
            return tuple(dict.fromkeys(names))[:MAX_AUTHORS]
    return ()


def _names(document: FeedDocument, element: Element) -> list[str]:
    parts = document.fields(element) if len(element) else {}
    for word in ("name", "itunes:name", "email", "itunes:email", "uri", "url"):
        if names := [name for part in parts.get(word, ()) if (name := name_in(plain(part)[:MAX_NAME]))]:
            return names
    name = name_in(plain(element)[:MAX_NAME])
    return [name] if name else []


@lru_cache(maxsize=256)  # a feed has few authors
def name_in(text: str) -> str:
    """The name in `ann@example.com (Ann)` or `Ann <ann@example.com>`; the address where there is no name."""
    text = " ".join(text.split())
    if "@" not in text:
        return text
    rest = _EMPTY.sub("", _ADDRESS.sub("", text)).strip()
    if rest.startswith("(") and rest.endswith(")"):
        rest = rest[1:-1]
    return rest.strip(" ,;\"'") or text


def categories(fields: Fields) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for word in fields:
        if word in _SINGLE:
            for element in fields[word]:
                _add(found, element.get("term") or plain(element) or element.get("text") or element.get("label"))
                for inner in element if len(element) else ():
                    _add(found, inner.get("text"))
        elif word in _LISTS:
            for element in fields[word]:
                for term in plain(element).split(","):
                    _add(found, term)
    return tuple(found)


def _add(found: dict[str, None], term: str | None) -> None:
    term = fold_spaces(term) if term else ""
    if term and len(term) <= MAX_CATEGORY and len(found) < MAX_CATEGORIES:
        found[term] = None


def place(document: FeedDocument, fields: Fields) -> GeoPoint | None:
    """The point of an entry; lines and areas are ignored."""
    if point := first_text(fields, "georss:point"):
        return _place(point)
    if latitude := first_text(fields, "geo:lat"):
        return _place(f"{latitude} {first_text(fields, 'geo:long', 'geo:lon')}")
    for word in ("georss:where", "where", "geo:point", "gml:point"):
        for element in fields.get(word, ()):
            return _place_inside(document, element)
    return None


def _place_inside(document: FeedDocument, element: Element) -> GeoPoint | None:
    parts = {document.word(node): plain(node) for node in element.iter("*") if not len(node)}
    if "geo:lat" in parts:
        return _place(f"{parts['geo:lat']} {parts.get('geo:long', '')}")
    system = next((name.lower() for node in element.iter("*") if (name := node.get("srsName"))), "")
    if system and not any(known in system for known in _IN_DEGREES):
        return None
    return _place(parts.get("gml:pos", ""))


def _place(text: str) -> GeoPoint | None:
    try:
        latitude, longitude, *_ = (float(number) for number in text[:100].replace(",", " ").split())
    except ValueError:
        return None
    on_earth = math.isfinite(latitude) and math.isfinite(longitude) and abs(latitude) <= 90 and abs(longitude) <= 180
    return GeoPoint(latitude, longitude) if on_earth else None


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
            length=whole_number(file.get("length") or file.get("fileSize")),
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
    for element in each(fields, *_PICTURES):
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


def whole_number(text: str | None) -> int | None:
    """A whole number, as of bytes, comments or minutes; None where it is not one, or too large."""
    text = text.strip() if text else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS else None
