"""Extraction: the bytes of a page become the record of its article. Pure, and run in the sandbox.

The source's own selectors come first, then trafilatura, then what the page declares: JSON-LD, Open Graph, <meta>. An
empty page gives an empty record; a page behind a paywall gives what is in front of it.
"""

from dataclasses import dataclass, replace

from lxml import etree
from lxml.html import HtmlElement, fragment_fromstring
from trafilatura.metadata import extract_metadata

from headwater.articles.fingerprint import hash_of, simhash_of, words_of
from headwater.articles.types import Extracted, Finder
from headwater.extraction.article_text import find_article, parse_page
from headwater.extraction.declared import Declared, FieldValue, declared_in, page_date, person
from headwater.extraction.markup import clean, text_of_tree
from headwater.extraction.selected import Selected, select
from headwater.extraction.types import NO_SELECTORS, Selectors, UnreadablePage
from headwater.extraction.words import count_words, distinct
from headwater.reading.decode import decode, marked_encoding
from headwater.reading.limits import MAX_PAGE_BYTES
from headwater.reading.sanitise import sanitise
from headwater.reading.text import storable

BINARY_LOOK = 1_024
LONGER = 2  # the declared text is used if it is so many times as long as the text that the page shows
SHORTEST_DECLARED = 50  # words

_FIELDS = (
    *("title", "description", "keywords", "authors", "published_at", "canonical_url", "section", "language"),
    "image_url",
)


@dataclass(frozen=True, slots=True)
class _Body:
    text: str
    html: str
    finder: Finder


def extract(
    body: bytes, *, url: str, content_type: str | None = None, selectors: Selectors = NO_SELECTORS
) -> Extracted:
    """The record of the article on a page. Raises UnreadablePage, and nothing else."""
    if b"\0" in body[:BINARY_LOOK] and marked_encoding(body) is None:
        raise UnreadablePage("These bytes are not text.")
    try:
        return _extract(decode(body[:MAX_PAGE_BYTES], content_type, html=True), url, selectors)
    except MemoryError:
        raise  # the sandbox reports it
    except Exception as error:  # three parsers read hostile bytes here: any error may come
        raise UnreadablePage(f"{type(error).__name__} while it was read: {str(error)[:200]}") from error


def _extract(html: str, url: str, selectors: Selectors) -> Extracted:
    selected = select(html, selectors) if selectors != NO_SELECTORS else None
    html = selected.page if selected else html
    tree = parse_page(html)
    if tree is None:
        return Extracted(problems=selected.problems if selected else ())
    declared = declared_in(tree, url)
    moment = next((moment for text in (selected.dates if selected else ()) if (moment := page_date(text))), None)
    declared = replace(
        declared,
        title=FieldValue(selected.title, Finder.SELECTOR) if selected and selected.title else declared.title,
        authors=_authors(tree, declared, selected),
        published_at=FieldValue(moment, Finder.SELECTOR) if moment else declared.published_at,
    )
    base = url or (declared.canonical_url.value if declared.canonical_url else "")
    return _record(declared, selected, _body(html, tree, declared, selected, base))


def _record(declared: Declared, selected: Selected | None, body: _Body) -> Extracted:
    title, authors, published_at = declared.title, declared.authors, declared.published_at
    words = words_of(body.text)
    found = {name: getattr(declared, name) for name in _FIELDS}
    origins: dict[str, Finder] = {name: one.finder for name, one in found.items() if one is not None}
    return Extracted(
        title=title.value if title else None,
        text=body.text,
        html=body.html,
        description=declared.description.value if declared.description else None,
        keywords=declared.keywords.value if declared.keywords else (),
        authors=authors.value if authors else (),
        published_at=published_at.value if published_at else None,
        canonical_url=declared.canonical_url.value if declared.canonical_url else None,
        section=declared.section.value if declared.section else None,
        language=declared.language.value if declared.language else None,
        image_url=declared.image_url.value if declared.image_url else None,
        open_graph=declared.open_graph,
        linked_data=declared.linked_data,
        word_count=len(words),
        content_hash=hash_of(words),
        simhash=simhash_of(words),
        origins=origins | ({"text": body.finder} if words else {}),
        problems=selected.problems if selected else (),
    )


def _body(html: str, tree: HtmlElement, declared: Declared, selected: Selected | None, base: str) -> _Body:
    if selected and selected.body and (chosen := _from_html(selected.body, base, Finder.SELECTOR)).text:
        return chosen
    stated = _from_html(declared.body, base, Finder.JSON_LD) if declared.body else None
    description = declared.description.value if declared.description else None
    shown = find_article(html, tree, titles=declared.titles, description=description, looks_again=stated is None)
    if stated and (words := count_words(stated.text)) >= SHORTEST_DECLARED:
        # Trafilatura returns the declared text too if it finds no other, but without its paragraphs.
        is_the_same = stated.text.split() == shown.text.split()
        if words >= LONGER * count_words(shown.text) or is_the_same:
            return stated
    return _Body(shown.text, clean(shown.root, base), Finder.TRAFILATURA)


def _from_html(html: str, base: str, finder: Finder) -> _Body:
    """Markup from a selector, or declared text; lines of plain text become paragraphs."""
    if "<" not in html:
        root = etree.Element("div")
        for line in filter(str.strip, html.splitlines()):
            etree.SubElement(root, "p").text = line
        return _Body(text_of_tree(root), clean(root, base), finder)
    safe = sanitise(storable(html), base)
    root = fragment_fromstring(safe, create_parent="div") if safe else etree.Element("div")
    return _Body(text_of_tree(root), safe, finder)


def _authors(tree: HtmlElement, declared: Declared, selected: Selected | None) -> FieldValue[tuple[str, ...]] | None:
    if selected and (names := distinct(person(name) for name in selected.authors)):
        return FieldValue(names, Finder.SELECTOR)
    if declared.authors is not None:
        return declared.authors
    found = extract_metadata(tree, extensive=False).author
    names = distinct(person(name) for name in found.split(";")) if found else ()
    return FieldValue(names, Finder.TRAFILATURA) if names else None
