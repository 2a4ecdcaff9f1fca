"""JSON-LD of a page: read leniently, bounded in size and depth. Pure."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from lxml.html import HtmlElement

from headwater.reading.text import storable

MAX_SCRIPTS = 20
MAX_SCRIPT = 1_000_000
MAX_DEPTH = 8
MAX_VALUES = 1_000
MAX_STRING = 2_000

_ARTICLE = re.compile(r"(?:Article|BlogPosting|SocialMediaPosting|Report|Posting|Review|Recipe|NewsArticle)$")
_WRAPPED = re.compile(r"^\s*(?:<!--|//\s*<!\[CDATA\[|<!\[CDATA\[)?(.*?)(?:-->|(?://\s*)?\]\]>)?\s*;?\s*$", re.DOTALL)
_TRAILING_COMMA = re.compile(r",\s*([}\]])")


def read_scripts(tree: HtmlElement) -> list[object]:
    found: list[object] = []
    for number, script in enumerate(tree.iter("script")):
        if number > 50 * MAX_SCRIPTS or len(found) >= MAX_SCRIPTS:
            break
        if "ld+json" in (script.get("type") or "").lower() and (value := _read(script.text or "")) is not None:
            found.append(value)
    return found


def _read(text: str) -> object:
    if not text or len(text) > MAX_SCRIPT:
        return None
    inner = _WRAPPED.match(text)
    text = inner[1] if inner else text
    for attempt in (text, _TRAILING_COMMA.sub(r"\1", text)):
        try:
            return json.loads(attempt, strict=False, parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            continue
    return None


def article_in(documents: Sequence[object]) -> Mapping[str, object]:
    """The node of the article; of several, the one with the most properties. Empty if there is none."""
    nodes = [node for document in documents for node in _nodes(document, MAX_DEPTH) if _is_article(node)]
    properties = ("articleBody", "headline", "datePublished", "author")
    return max(nodes, key=lambda node: sum(name in node for name in properties)) if nodes else dict[str, object]()


def _nodes(value: object, depth: int) -> Iterator[Mapping[str, object]]:
    """Objects that describe something: at the top, in @graph, or as the main entity of a page."""
    if depth == 0:
        return
    if isinstance(value, list):
        for one in cast("list[object]", value)[:MAX_VALUES]:
            yield from _nodes(one, depth - 1)
    elif isinstance(value, dict):
        node = cast("dict[str, object]", value)
        yield node
        for name in ("@graph", "mainEntity", "mainEntityOfPage", "itemListElement", "hasPart", "subjectOf"):
            yield from _nodes(node.get(name), depth - 1)


def _is_article(node: Mapping[str, object]) -> bool:
    kind = node.get("@type")
    kinds = cast("list[object]", kind) if isinstance(kind, list) else [kind]
    return any(isinstance(one, str) and _ARTICLE.search(one) for one in kinds)


def bounded(documents: Sequence[object]) -> list[object]:
    """A copy small enough to store: long texts are cut, deep and surplus values are dropped."""
    left = [MAX_VALUES]
    return [kept for document in documents if (kept := _bounded(document, MAX_DEPTH, left)) is not None]


def _bounded(value: object, depth: int, left: list[int]) -> object:
    left[0] -= 1
    if left[0] < 0 or depth == 0:
        return None
    match value:
        case str():
            return storable(value[:MAX_STRING])
        case bool() | None:
            return value
        case int():
            return value if abs(value) < 2**63 else None
        case float():
            return value if math.isfinite(value) else None
        case list():
            return [_bounded(one, depth - 1, left) for one in cast("list[object]", value)[: max(left[0], 0)]]
        case dict():
            pairs = list(cast("dict[str, object]", value).items())[: max(left[0], 0)]
            return {storable(name[:100]): _bounded(one, depth - 1, left) for name, one in pairs}
        case _:
            return None


def texts_of(value: object, *names: str) -> list[str]:
    """The strings of a value: a string, an object with a name, or a list of either."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        flat = [one for one in cast("list[object]", value)[:50] if not isinstance(one, list)]
        return [text for one in flat for text in texts_of(one, *names)]
    if isinstance(value, dict):
        node = cast("dict[str, object]", value)
        found = (node.get(name) for name in names)
        return [text for text in found if isinstance(text, str) and text.strip()][:1]
    return []
