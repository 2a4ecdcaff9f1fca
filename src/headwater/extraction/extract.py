"""Extraction: the bytes of a page become the record of its article. Pure, and run in the sandbox.

A source's own selectors first, then trafilatura, then what the page declares: JSON-LD, Open Graph, <meta>. An empty
page gives an empty record; a page behind a wall gives what stands before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lxml import etree
from lxml.html import HtmlElement, fragment_fromstring
from trafilatura.metadata import extract_metadata

from headwater.articles.fingerprint import hash_of, simhash_of, words_of
from headwater.articles.types import Extracted, Finder
from headwater.extraction.article_text import ArticleText, find_article, parse_page
from headwater.extraction.dates import page_date
from headwater.extraction.declared import Declared, Found, declared_in, person
from headwater.extraction.markup import clean, text_of_tree
from headwater.extraction.selected import Selected, select
from headwater.extraction.types import NO_SELECTORS, Selectors, UnreadablePage
from headwater.extraction.words import count_words, distinct
from headwater.reading.decode import decode, marked_encoding
from headwater.reading.limits import MAX_PAGE_BYTES
from headwater.reading.sanitise import sanitise
from headwater.reading.text import storable

BINARY_LOOK = 1_024
LONGER = 2  # times as long as what the page shows: then what it declares as its text is believed
SHORTEST_DECLARED = 50  # words


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
        raise UnreadablePage("These bytes are no text.")
    try:
        return _extract(decode(body[:MAX_PAGE_BYTES], content_type, html=True), url, selectors)
    except MemoryError:
        raise  # the sandbox tells of it
    except Exception as error:  # a page is anyone's: what three parsers do with it is not for us to foresee
        raise UnreadablePage(f"{type(error).__name__} while it was read: {str(error)[:200]}") from error


def _extract(html: str, url: str, selectors: Selectors) -> Extracted:
    selected = select(html, selectors) if selectors != NO_SELECTORS else None
    html = selected.page if selected else html
    tree = parse_page(html)
    if tree is None:
        return Extracted(problems=selected.problems if selected else ())
    declared = declared_in(tree, url)
    authors = _authors(tree, declared, selected)
    base = url or (declared.canonical_url.value if declared.canonical_url else "")
    body = _body(html, tree, declared, selected, base)
    return _record(declared, selected, body, authors)


def _record(
    declared: Declared, selected: Selected | None, body: _Body, authors: Found[tuple[str, ...]] | None
) -> Extracted:
    title = Found(selected.title, Finder.SELECTOR) if selected and selected.title else declared.title
    published_at = _published(declared, selected)
    words = words_of(body.text)
    found = {
        "title": title,
        "description": declared.description,
        "keywords": declared.keywords,
        "authors": authors,
        "published_at": published_at,
        "canonical_url": declared.canonical_url,
        "section": declared.section,
        "language": declared.language,
        "image_url": declared.image_url,
    }
    origins = {name: one.finder for name, one in found.items() if one is not None}
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
    told = _from_html(declared.body, base, Finder.JSON_LD) if declared.body else None
    shown = find_article(
        html,
        tree,
        titles=declared.titles,
        description=declared.description.value if declared.description else None,
        looks_again=told is None,
    )
    if told and _is_fuller(told.text, shown):
        return told
    return _Body(shown.text, clean(shown.root, base), Finder.TRAFILATURA)


def _is_fuller(told: str, shown: ArticleText) -> bool:
    # Trafilatura takes it too, when it finds nothing else, and without its paragraphs.
    is_the_same = told.split() == shown.text.split()
    words = count_words(told)
    return words >= SHORTEST_DECLARED and (words >= LONGER * count_words(shown.text) or is_the_same)


def _from_html(html: str, base: str, finder: Finder) -> _Body:
    """Markup from a selector, or declared text: that may be plain, its lines then being paragraphs."""
    if "<" not in html:
        lines = [line for line in html.splitlines() if line.strip()]
        root = etree.Element("div")
        for line in lines:
            etree.SubElement(root, "p").text = line
        return _Body(text_of_tree(root), clean(root, base), finder)
    safe = sanitise(storable(html), base)
    root = fragment_fromstring(safe, create_parent="div") if safe else etree.Element("div")
    return _Body(text_of_tree(root), safe, finder)


def _authors(tree: HtmlElement, declared: Declared, selected: Selected | None) -> Found[tuple[str, ...]] | None:
    if selected and (names := distinct(person(name) for name in selected.authors)):
        return Found(names, Finder.SELECTOR)
    if declared.authors is not None:
        return declared.authors
    told = extract_metadata(tree, extensive=False).author
    names = distinct(person(name) for name in told.split(";")) if told else ()
    return Found(names, Finder.TRAFILATURA) if names else None


def _published(declared: Declared, selected: Selected | None) -> Found[datetime] | None:
    written: Sequence[str] = selected.dates if selected else ()
    moment = next((moment for text in written if (moment := page_date(text))), None)
    return Found(moment, Finder.SELECTOR) if moment else declared.published_at
