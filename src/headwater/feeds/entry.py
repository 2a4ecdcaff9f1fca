"""An <item> or <entry> becomes an Entry, whichever vocabulary its children come from."""

from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

from headwater.feeds.document import FeedDocument, Fields, attribute, each, first_text, normalise_language
from headwater.feeds.entry_fields import FIELD_WORDS, authors, categories, enclosures, picture, place, whole_number
from headwater.feeds.namespaces import RDF, Element
from headwater.feeds.text_constructs import HTML, INLINE, PLAIN, plain
from headwater.feeds.types import Entry
from headwater.reading.dates import parse_date
from headwater.reading.links import unescape_query
from headwater.reading.links import whole as whole_url
from headwater.reading.sanitise import sanitise

MAX_ID = 2048

_PUBLISHED = (
    *("pubdate", "published", "issued", "dcterms:issued", "created", "dcterms:created", "dc:date", "dcterms:date"),
)
_UPDATED = ("updated", "modified", "dcterms:modified", "dc:date")
_TITLES = ("title", "dc:title", "media:title", "itunes:title")
_LANGUAGES = ("dc:language", "language")
_COUNTS = ("slash:comments", "thr:total")
_ABOUT = f"{{{RDF}}}about"
# Each with its default media type, the best first.
_CONTENTS = {"content:encoded": HTML, "content": PLAIN, "xhtml:body": INLINE, "body": INLINE, "fullitem": HTML}
_SUMMARIES = {"description": HTML, "summary": PLAIN, "abstract": PLAIN, "itunes:summary": PLAIN, "dc:description": HTML}
_SUMMARIES["googleplay:description"] = PLAIN
# These describe a file that comes with the entry: a summary only where there is no other.
_CAPTIONS = {"media:description": PLAIN, "itunes:subtitle": PLAIN}

_Markup = tuple[str, str]  # with the base URL of its links
_UNRELATED = 3


class Layout:
    """Which fields an entry with these children has. Most entries of a feed share one: it is computed once."""

    __slots__ = (
        *("authors", "categories", "comments", "counts", "enclosures", "languages", "picture", "place"),
        *("captions", "contents", "published", "summaries", "titles", "updated"),
    )

    def __init__(self, words: tuple[str, ...]) -> None:
        has = frozenset(words)
        self.published, self.updated, self.titles, self.languages, self.counts = (
            tuple(word for word in those if word in has)
            for those in (_PUBLISHED, _UPDATED, _TITLES, _LANGUAGES, _COUNTS)
        )
        self.authors, self.categories, self.enclosures, self.picture, self.place = (
            not has.isdisjoint(those) for those in FIELD_WORDS
        )
        self.comments = "comments" in has
        self.contents, self.summaries, self.captions = (
            tuple(pair for pair in those.items() if pair[0] in has) for those in (_CONTENTS, _SUMMARIES, _CAPTIONS)
        )


class Draft(NamedTuple):
    """An entry with its dates: enough to choose the newest, before the costly part."""

    element: Element
    fields: Fields
    layout: Layout
    published_at: datetime | None
    updated_at: datetime | None


def draft(document: FeedDocument, element: Element, layouts: dict[tuple[str, ...], Layout]) -> Draft:
    """Read what is needed to choose among entries; `layouts` is the cache of one document."""
    fields = document.fields(element)
    words = tuple(fields)
    layout = layouts.get(words)
    if layout is None:
        layout = layouts[words] = Layout(words)
    updated_at = _moment(fields, layout.updated) if layout.updated else None
    if document.is_cdf and updated_at is None:
        updated_at = parse_date(attribute(element, "lastmod"))
    return Draft(element, fields, layout, _moment(fields, layout.published), updated_at)


def finish(
    document: FeedDocument, drafted: Draft, *, feed_language: str | None, feed_authors: tuple[str, ...]
) -> Entry:
    fields, layout = drafted.fields, drafted.layout
    links = [link for link in fields.get("link", ()) if link.attrib]
    url = _url(document, drafted, links)
    title = document.first_line(each(fields, *layout.titles))
    summary, content = _summary_and_content(document, fields, layout)
    return Entry(
        id=_identity(document, drafted, url, (title, content or summary)),
        url=url,
        title=title,
        authors=(layout.authors and authors(document, fields))
        or next(
            (found for source in fields.get("source", ()) if (found := authors(document, document.fields(source)))), ()
        )
        or feed_authors,
        published_at=drafted.published_at,
        updated_at=drafted.updated_at,
        summary=summary,
        content=content,
        language=_language(document, drafted, feed_language),
        categories=categories(fields) if layout.categories else (),
        enclosures=enclosures(document, fields, links) if layout.enclosures or links else (),
        image_url=picture(document, fields) if layout.picture else None,
        comments_url=_comments(document, fields, links) if layout.comments or links else None,
        comment_count=whole_number(first_text(fields, *layout.counts)) if layout.counts else None,
        place=place(document, fields) if layout.place else None,
    )


def _summary_and_content(document: FeedDocument, fields: Fields, words: Layout) -> tuple[str | None, str | None]:
    content = next(_markup(document, fields, words.contents), None) if words.contents else None
    summaries = _markup(document, fields, words.summaries)
    summary = next(summaries, None)
    if summary is None and words.captions:
        summary = next(_markup(document, fields, words.captions), None)
    if content is None and summary and (others := list(summaries)):
        summary, content = _of_two_summaries(fields, [summary, *others])
    safe = sanitise(*content) or None if content else None
    return (safe if summary == content else sanitise(*summary) or None if summary else None), safe


def _markup(document: FeedDocument, fields: Fields, words: tuple[tuple[str, str], ...]) -> Iterator[_Markup]:
    for word, default in words:
        for element in fields[word]:
            if html := document.markup(element, default):
                yield html, document.base(element)


def _of_two_summaries(fields: Fields, summaries: list[_Markup]) -> tuple[_Markup, _Markup | None]:
    """Summary and content. Of <description> and <summary> the second in document order is the content; of any others
    only a longer one is (podcasts often give the text twice)."""
    first, second, *_ = summaries
    if "description" in fields and "summary" in fields:
        order = list(fields)
        return (first, second) if order.index("description") < order.index("summary") else (second, first)
    return first, next((other for other in summaries[1:] if len(other[0]) > len(first[0])), None)


def _moment(fields: Fields, words: tuple[str, ...]) -> datetime | None:
    for word in words:
        for element in reversed(fields[word]):
            if found := parse_date(element.text):
                return found
    return None


def _url(document: FeedDocument, drafted: Draft, attributed: list[Element]) -> str | None:
    fields = drafted.fields
    if "feedburner:origlink" in fields and (
        url := document.link(drafted.element, first_text(fields, "feedburner:origlink"))
    ):
        return url
    if not attributed:
        for link in fields.get("link", ()):
            if url := document.link(link, unescape_query(plain(link))):
                return url
    for link in sorted(fields["link"], key=_rank) if attributed else ():
        if _rank(link) < _UNRELATED and (url := document.link(link, link.get("href") or unescape_query(plain(link)))):
            return url
    for element in each(fields, "guid", "id"):
        if (text := _permalink(element)) and (url := document.link(element, text)):
            return url
    return document.link(drafted.element, attribute(drafted.element, "href"))


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
    """A guid that is a URL: not marked otherwise, and not a bare word, a number or a sentence."""
    if (element.get("isPermaLink") or element.get("ispermalink") or "true").strip().lower() != "true":
        return None
    text = plain(element)
    return text if "/" in text and (" " not in text or whole_url(text)) else None


def _identity(document: FeedDocument, drafted: Draft, url: str | None, texts: tuple[str, str | None]) -> str:
    for element in drafted.fields.get("guid") or drafted.fields.get("id") or ():
        if text := plain(element):
            relative = ":" not in text and _permalink(element)
            return ((document.link(element, text) if relative else None) or text)[:MAX_ID]
    if named := (drafted.element.get(_ABOUT) or "").strip() or url:
        return named[:MAX_ID]
    everything = "\n".join((*map(str, texts), *(plain(child) for child in drafted.element)))
    return f"sha256:{sha256(everything.encode('utf-8', 'replace')).hexdigest()}"


def _language(document: FeedDocument, drafted: Draft, otherwise: str | None) -> str | None:
    languages = drafted.layout.languages
    if languages and (given := first_text(drafted.fields, *languages)):
        return normalise_language(given)
    if not document.scoped:
        return otherwise
    texts = each(drafted.fields, *_CONTENTS, *_SUMMARIES, *_CAPTIONS, "title")
    return document.language(texts[0] if texts else drafted.element, otherwise)


def _comments(document: FeedDocument, fields: Fields, links: list[Element]) -> str | None:
    for element in fields.get("comments", ()):
        if url := document.link(element, plain(element)):
            return url
    for element in links:
        if element.get("rel") == "replies" and "xml" not in (element.get("type") or ""):
            return document.link(element, element.get("href"))
    return None
