"""What a source's own CSS selectors find on a page. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import cast

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from headwater.extraction.markup import distinct, short_line
from headwater.extraction.types import Selectors

MAX_NODES = 200
MAX_SELECTORS = 20
MAX_SELECTOR = 500
_PARTS = ("title", "body", "author", "date", "remove")


@dataclass(frozen=True, slots=True)
class Selected:
    """What was found; `page` is the page without what was to be removed."""

    page: str
    title: str | None
    body: str | None
    authors: tuple[str, ...]
    dates: tuple[str, ...]
    problems: tuple[str, ...]


def read_selectors(value: object) -> Selectors:
    """Selectors as a source stores them: an object whose values are a selector or a list; other values are ignored."""
    found: dict[str, tuple[str, ...]] = {}
    for part in _PARTS if isinstance(value, dict) else ():
        given = cast("dict[str, object]", value).get(part)
        each = cast("list[object]", given) if isinstance(given, list) else [given]
        found[part] = tuple(one[:MAX_SELECTOR] for one in each[:MAX_SELECTORS] if isinstance(one, str) and one.strip())
    return Selectors(**found)


def select(html: str, selectors: Selectors) -> Selected:
    """Apply `remove`, then the other selectors. An invalid selector is skipped and reported."""
    page = LexborHTMLParser(html)
    problems: list[str] = []
    for selector in selectors.remove:
        for node in _matches(page, selector, problems):
            if node.tag not in {"html", "head", "body"}:
                node.decompose()
    titles = _first(page, selectors.title, problems)
    bodies = _first(page, selectors.body, problems)
    ids = {node.mem_id for node in bodies}
    # Without those inside another, which contains their text.
    bodies = [node for node in bodies if not any(parent.mem_id in ids for parent in islice(_ancestors(node), 1_000))]
    for unseen in [node for body in bodies for node in body.css("noscript")]:
        unseen.decompose()
    authors, dates = _first(page, selectors.author, problems), _first(page, selectors.date, problems)
    return Selected(
        page=page.html or "",
        title=next((line for node in titles if (line := short_line(_value(node, "content")))), None),
        body="".join(node.html or "" for node in bodies) or None,
        authors=distinct(short_line(_value(node, "content"), longest=300) for node in authors),
        dates=distinct(short_line(_value(node, "datetime", "content")) for node in dates),
        problems=tuple(dict.fromkeys(problems)),
    )


def _matches(page: LexborHTMLParser, selector: str, problems: list[str]) -> list[LexborNode]:
    try:
        return page.css(selector)[:MAX_NODES]
    except (SelectolaxError, ValueError):
        problems.append(f"{selector!r} is not a valid CSS selector.")
        return []


def _first(page: LexborHTMLParser, selectors: tuple[str, ...], problems: list[str]) -> list[LexborNode]:
    for selector in selectors:
        if nodes := _matches(page, selector, problems):
            return nodes
    return []


def _ancestors(node: LexborNode) -> Iterator[LexborNode]:
    while (parent := node.parent) is not None:
        yield parent
        node = parent


def _value(node: LexborNode, *attributes: str) -> str:
    """The value of an element: of its attribute (<time datetime>, <meta content>), else its text."""
    given = next((value for name in attributes if (value := node.attributes.get(name))), None)
    return given or node.text(separator=" ")
