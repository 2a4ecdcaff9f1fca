"""What a page says around its article: taken out of the page before the text is looked for, and of the text after.

Trafilatura finds where the article stands; these rules are about what stands among its paragraphs. Each is held to the
whole: what would take a large part of the text away is not taken, since then it is the article.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]
from lxml.html import HtmlElement

from headwater.extraction.phrases import BOX, CALL, CALL_OPENS, CAPTION, DATELINE, EMBED, FOOT, FOOT_ANYWHERE, POINTER
from headwater.extraction.words import count_words

_BOX_TAGS = frozenset(
    {
        "article",
        "aside",
        "div",
        "figcaption",
        "figure",
        "footer",
        "form",
        "li",
        "nav",
        "ol",
        "p",
        "section",
        "span",
        "ul",
    }
)
_BOX_PARAGRAPHS = 3  # of prose; a box with more may be the article
_CAPTION_LETTERS = 1_000
_CELLS_LOOKED_AT = 200
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
    """Make boxes of tables that only arrange a page, as pages did for a decade: no cell of figures holds an article."""
    for table in list(tree.iter("table")):
        cells = islice(table.iter("td"), _CELLS_LOOKED_AT)
        if any(_holds_prose(cell) for cell in cells):
            for part in list(table.iter("table", "tbody", "tr", "td", "th")):
                part.tag = "div"


def _holds_prose(cell: HtmlElement) -> bool:
    words = count_words(cell.text_content())
    has_paragraphs = cell.find(".//br") is not None or cell.find(".//p") is not None
    return words >= LAYOUT_WORDS or (words >= LAYOUT_WORDS / 2 and has_paragraphs)


def drop_boxes(tree: HtmlElement) -> None:
    """Take the boxes out of a page that are about the site, and open those that embed somebody's words."""
    for embedded in tree.xpath(_EMBEDS):
        _open_shells(embedded)
    for element in list(tree.iter(*_BOX_TAGS)):
        name = f"{element.get('class') or ''} {element.get('id') or ''}"
        if _is_caption(element, name) or (BOX.search(name) and not _may_be_article(element)):
            element.drop_tree()


def _is_caption(element: HtmlElement, name: str) -> bool:
    if element.tag != "figcaption" and not CAPTION.search(name):
        return False
    return len(element.text_content()) < _CAPTION_LETTERS and element.find(".//img") is None


def _may_be_article(element: HtmlElement) -> bool:
    if element.find(".//h1") is not None:
        return True
    long = (paragraph for paragraph in element.iter("p") if count_words(paragraph.text_content()) >= PROSE_WORDS)
    return sum(1 for _ in islice(long, _BOX_PARAGRAPHS + 1)) > _BOX_PARAGRAPHS


def _open_shells(embedded: HtmlElement) -> None:
    """Trafilatura passes over what is called an embed; the words in it are quoted, and belong to the article."""
    for element in (embedded, *(shell for shell in embedded.iterancestors() if EMBED.search(shell.get("class") or ""))):
        element.attrib.pop("class", None)


def prune(blocks: Sequence[Element], *, titles: Iterable[str], description: str | None) -> list[Element]:
    """The blocks that are the article's own."""
    after_head = _without_head(blocks, [key for title in titles if (key := _key(title))], _key(description or ""))
    kept = [block for block in after_head if not _leads_elsewhere(block)]
    kept = _without_foot(kept)
    is_little = _letters(after_head) < LITTLE_LETTERS  # a footer, where no article was found
    return kept if is_little or _letters(kept) >= (1 - MOST_TAKEN) * _letters(after_head) else after_head


def _without_head(blocks: Sequence[Element], titles: Sequence[str], description: str) -> list[Element]:
    """Without title, deck, date and names above the first paragraph."""
    kept: list[Element] = []
    for number, block in enumerate(blocks):
        text = text_of(block)
        if block.tag != "head" and count_words(text) >= PROSE_WORDS and not _is_title(_key(text), titles):
            return [*kept, *blocks[number:]]
        is_deck = block.tag == "head" and _same(_key(text), description)
        if not (_is_title(_key(text), titles) or is_deck or DATELINE.match(text)):
            kept.append(block)
    return kept


def _leads_elsewhere(block: Element) -> bool:
    if block.tag in {"table", "quote", "code"}:
        return False
    text = text_of(block)
    words = count_words(text)
    if not text:
        return False
    if words <= POINTER_WORDS and (POINTER.match(text) or _is_all_link(block, text)):
        return True
    if block.tag == "list" and _is_all_link(block, text):
        return True
    return words <= CALL_WORDS and bool(CALL.search(text)) and bool(CALL_OPENS.search(text))


def _is_all_link(block: Element, text: str) -> bool:
    linked = sum(len(text_of(link)) for link in block.iter("ref"))
    # A sentence may be one link; a headline ends without a full stop.
    return linked >= 0.85 * len(text) and not re.search(r"[.。…]\W*$", text)


def _without_foot(blocks: Sequence[Element]) -> list[Element]:
    kept = list(blocks)
    for _ in range(FOOT_BLOCKS):
        if not kept or not _is_foot(kept[-1]):
            break
        kept.pop()
    return kept


def _is_foot(block: Element) -> bool:
    text = text_of(block)
    if not text:
        return block.find(".//graphic") is None
    if block.tag == "head":
        return True  # with nothing under it
    if count_words(text) > FOOT_WORDS:
        return False
    return bool(FOOT.search(text) or FOOT_ANYWHERE.search(text) or CALL.search(text))


def text_of(element: Element) -> str:
    """All its text on one line."""
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
