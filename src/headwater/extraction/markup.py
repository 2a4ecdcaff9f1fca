"""The markup of an article as safe HTML with absolute links, and as text; short texts of a page. Pure."""

import re
from collections.abc import Iterable, Sequence

from lxml import etree
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from headwater.reading.sanitise import sanitise
from headwater.reading.text import searchable, storable, unescape

MAX_TEXT = 500_000
MAX_LINE = 1_000
MAX_ITEMS = 50

_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "br", "caption", "dd", "div", "dl", "dt", "figcaption", "figure"}
    | {"footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "ol", "p", "pre", "section", "table"}
    | {"tbody", "td", "tfoot", "th", "thead", "tr", "ul"}
)
_CELLS = frozenset({"td", "th"})
_UNSEEN = frozenset({"script", "style", "template", "noscript", "svg", "math", "head", "title"})

# Trafilatura uses a dialect of TEI.
_PLAIN = {"row": "tr", "quote": "blockquote", "lb": "br"}
_EMPHASIS = {"#b": "strong", "#i": "em", "#u": "u", "#t": "code", "#sub": "sub", "#sup": "sup"}
_ITEMS = {"dd": "dd", "dt": "dt"}


def to_html(blocks: Sequence[Element]) -> Element:
    """Trafilatura's blocks in one <div> of HTML; the elements are changed, not copied."""
    root = etree.Element("div")
    root.extend(blocks)
    for element in list(root.iter("*")):
        _translate(element)
    return root


def _translate(element: Element) -> None:
    rend = element.get("rend") or ""
    target, source = element.get("target"), element.get("src")
    named = {name: value for name in ("alt", "title") if (value := element.get(name))}
    is_head = element.get("role") == "head"
    for name in list(element.attrib):
        del element.attrib[name]
    match element.tag:
        case "head":
            element.tag = rend if rend in {"h1", "h2", "h3", "h4", "h5", "h6"} else "h2"
        case "hi":
            element.tag = _EMPHASIS.get(rend, "span")
        case "ref":
            element.tag = "a"
            element.set("href", target or "")
        case "graphic":
            element.tag = "img"
            element.set("src", source or "")
            element.attrib.update(named)
        case "list":
            element.tag = rend if rend in {"ol", "dl"} else "ul"
        case "item":
            element.tag = _ITEMS.get(rend[:2], "li")
        case "cell":
            element.tag = "th" if is_head else "td"
        case "code":
            element.tag = "pre" if "\n" in "".join(element.itertext()) else "code"
        case tag:
            element.tag = _PLAIN.get(str(tag), tag)


def text_of_tree(root: Element) -> str:
    """The text, a line for each block, cells apart."""
    pieces: list[str] = []
    length = 0
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if not isinstance(element.tag, str) or element.tag in _UNSEEN:
            text = element.tail if event == "end" else None
        else:
            if element.tag in _BLOCKS:
                pieces.append(" " if element.tag in _CELLS else "\n")
            text = element.text if event == "start" else element.tail if element is not root else None
        if text:
            # A line break inside markup is a space.
            pieces.append(" ".join(text.split()) if text.isspace() else re.sub(r"\s+", " ", text))
            length += len(text)
        if text is not None and not text.strip():
            pieces.append(" ")
        if length > 2 * MAX_TEXT:
            break
    lines = (" ".join(line.split()) for line in "".join(pieces).split("\n"))
    return searchable("\n".join(line for line in lines if line))[:MAX_TEXT]


def clean(root: Element, base: str) -> str:
    """Safe HTML for a page at `base`: no script, no style, every link absolute."""
    html = etree.tostring(root, encoding="unicode", method="html")
    html = html.removeprefix("<div>").removesuffix("</div>") if root.tag == "div" else html
    return sanitise(storable(html), base)


def short_line(value: object, *, longest: int = MAX_LINE) -> str | None:
    """Text on one line with its entities decoded, of bounded length; None if there is none."""
    if not isinstance(value, str):
        return None
    text = searchable(unescape(value[: 4 * longest]))
    return " ".join(text.split())[:longest].strip() or None


def count_words(text: str) -> int:
    """About how many words a text has; by its length where a script has no spaces."""
    return max(len(text.split()), len(text) // 6)


def distinct(values: Iterable[str | None]) -> tuple[str, ...]:
    """Without duplicates, which may differ in case; in order."""
    found: dict[str, str] = {}
    for value in values:
        if value and len(found) < MAX_ITEMS:
            found.setdefault(value.casefold(), value)
    return tuple(found.values())
