"""Entries: an <item> or <entry> becomes an Entry, whichever vocabulary its children come from."""

from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

from headwater.polling.parse.dates import parse_date
from headwater.polling.parse.document import Document, Fields, attribute, each, first_text, tidy_language
from headwater.polling.parse.links import unreferenced
from headwater.polling.parse.media import enclosures, picture, whole
from headwater.polling.parse.names import RDF, Element
from headwater.polling.parse.people import authors
from headwater.polling.parse.places import place
from headwater.polling.parse.prose import PROSE, prose
from headwater.polling.parse.subjects import categories
from headwater.polling.parse.text import HTML, INLINE, plain
from headwater.polling.parse.types import Entry

MAX_ID = 2048

_PUBLISHED = (
    "pubdate",
    "published",
    "issued",
    "dcterms:issued",
    "created",
    "dcterms:created",
    "dc:date",
    "dcterms:date",
)
_UPDATED = ("updated", "modified", "dcterms:modified", "dc:date")
_ABOUT = f"{{{RDF}}}about"


class Draft(NamedTuple):
    """An entry of which only the dates are read: enough to choose by, before the costly part."""

    element: Element
    fields: Fields
    published_at: datetime | None
    updated_at: datetime | None


def draft(document: Document, element: Element) -> Draft:
    """Read what is needed to choose among entries."""
    fields = document.fields(element)
    updated_at = _moment(fields, _UPDATED) or parse_date(attribute(element, "lastmod"))
    return Draft(element, fields, _moment(fields, _PUBLISHED), updated_at)


def finish(document: Document, drafted: Draft, *, feed_language: str | None, feed_authors: tuple[str, ...]) -> Entry:
    """Read the rest, and make it safe."""
    fields = drafted.fields
    url = _url(document, drafted)
    title = _title(document, fields)
    summary, content = prose(document, fields)
    return Entry(
        id=_identity(document, drafted, url) or _digest(drafted.element, title, content or summary),
        url=url,
        title=title,
        authors=authors(document, fields) or feed_authors,
        published_at=drafted.published_at,
        updated_at=drafted.updated_at,
        summary=summary,
        content=content,
        language=_language(document, drafted, feed_language),
        categories=categories(fields),
        enclosures=enclosures(document, fields),
        image_url=picture(document, fields),
        comments_url=_comments(document, fields),
        comment_count=whole(first_text(fields, "slash:comments", "thr:total")),
        place=place(document, fields),
    )


def _moment(fields: Fields, words: tuple[str, ...]) -> datetime | None:
    for word in words:
        if word in fields:
            for element in reversed(fields[word]):
                if found := parse_date(element.text):
                    return found
    return None


def _title(document: Document, fields: Fields) -> str:
    for element in each(fields, "title", "dc:title", "media:title", "itunes:title"):
        if text := document.line(element):
            return text
    return ""


def _url(document: Document, drafted: Draft) -> str | None:
    fields = drafted.fields
    if "feedburner:origlink" in fields and (
        url := document.link(drafted.element, first_text(fields, "feedburner:origlink"))
    ):
        return url
    links = fields.get("link", ())
    for link in links if len(links) < 2 else sorted(links, key=_rank):
        if _rank(link) < _UNRELATED and (url := document.link(link, link.get("href") or unreferenced(plain(link)))):
            return url
    for element in each(fields, "guid", "id"):
        if (text := _permalink(element)) and (url := document.link(element, text)):
            return url
    return document.link(drafted.element, attribute(drafted.element, "href"))


_UNRELATED = 3


def _rank(link: Element) -> int:
    """Which link is the entry's own: RSS's, then a page, then anything else that says alternate."""
    if not link.attrib:
        return 0
    if (link.get("rel") or "alternate").strip().lower() != "alternate":
        return _UNRELATED
    if link.get("href") is None:
        return 0
    return 1 if (link.get("type") or HTML).strip().lower() in {HTML, INLINE, "html"} else 2


def _permalink(element: Element) -> str | None:
    """The URL that a guid is, unless it says that it is none; a bare word or number is no URL either."""
    if (element.get("isPermaLink") or element.get("ispermalink") or "true").strip().lower() != "true":
        return None
    text = plain(element)
    return text if "/" in text and " " not in text else None


def _identity(document: Document, drafted: Draft, url: str | None) -> str:
    for element in drafted.fields.get("guid") or drafted.fields.get("id") or ():
        if text := plain(element):
            relative = ":" not in text and _permalink(element)
            return ((document.link(element, text) if relative else None) or text)[:MAX_ID]
    return ((drafted.element.get(_ABOUT) or "").strip() or url or "")[:MAX_ID]


def _digest(element: Element, title: str, written: str | None) -> str:
    everything = "\n".join((title, str(written), *(plain(child) for child in element)))
    return f"sha256:{sha256(everything.encode('utf-8', 'replace')).hexdigest()}"


def _language(document: Document, drafted: Draft, otherwise: str | None) -> str | None:
    if given := first_text(drafted.fields, "dc:language", "language"):
        return tidy_language(given)
    if not document.scoped:
        return otherwise
    told = each(drafted.fields, *PROSE, "title")
    return document.language(told[0] if told else drafted.element, otherwise)


def _comments(document: Document, fields: Fields) -> str | None:
    for element in fields.get("comments", ()):
        if url := document.link(element, plain(element)):
            return url
    for element in fields.get("link", ()):
        if element.get("rel") == "replies" and "xml" not in (element.get("type") or ""):
            return document.link(element, element.get("href"))
    return None
