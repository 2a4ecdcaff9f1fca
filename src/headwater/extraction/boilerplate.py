"""Removes what is around and between the paragraphs of an article: from the page before the search, then from its text.

Trafilatura finds the article; these rules remove what it leaves in. Rules that would together remove a large part of
the text are not applied: that part is then the article.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]
from lxml.html import HtmlElement

from headwater.extraction.markup import count_words
from headwater.extraction.phrases import BOX, CALL, CALL_OPENS, CAPTION, DATELINE, EMBED, FOOT, FOOT_ANYWHERE, POINTER

_BOX_TAGS = (
    "article", "aside", "div", "figcaption", "figure", "footer", "form", "li", "nav", "ol", "p", "section", "span",
    "ul",
)  # fmt: skip
_BOX_PARAGRAPHS = 3  # of prose; a box with more may be the article
_CAPTION_LETTERS = 1_000
_CELLS_CHECKED = 200
_EMBEDS = "//*[contains(@class, 'twitter-tweet') or contains(@class, 'instagram-media')]"

_WORD = re.compile(r"\w+")

POINTER_WORDS = 30
CALL_WORDS = 60
LAYOUT_WORDS = 60
FOOT_WORDS = 70
FOOT_BLOCKS = 12
PROSE_WORDS = 20
MOST_TAKEN = 0.4
LITTLE_LETTERS = 200


def open_layout_tables(tree: HtmlElement) -> None:
    """Turn tables that only lay out a page into <div>: those with a cell of prose."""
    for table in list(tree.iter("table")):
        if any(_has_prose(cell) for cell in islice(table.iter("td"), _CELLS_CHECKED)):
            for part in list(table.iter("table", "tbody", "tr", "td", "th")):
                part.tag = "div"


def _has_prose(cell: HtmlElement) -> bool:
    words = count_words(cell.text_content())
    has_paragraphs = cell.find(".//br") is not None or cell.find(".//p") is not None
    return words >= LAYOUT_WORDS or (words >= LAYOUT_WORDS / 2 and has_paragraphs)


def drop_boxes(tree: HtmlElement) -> None:
    """Remove boxes that are about the site, and keep embedded posts, which are quotations."""
    for embedded in tree.xpath(_EMBEDS):
        # Trafilatura skips what is called an embed.
        around = (shell for shell in embedded.iterancestors() if EMBED.search(shell.get("class") or ""))
        for element in (embedded, *around):
            element.attrib.pop("class", None)
    for element in list(tree.iter(*_BOX_TAGS)):
        name = f"{element.get('class') or ''} {element.get('id') or ''}"
        is_caption = element.tag == "figcaption" or CAPTION.search(name)
        if (is_caption and len(element.text_content()) < _CAPTION_LETTERS and element.find(".//img") is None) or (
            BOX.search(name) and not _may_be_article(element)
        ):
            element.drop_tree()


def _may_be_article(element: HtmlElement) -> bool:
    if element.find(".//h1") is not None:
        return True
    long = (paragraph for paragraph in element.iter("p") if count_words(paragraph.text_content()) >= PROSE_WORDS)
    return sum(1 for _ in islice(long, _BOX_PARAGRAPHS + 1)) > _BOX_PARAGRAPHS


def prune(blocks: Sequence[Element], *, titles: Iterable[str], description: str | None) -> list[Element]:
    after_head = _without_head(blocks, [key for title in titles if (key := _key(title))], _key(description or ""))
    kept = [block for block in after_head if not _points_elsewhere(block)]
    for _ in range(FOOT_BLOCKS):
        if not kept or not _is_foot(kept[-1]):
            break
        kept.pop()
    is_little = _letters(after_head) < LITTLE_LETTERS  # a footer, if no article was found
    return kept if is_little or _letters(kept) >= (1 - MOST_TAKEN) * _letters(after_head) else after_head


def _without_head(blocks: Sequence[Element], titles: Sequence[str], description: str) -> list[Element]:
    """Without title, deck, date and author above the first paragraph."""
    kept: list[Element] = []
    for number, block in enumerate(blocks):
        text = text_of(block)
        if block.tag != "head" and count_words(text) >= PROSE_WORDS and not _is_title(_key(text), titles):
            return [*kept, *blocks[number:]]
        is_deck = block.tag == "head" and _same(_key(text), description)
        if not (_is_title(_key(text), titles) or is_deck or DATELINE.match(text)):
            kept.append(block)
    return kept


def _points_elsewhere(block: Element) -> bool:
    if block.tag in {"table", "quote", "code"}:
        return False
    text = text_of(block)
    words = count_words(text)
    if not text:
        return False
    if words <= POINTER_WORDS and POINTER.match(text):
        return True
    if words <= POINTER_WORDS or block.tag == "list":
        linked = sum(len(text_of(link)) for link in block.iter("ref"))
        # A sentence may be one link; a headline ends without a full stop.
        if linked >= 0.85 * len(text) and not re.search(r"[.。…]\W*$", text):
            return True
    return words <= CALL_WORDS and bool(CALL.search(text)) and bool(CALL_OPENS.search(text))


def _is_foot(block: Element) -> bool:
    text = text_of(block)
    if not text:
        return block.find(".//graphic") is None
    if block.tag == "head" or count_words(text) > FOOT_WORDS:
        return block.tag == "head"  # with nothing under it
    return bool(FOOT.search(text) or FOOT_ANYWHERE.search(text) or CALL.search(text))


def text_of(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())


def _letters(blocks: Sequence[Element]) -> int:
    return sum(len(text_of(block)) for block in blocks)


def _key(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


def _is_title(key: str, titles: Sequence[str]) -> bool:
    return any(_same(key, title) for title in titles)


def _same(key: str, other: str) -> bool:
    """Equal but for a site's name at the end, or an ellipsis."""
    if not key or not other:
        return False
    short, long = sorted((key, other), key=len)
    return long.startswith(short) and len(short) >= 0.6 * len(long)
