"""The location of an entry, from GeoRSS, GML or the W3C's geo vocabulary."""

import math

from headwater.feeds.document import Document, Fields, first_text
from headwater.feeds.namespaces import Element
from headwater.feeds.text_constructs import plain
from headwater.feeds.types import GeoPoint

WORDS = frozenset({"georss:point", "georss:where", "geo:point", "geo:lat", "gml:point", "where"})
# GML coordinates may be metres of some grid; in these systems, and without a name, they are degrees, latitude first.
_IN_DEGREES = ("4326", "wgs84", "wgs 84")


def place(document: Document, fields: Fields) -> GeoPoint | None:
    """The point of an entry; lines and areas are ignored."""
    if point := first_text(fields, "georss:point"):
        return _place(point)
    if latitude := first_text(fields, "geo:lat"):
        return _place(f"{latitude} {first_text(fields, 'geo:long', 'geo:lon')}")
    for word in ("georss:where", "where", "geo:point", "gml:point"):
        for element in fields.get(word, ()):
            return _inside(document, element)
    return None


def _inside(document: Document, element: Element) -> GeoPoint | None:
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
