"""What a source's own CSS selectors find on a page. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from headwater.extraction.types import Selectors
from headwater.extraction.words import distinct, one_line

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
    """Selectors as a source stores them: an object whose values are a selector or a list; whatever else is left out."""
    given: Mapping[str, object] = (
        cast("Mapping[str, object]", value) if isinstance(value, dict) else dict[str, object]()
    )
    return Selectors(**{part: _listed(given.get(part)) for part in _PARTS})


def _listed(value: object) -> tuple[str, ...]:
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    return tuple(one[:MAX_SELECTOR] for one in values[:MAX_SELECTORS] if isinstance(one, str) and one.strip())


def select(html: str, selectors: Selectors) -> Selected:
    """Remove what is to be removed, then take the rest. A selector that cannot be read is told of, and passed over."""
    page = LexborHTMLParser(html)
    problems: list[str] = []
    for selector in selectors.remove:
        for node in _matches(page, selector, problems):
            if node.tag not in {"html", "head", "body"}:
                node.decompose()
    titles = _first(page, selectors.title, problems)
    bodies = _outermost(_first(page, selectors.body, problems))
    for unseen in [node for body in bodies for node in body.css("noscript")]:
        unseen.decompose()
    return Selected(
        page=page.html or "",
        title=next((line for node in titles if (line := one_line(_said(node, "content")))), None),
        body="".join(node.html or "" for node in bodies) or None,
        authors=distinct(
            one_line(_said(node, "content"), longest=300) for node in _first(page, selectors.author, problems)
        ),
        dates=distinct(one_line(_said(node, "datetime", "content")) for node in _first(page, selectors.date, problems)),
        problems=tuple(dict.fromkeys(problems)),
    )


def _matches(page: LexborHTMLParser, selector: str, problems: list[str]) -> list[LexborNode]:
    try:
        return page.css(selector)[:MAX_NODES]
    except (SelectolaxError, ValueError):
        problems.append(f"{selector!r} is no CSS selector that can be read.")
        return []


def _first(page: LexborHTMLParser, selectors: tuple[str, ...], problems: list[str]) -> list[LexborNode]:
    for selector in selectors:
        if nodes := _matches(page, selector, problems):
            return nodes
    return []


def _outermost(nodes: list[LexborNode]) -> list[LexborNode]:
    """Without those inside another: their text is there already."""
    ids = {node.mem_id for node in nodes}
    return [node for node in nodes if not any(parent in ids for parent in _ancestors(node))]


def _ancestors(node: LexborNode) -> list[int]:
    found: list[int] = []
    parent = node.parent
    while parent is not None and len(found) < 1_000:
        found.append(parent.mem_id)
        parent = parent.parent
    return found


def _said(node: LexborNode, *attributes: str) -> str:
    """What an element says: by an attribute made for it (<time datetime>, <meta content>), else by its text."""
    said = next((value for name in attributes if (value := node.attributes.get(name))), None)
    return said or node.text(separator=" ")
