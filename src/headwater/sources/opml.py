"""Reading and writing OPML. Pure. Parsed without a tree or DTD and within limits, so that a hostile file costs no more
than its size. Nested outlines are nested categories: `News` in `World` is `World/News`."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from typing import Any, cast

from lxml import etree
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from headwater.errors import Invalid
from headwater.library.decide import nested
from headwater.reading.text import xml_safe
from headwater.sources.types import CATEGORY_MAX, NAME_MAX
from headwater.text import is_blank

BYTES_MAX = 5_000_000
LINES_MAX = 20_000
DEPTH_MAX = 100
URL_KEPT = 2_100  # enough of a longer one to be refused as too long and still be shown

_BARE_AMPERSAND = re.compile(rb"&(?!(?:[A-Za-z][A-Za-z0-9]{1,30}|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)")
_FEED_SCHEME = re.compile(r"^(?:feed:(?://)?(?=https?://)|feed(?=://))", re.IGNORECASE)  # of some programs
_FEED_TYPES = {"rss", "atom", "feed", "rdf"}
_PIECE = 65_536


@dataclass(frozen=True, slots=True)
class OpmlLine:
    """A feed of a file, unchecked."""

    name: str
    url: str
    category: str = ""
    site: str = ""


def read_opml(data: bytes) -> list[OpmlLine]:
    """The feeds of a file, in its order. Raises Invalid."""
    if len(data) > BYTES_MAX:
        raise Invalid(f"The file is too large ({BYTES_MAX // 1_000_000} MB at most).")
    data = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not data:
        raise Invalid("This file is empty.")
    try:
        try:
            lines = _parse(data)
        except etree.XMLSyntaxError:
            lines = _parse(_BARE_AMPERSAND.sub(b"&amp;", data))  # a common error of exporters
    except etree.XMLSyntaxError as error:
        line = error.lineno or 1
        raise Invalid(f"This file is not OPML, or is damaged: it cannot be read from line {line} on.") from error
    if not lines:
        raise Invalid("There are no feeds in this file.")
    return lines


def write_opml(title: str, lines: Iterable[OpmlLine], now: datetime) -> bytes:
    root = etree.Element("opml", version="2.0")
    head = etree.SubElement(root, "head")
    etree.SubElement(head, "title").text = xml_safe(title)
    etree.SubElement(head, "dateCreated").text = format_datetime(now)
    body = etree.SubElement(root, "body")
    places = {"": body}
    for feed in sorted(lines, key=lambda line: line.category):
        place = _place(places, feed.category)
        name, site = xml_safe(feed.name), {"htmlUrl": xml_safe(feed.site)} if feed.site else {}
        line = {"type": "rss", "text": name, "title": name, "xmlUrl": xml_safe(feed.url), **site}
        etree.SubElement(place, "outline", line)
    return etree.tostring(root, encoding="utf-8", xml_declaration=True, pretty_print=True)


def _place(places: dict[str, Element], category: str) -> Element:
    """The outline of a category, in those it is nested in; each is made once."""
    if category not in places:
        around, _, last = category.rpartition("/")
        named = xml_safe(last)
        places[category] = etree.SubElement(_place(places, around), "outline", text=named, title=named)
    return places[category]


def _parse(data: bytes) -> list[OpmlLine]:
    reader = _Reader()
    # A file that could declare entities is refused at its DOCTYPE, and none is ever loaded from elsewhere. What is left
    # are the five of XML itself: with entities off altogether, libxml2 hands `&amp;` in attributes over as `&#38;`.
    parser = etree.XMLParser(
        target=cast("Any", reader), resolve_entities="internal", no_network=True, load_dtd=False, huge_tree=False
    )
    for at in range(0, len(data), _PIECE):
        parser.feed(data[at : at + _PIECE])
    parser.close()
    return reader.lines


class _Reader:
    """A target of the parser that keeps only the feeds. Its methods raise Invalid."""

    def __init__(self) -> None:
        self.lines: list[OpmlLine] = []
        self._folders: list[str | None] = []  # the open elements; None: one that names no category

    def doctype(self, _name: str, _public: str | None, _system: str | None) -> None:
        raise Invalid("This file has a document type declaration, which OPML does not need. Remove it and try again.")

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        local = tag.rpartition("}")[2].lower()
        if not self._folders and local != "opml":
            raise Invalid(f"This is not an OPML file: it begins with <{local[:40]}>.")
        if len(self._folders) >= DEPTH_MAX:
            raise Invalid(f"The outlines of this file are nested more than {DEPTH_MAX} deep.")
        self._folders.append(self._outline(attributes) if local == "outline" else None)

    def end(self, _tag: str) -> None:
        self._folders.pop()

    def data(self, _text: str) -> None:
        """Required by the parser; text is ignored."""

    def close(self) -> None:
        """Required by the parser."""

    def _outline(self, given: Mapping[str, str]) -> str | None:
        """Keep a feed; return the name of any other outline, which may be a category."""
        found = {name.lower(): value.strip() for name, value in given.items()}
        name = " ".join((found.get("title") or found.get("text") or "").split())[:NAME_MAX]
        is_feed = "xmlurl" in found or found.get("type", "").lower() in _FEED_TYPES
        if not is_feed:
            return name or None
        if len(self.lines) >= LINES_MAX:
            raise Invalid(f"There are more than {LINES_MAX:,} feeds in this file. Split it.")
        site = found.get("htmlurl", "")[:URL_KEPT]
        # With only the URL of a site, its feed is discovered later.
        url = found.get("xmlurl") or found.get("url") or site
        url = _FEED_SCHEME.sub(lambda scheme: "" if ":" in scheme[0] else "http", url)[:URL_KEPT]
        name = url[:NAME_MAX] if is_blank(name) else name
        self.lines.append(OpmlLine(name, url, self._category(found.get("category", "")), site))
        return None

    def _category(self, attribute: str) -> str:
        """The outlines around a feed, or else the first category of its attribute."""
        around = "/".join(folder for folder in self._folders if folder)
        return nested(around or attribute.partition(",")[0])[:CATEGORY_MAX].rstrip("/ ")
