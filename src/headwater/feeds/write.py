"""Writes a feed as Atom (RFC 4287) or JSON Feed 1.1. Pure: the same entries make the same bytes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec
from lxml import etree

from headwater.reading.text import xml_safe

ATOM_TYPE: Final = "application/atom+xml; charset=utf-8"
JSON_TYPE: Final = "application/feed+json; charset=utf-8"
TEXT_MAX: Final = 200_000  # characters of a summary or text; a longer one is left out, and its entry has the link
_ATOM: Final = "http://www.w3.org/2005/Atom"


@dataclass(frozen=True, slots=True)
class WrittenEntry:
    """An article in a feed of ours. `summary` and `html` are safe HTML."""

    id: str
    url: str
    title: str
    updated_at: datetime
    published_at: datetime | None = None
    author: str | None = None
    summary: str | None = None
    html: str | None = None
    categories: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class WrittenFeed:
    """A feed of ours; `url` is its own."""

    id: str
    url: str
    title: str
    updated_at: datetime
    entries: Sequence[WrittenEntry]


def write_atom(feed: WrittenFeed) -> bytes:
    root = etree.Element(f"{{{_ATOM}}}feed", nsmap={None: _ATOM})
    _texts(root, {"id": feed.id, "title": feed.title, "updated": _time(feed.updated_at)})
    etree.SubElement(root, f"{{{_ATOM}}}link", rel="self", href=xml_safe(feed.url))
    _texts(root, {"generator": "Headwater"})
    for one in feed.entries:
        entry = etree.SubElement(root, f"{{{_ATOM}}}entry")
        _texts(entry, {"id": one.id, "title": one.title, "updated": _time(one.updated_at)})
        etree.SubElement(entry, f"{{{_ATOM}}}link", rel="alternate", href=xml_safe(one.url))
        # Atom requires an author.
        _texts(etree.SubElement(entry, f"{{{_ATOM}}}author"), {"name": one.author or "Unknown"})
        if one.published_at:
            _texts(entry, {"published": _time(one.published_at)})
        for category in one.categories:
            etree.SubElement(entry, f"{{{_ATOM}}}category", term=xml_safe(category))
        for name, html in (("summary", one.summary), ("content", one.html)):
            if text := _fitting(html):
                etree.SubElement(entry, f"{{{_ATOM}}}{name}", type="html").text = xml_safe(text)
    return etree.tostring(root, encoding="utf-8", xml_declaration=True)


def write_json_feed(feed: WrittenFeed) -> bytes:
    items = [_item(one) for one in feed.entries]
    document = {
        "version": "https://jsonfeed.org/version/1.1", "title": feed.title, "feed_url": feed.url, "items": items,
    }  # fmt: skip
    return msgspec.json.encode(document)


def _fitting(html: str | None) -> str | None:
    """A text that is in the feed: 50 of a million characters each would take seconds to write, each time."""
    return html if html and len(html) <= TEXT_MAX else None


def _item(one: WrittenEntry) -> dict[str, object]:
    html, summary = _fitting(one.html), _fitting(one.summary)
    found: dict[str, object] = {
        "id": one.id, "url": one.url, "title": one.title, "content_html": html or summary or "",
        "summary": summary if html else None, "date_modified": _time(one.updated_at),
        "date_published": _time(one.published_at) if one.published_at else None,
        "authors": [{"name": one.author}] if one.author else None, "tags": list(one.categories) or None,
    }  # fmt: skip
    return {name: value for name, value in found.items() if value is not None}


def _texts(parent: etree._Element, texts: Mapping[str, str]) -> None:  # pyright: ignore[reportPrivateUsage]
    for name, text in texts.items():
        etree.SubElement(parent, f"{{{_ATOM}}}{name}").text = xml_safe(text)


def _time(at: datetime) -> str:
    """RFC 3339, to the second."""
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")
