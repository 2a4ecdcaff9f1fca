"""Places: where on Earth an entry is, from GeoRSS, GML or the W3C's geo."""

import math

from headwater.polling.parse.document import Document, Fields, first_text
from headwater.polling.parse.names import Element
from headwater.polling.parse.text import plain
from headwater.polling.parse.types import Place

WORDS = frozenset({"georss:point", "georss:where", "geo:point", "geo:lat", "gml:point", "where"})
# GML may count in metres of some grid; these, and those without a name, count in degrees, latitude first.
_IN_DEGREES = ("4326", "wgs84", "wgs 84")


def place(document: Document, fields: Fields) -> Place | None:
    """The point that an entry names; lines and areas are left out."""
    if point := first_text(fields, "georss:point"):
        return _place(point)
    if latitude := first_text(fields, "geo:lat"):
        return _place(f"{latitude} {first_text(fields, 'geo:long', 'geo:lon')}")
    for word in ("georss:where", "where", "geo:point", "gml:point"):
        for element in fields.get(word, ()):
            return _inside(document, element)
    return None


def _inside(document: Document, element: Element) -> Place | None:
    parts = {document.word(node): plain(node) for node in element.iter("*") if not len(node)}
    if "geo:lat" in parts:
        return _place(f"{parts['geo:lat']} {parts.get('geo:long', '')}")
    system = next((name.lower() for node in element.iter("*") if (name := node.get("srsName"))), "")
    if system and not any(known in system for known in _IN_DEGREES):
        return None
    return _place(parts.get("gml:pos", ""))


def _place(text: str) -> Place | None:
    try:
        latitude, longitude, *_ = (float(number) for number in text[:100].replace(",", " ").split())
    except ValueError:
        return None
    on_earth = math.isfinite(latitude) and math.isfinite(longitude) and abs(latitude) <= 90 and abs(longitude) <= 180
    return Place(latitude, longitude) if on_earth else None
