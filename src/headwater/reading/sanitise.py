"""Sanitises the HTML of feeds and pages: only what `html_rules` allows, every link absolute.

Well nested markup takes the fast path; nh3 parses all other as a browser would. It takes quadratic time in the depth of
elements and in the attributes of one tag, and each block repeats all formatting tags left open before it: text that
exceeds limits on these becomes plain text.
"""

import re
from functools import lru_cache
from html import escape

import nh3

from headwater.reading.html_rules import ATTRIBUTES, DROPPED_WHOLE, LINK_REL, LINKS, SCHEMES, TAGS, VOID
from headwater.reading.limits import MAX_ATTRIBUTES, MAX_DEPTH, MAX_HTML
from headwater.reading.links import WEB, resolved
from headwater.reading.sanitise_fast import sanitise_fast

SAFE_COUNT = 1500
MAX_STARTS = 20_000
MAX_REOPENED = 4_000_000
MAX_GROWTH = 4
GROWS_FREELY = 100_000

# Browsers read what follows these as raw text, up to an end tag that may be missing. Their content is kept.
_SHELLS = re.compile(r"</?(?:iframe|no(?:script|embed|frames)|plaintext|xmp)\b[^<>]*>", re.IGNORECASE)
# Attributes as a browser's tokeniser reads them, an unclosed quote running to the end, so that none is missed.
_ATTRIBUTE = r"""[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\s"'>][^\s>]*+|(?=>)))?+"""
_TAG = re.compile(rf"<(/?)([a-zA-Z][^\s/>]*+)((?:{_ATTRIBUTE})*+)[\s/]*+(?:>|\Z)")
_LOADED = re.compile(rf"<[a-zA-Z][^\s/>]*+(?:{_ATTRIBUTE}){{{MAX_ATTRIBUTES}}}")
_MARKUP = re.compile(r"<[^<>]*>")
# Void, or closed by the next of their kind: these do not nest.
_FLAT = VOID | {"base", "dd", "dt", "embed", "input", "li", "link", "meta", "option", "p", "param", "td", "th", "tr"}
_START = re.compile(rf"<(?!(?:{'|'.join(sorted(_FLAT))})[\s/>])[a-z]", re.IGNORECASE)
# What a browser reopens in each block after one in which it was left open; at most three of the same.
_FORMATTING = {"a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"}
_MOST_EQUAL_OPEN = 3


def sanitise(html: str, base: str) -> str:
    """Safe HTML for a page at `base`; text without markup comes back as it is."""
    html = html[:MAX_HTML].strip()
    if "<" not in html:
        return html.replace(">", "&gt;") if ">" in html else html
    clean = sanitise_fast(html, base)
    if clean is None:
        shelled = _SHELLS.sub("", html)
        clean = _as_text(shelled) if _is_hostile(shelled) else _cleaner(base).clean(shelled)
    # Links become long by a long base, and formatting tags may be reopened many times.
    return _as_text(html) if len(clean) > max(MAX_GROWTH * len(html), GROWS_FREELY) else clean.strip()


def from_text(text: str) -> str:
    return escape(text.strip(), quote=False)


def _as_text(html: str) -> str:
    return from_text(_MARKUP.sub(" ", html))


def _is_hostile(html: str) -> bool:
    """Whether tags are nested too deep, or one has too many attributes."""
    depth = reopened = 0
    deepest = MAX_DEPTH if html.count("<") > SAFE_COUNT else SAFE_COUNT
    # A quote in a comment or a style hides tags from this scan, and end tags there do not count: hence a limit on all.
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
    """The open formatting tags, and their total length."""

    def __init__(self) -> None:
        self._open: dict[str, list[str]] = {}
        self._length = 0

    def left_open(self, name: str, attributes: str, *, closing: bool) -> int:
        """Add the next tag. Returns the length of what a browser may reopen after it."""
        if name not in _FORMATTING:
            return self._length
        opened = self._open.setdefault(name, [])
        if closing and opened:
            self._length -= len(name) + len(opened.pop())
        elif not closing and opened.count(attributes) < _MOST_EQUAL_OPEN:
            opened.append(attributes)
            self._length += len(name) + len(attributes)
        return self._length if closing else 0


@lru_cache(maxsize=64)
def _cleaner(base: str) -> nh3.Cleaner:
    def rewrite(_tag: str, name: str, value: str) -> str | None:
        # nh3 does not treat cite and srcset as links, and has one list of schemes for all others.
        if name not in LINKS or (value.startswith(WEB) and name != "srcset"):
            return value
        return resolved(name, value, base)

    try:
        return nh3.Cleaner(
            tags=TAGS, clean_content_tags=DROPPED_WHOLE, attributes=ATTRIBUTES, attribute_filter=rewrite,
            url_schemes=SCHEMES, link_rel=LINK_REL, url_relative=("rewrite_with_base", base) if base else "deny",
        )  # fmt: skip
    except ValueError:
        return _cleaner("")
