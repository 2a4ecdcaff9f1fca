"""Sanitising: HTML from anywhere becomes HTML that a reader can show, with every link absolute.

`allowed` says what is kept. `proven` deals with markup that is in order; for all other nh3 parses and serialises as a
browser would. Its time grows with the square of the depth, and of the attributes on one tag; what it writes grows with
the formatting left open times the blocks behind it, each of which gets all of it anew. It never sees such text.
"""

import re
from functools import lru_cache
from html import escape

import nh3

from headwater.polling.parse.proven import proven
from headwater.reading.html_rules import ATTRIBUTES, DROPPED_WHOLE, LINK_REL, LINKS, SCHEMES, TAGS, VOID
from headwater.reading.links import WEB, resolved

MAX_LENGTH = 1_000_000
MAX_DEPTH = 200
MAX_ATTRIBUTES = 50

SAFE_COUNT = 1500
MAX_STARTS = 20_000
MAX_REOPENED = 4_000_000
MAX_GROWTH = 4
GROWS_FREELY = 100_000

# A browser takes all that follows these for raw text, up to an end tag that may be missing. What they hold is kept.
_SHELLS = re.compile(r"</?(?:iframe|no(?:script|embed|frames)|plaintext|xmp)\b[^<>]*>", re.IGNORECASE)
# Attributes as a browser's tokeniser reads them, an unclosed quote running to the end: no tag can hide some.
_ATTRIBUTE = r"""[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\s"'>][^\s>]*+|(?=>)))?+"""
_TAG = re.compile(rf"<(/?)([a-zA-Z][^\s/>]*+)((?:{_ATTRIBUTE})*+)[\s/]*+(?:>|\Z)")
_LOADED = re.compile(rf"<[a-zA-Z][^\s/>]*+(?:{_ATTRIBUTE}){{{MAX_ATTRIBUTES}}}")
_MARKUP = re.compile(r"<[^<>]*>")
# Void, or closed by the next of their kind: these do not pile up.
_FLAT = VOID | frozenset(
    {"base", "dd", "dt", "embed", "input", "li", "link", "meta", "option", "p", "param", "td", "th", "tr"}
)
_START = re.compile(rf"<(?!(?:{'|'.join(sorted(_FLAT))})[\s/>])[a-z]", re.IGNORECASE)
# What a browser opens again in each block, once it was left open in one before; of the same no more than three.
_FORMATTING = frozenset(
    {"a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"}
)
_MOST_ALIKE = 3


def sanitise(html: str, base: str) -> str:
    """Safe HTML for a page at `base`; text without markup comes back as it is."""
    html = html[:MAX_LENGTH].strip()
    if "<" not in html:
        return html.replace(">", "&gt;") if ">" in html else html
    clean = proven(html, base)
    return (_parsed(_SHELLS.sub("", html), base) if clean is None else clean).strip()


def from_text(text: str) -> str:
    """Plain text as HTML."""
    return escape(text.strip(), quote=False)


def _parsed(html: str, base: str) -> str:
    clean = None if _is_hostile(html) else _cleaner(base).clean(html)
    if clean is None or len(clean) > max(MAX_GROWTH * len(html), GROWS_FREELY):
        return from_text(_MARKUP.sub(" ", html))
    return clean


def _is_hostile(html: str) -> bool:
    """Whether tags pile up as nobody would write them, or one carries a heap of attributes."""
    depth = reopened = 0
    deepest = MAX_DEPTH if html.count("<") > SAFE_COUNT else SAFE_COUNT
    # A quote in a comment or a style hides tags from us, and end tags there count for none: so there is a limit to all.
    if html.count("<") > MAX_STARTS and len(_START.findall(html)) > MAX_STARTS:
        return True
    formatting = _Formatting()
    unclosed: dict[str, int] = {}
    for closing, name, attributes in _TAG.findall(html):
        if len(attributes) > MAX_ATTRIBUTES and _LOADED.match(f"<{name}{attributes}"):
            return True
        name = name.lower()  # noqa: PLW2901
        step = 0 if name in _FLAT else 1 if not closing else -1 if unclosed.get(name) else 0
        unclosed[name] = unclosed.get(name, 0) + step
        depth += step
        reopened += formatting.left_open(name, attributes, closing=bool(closing))
        if depth > deepest or reopened > MAX_REOPENED:
            return True
    return False


class _Formatting:
    """The formatting tags that are open, and how much text they are."""

    def __init__(self) -> None:
        self._open: dict[str, list[str]] = {}
        self._length = 0

    def left_open(self, name: str, attributes: str, *, closing: bool) -> int:
        """Take the next tag; how much a browser may write anew because of it."""
        if name not in _FORMATTING:
            return self._length
        alike = self._open.setdefault(name, [])
        if closing and alike:
            self._length -= len(name) + len(alike.pop())
        elif not closing and alike.count(attributes) < _MOST_ALIKE:
            alike.append(attributes)
            self._length += len(name) + len(attributes)
        return self._length if closing else 0


@lru_cache(maxsize=64)
def _cleaner(base: str) -> nh3.Cleaner:
    try:
        return _made(base)
    except ValueError:
        return _made("")


def _made(base: str) -> nh3.Cleaner:
    def rewrite(_tag: str, name: str, value: str) -> str | None:
        # nh3 knows neither cite nor srcset for links, and one list of schemes for all others.
        if name not in LINKS or (value.startswith(WEB) and name != "srcset"):
            return value
        return resolved(name, value, base)

    return nh3.Cleaner(
        tags=TAGS,
        clean_content_tags=DROPPED_WHOLE,
        attributes=ATTRIBUTES,
        attribute_filter=rewrite,
        url_schemes=SCHEMES,
        link_rel=LINK_REL,
        url_relative=("rewrite_with_base", base) if base else "deny",
    )
