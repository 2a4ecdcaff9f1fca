"""The authors, categories and location of an entry or a feed."""

import math
import re
from functools import lru_cache

from headwater.feeds.document import FeedDocument, Fields, each, first_text
from headwater.feeds.namespaces import Element
from headwater.feeds.text_constructs import fold_spaces, plain
from headwater.feeds.types import GeoPoint

MAX_AUTHORS = 32
MAX_NAME = 300

_WRITERS = ("author", "dc:creator", "dc:author")
_SHOWS = ("itunes:author", "managingeditor")
_PERSON = "podcast:person"
AUTHOR_WORDS = frozenset({*_WRITERS, *_SHOWS, _PERSON})
# A podcast's other people are its guests and its crew.
_HOSTS = frozenset({"author", "co-host", "guest host", "host", "writer"})

_ADDRESS = re.compile(r"(?:mailto:)?[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}(?:\?subject=\S+)?")
_EMPTY = re.compile(r"\(\s*\)|<\s*>|\[\s*\]|&lt;\s*&gt;")

MAX_CATEGORIES = 100
MAX_CATEGORY = 200

_SINGLE = frozenset({"category", "dc:subject", "media:category", "keywords", "itunes:category"})
_LISTS = frozenset({"itunes:keywords", "media:keywords", "tags"})
CATEGORY_WORDS = _SINGLE | _LISTS

PLACE_WORDS = frozenset({"georss:point", "georss:where", "geo:point", "geo:lat", "gml:point", "where"})
# GML coordinates may be metres of some grid; in these systems, and without a name, they are degrees, latitude first.
_IN_DEGREES = ("4326", "wgs84", "wgs 84")


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
