"""Finds the article on a page with trafilatura, and removes what does not belong to it. Pure."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from lxml import etree
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]
from lxml.html import HtmlElement, HTMLParser, document_fromstring
from trafilatura import bare_extraction
from trafilatura.settings import Document

from headwater.extraction.boilerplate import drop_boxes, open_layout_tables, prune
from headwater.extraction.markup import text_of_tree, to_html
from headwater.extraction.words import count_words

LITTLE = 40  # words: if no more is found, the unchanged page is searched again

logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # it logs every page without an article
logging.getLogger("htmldate").setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class ArticleText:
    root: Element
    text: str


def parse_page(html: str) -> HtmlElement | None:
    """The tree of a page; None if it has none. At most 255 levels are read."""
    try:
        parser = HTMLParser(collect_ids=False, remove_comments=True, remove_pis=True, encoding="utf-8")
        return document_fromstring(html.encode("utf-8", "replace"), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return None


def find_article(
    html: str, tree: HtmlElement, *, titles: Sequence[str], description: str | None, looks_again: bool
) -> ArticleText:
    """The article of a page; without text if there is none. Changes the tree."""
    open_layout_tables(tree)
    drop_boxes(tree)
    found = _extracted(tree, titles, description, fast=True)
    if not looks_again or count_words(found.text) >= LITTLE:
        return found
    whole = parse_page(html)
    again = _extracted(whole, titles, description, fast=False) if whole is not None else found
    return max(found, again, key=lambda one: len(one.text))


def _extracted(tree: HtmlElement, titles: Sequence[str], description: str | None, *, fast: bool) -> ArticleText:
    document = bare_extraction(
        tree, fast=fast, favor_recall=True, include_comments=False, include_links=True, include_images=True,
        include_formatting=True, with_metadata=False,
    )  # fmt: skip
    body = document.body if isinstance(document, Document) else None
    root = to_html(prune(_blocks(body), titles=titles, description=description) if body is not None else [])
    return ArticleText(root, text_of_tree(root))


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
