"""Extraction: the bytes of a page become the record of its article. Pure, and run in the sandbox.

The source's own selectors come first, then trafilatura, then what the page declares: JSON-LD, Open Graph, <meta>. An
empty page gives an empty record; a page behind a paywall gives what is in front of it.
"""

import logging
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from lxml import etree
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]
from lxml.html import HtmlElement, HTMLParser, document_fromstring, fragment_fromstring
from trafilatura import bare_extraction
from trafilatura.metadata import extract_metadata
from trafilatura.settings import Document

from headwater.articles.fingerprint import hash_of, simhash_of, words_of
from headwater.articles.types import Extracted, Finder
from headwater.extraction.boilerplate import drop_boxes, open_layout_tables, prune
from headwater.extraction.declared import Declared, declared_in, page_date, person
from headwater.extraction.markup import clean, count_words, distinct, text_of_tree, to_html
from headwater.extraction.selected import Selected, select
from headwater.extraction.types import NO_SELECTORS, Selectors, UnreadablePage
from headwater.reading.decode import decode, marked_encoding
from headwater.reading.limits import MAX_PAGE_BYTES
from headwater.reading.sanitise import sanitise
from headwater.reading.text import storable

BINARY_LOOK = 1_024
LONGER = 2  # the declared text is used if it is so many times as long as the text that the page shows
SHORTEST_DECLARED = 50  # words
LITTLE = 40  # words: if no more is found, the unchanged page is searched again

logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # it logs every page without an article
logging.getLogger("htmldate").setLevel(logging.CRITICAL)


class _ArticleText(NamedTuple):
    root: Element
    text: str


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


def _parse_page(html: str) -> HtmlElement | None:
    """The tree of a page; None if it has none. At most 255 levels are read."""
    try:
        parser = HTMLParser(collect_ids=False, remove_comments=True, remove_pis=True, encoding="utf-8")
        return document_fromstring(html.encode("utf-8", "replace"), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return None


def _extract(html: str, url: str, selectors: Selectors) -> Extracted:
    selected = select(html, selectors) if selectors != NO_SELECTORS else None
    html = selected.page if selected else html
    tree = _parse_page(html)
    if tree is None:
        return Extracted(problems=selected.problems if selected else ())
    declared = declared_in(tree, url)
    fields = _selected_fields(selected) if selected else {}
    origins = {**declared.record.origins, **dict.fromkeys(fields, Finder.SELECTOR)}
    if "authors" not in origins:
        byline = extract_metadata(tree, extensive=False).author
        if names := distinct(map(person, byline.split(";"))) if byline else ():
            fields["authors"], origins["authors"] = names, Finder.TRAFILATURA
    body = _body(html, tree, declared, selected, url or declared.record.canonical_url or "")
    words = words_of(body.text)
    if words:
        origins["text"] = body.finder
    return replace(
        declared.record, text=body.text, html=body.html, word_count=len(words), content_hash=hash_of(words),
        simhash=simhash_of(words), origins=origins, problems=selected.problems if selected else (), **fields,
    )  # fmt: skip


def _selected_fields(selected: Selected) -> dict[str, Any]:
    dates = filter(None, map(page_date, selected.dates))
    authors = distinct(map(person, selected.authors))
    fields = {"title": selected.title, "authors": authors, "published_at": next(dates, None)}
    return {name: value for name, value in fields.items() if value}


def _body(html: str, tree: HtmlElement, declared: Declared, selected: Selected | None, base: str) -> _Body:
    if selected and selected.body and (chosen := _from_html(selected.body, base, Finder.SELECTOR)).text:
        return chosen
    stated = _from_html(declared.body, base, Finder.JSON_LD) if declared.body else None
    shown = _find_article(html, tree, declared, looks_again=stated is None)
    if stated and (words := count_words(stated.text)) >= SHORTEST_DECLARED:
        # Trafilatura returns the declared text too if it finds no other, but without its paragraphs.
        is_the_same = stated.text.split() == shown.text.split()
        if words >= LONGER * count_words(shown.text) or is_the_same:
            return stated
    return _Body(shown.text, clean(shown.root, base), Finder.TRAFILATURA)


def _find_article(html: str, tree: HtmlElement, declared: Declared, *, looks_again: bool) -> _ArticleText:
    """The article of a page; without text if there is none. Changes the tree."""
    open_layout_tables(tree)
    drop_boxes(tree)
    found = _run_trafilatura(tree, declared, fast=True)
    if not looks_again or count_words(found.text) >= LITTLE:
        return found
    whole = _parse_page(html)
    again = _run_trafilatura(whole, declared, fast=False) if whole is not None else found
    return max(found, again, key=lambda one: len(one.text))


def _run_trafilatura(tree: HtmlElement, declared: Declared, *, fast: bool) -> _ArticleText:
    document = bare_extraction(
        tree, fast=fast, favor_recall=True, include_comments=False, include_links=True, include_images=True,
        include_formatting=True, with_metadata=False,
    )  # fmt: skip
    body = document.body if isinstance(document, Document) else None
    blocks = _blocks(body) if body is not None else []
    root = to_html(prune(blocks, titles=declared.titles, description=declared.record.description))
    return _ArticleText(root, text_of_tree(root))


def _blocks(body: Element) -> list[Element]:
    """The blocks of a body; text between two of them becomes a block, too."""
    blocks: list[Element] = []
    for block in body:
        blocks.append(block)
        if block.tail and block.tail.strip():
            between = etree.Element("p")
            between.text = block.tail.strip()
            blocks.append(between)
        block.tail = None
    return blocks


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
